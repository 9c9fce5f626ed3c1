"""The world around the machines: virtual time, network, faults, and the record of what happened.

Read events.py (the words of a recording), then world.py (what a script holds), stage.py (which part
knows which) and recorder.py. scenarios/ reads scenario files and plays them. Run directories are
written by parquet_sink.py and read by parquet_source.py, the modules here that need pyarrow.

PYTEST_DONT_REWRITE: what is asserted here is for us to read, and pytest may come after an import.
"""
