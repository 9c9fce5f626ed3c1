"""The world around the machines: virtual time, network, faults, and the record of what happened."""
