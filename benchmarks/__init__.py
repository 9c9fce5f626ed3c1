"""How fast the machines are, each measured against a plain yardstick; run by `make bench`."""
