"""From recordings to answers: tables of a group's life, computed on Spark.

session.py starts a local session and ingest.py reads run directories. The analyses, in
timeline.py and ownership.py, are functions from frame to frame: they get a frame of events and
start nothing.

PYTEST_DONT_REWRITE: what is asserted here is for us to read, and pytest may come after an import.
"""
