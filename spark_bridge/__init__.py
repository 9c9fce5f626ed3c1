"""From recordings to answers: tables of a group's life, computed on Spark.

`Timeline` (tables.py) has them all. session.py starts a session and ingest.py reads run
directories. The analyses, one file for each subject, are functions from frame to frame: they get a
frame of events and start nothing.

PYTEST_DONT_REWRITE: what is asserted here is for us to read, and pytest may come after an import.
"""

from spark_bridge.tables import Timeline

__all__ = ["Timeline"]
