"""The world around the machines: virtual time, network, faults, and the record of what happened.

Read events.py (the words of a recording), then world.py (what a script holds), hosts.py (how a
coordinator's outcomes are carried out, and where causes come from) and recorder.py. Run
directories are written by parquet_sink.py, the one module here that needs pyarrow.
"""
