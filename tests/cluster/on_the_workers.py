"""A program for the tests: it tells from inside tasks where they run, and plays a scenario there.

Started by spark-submit it works at that master; with a Connect server's URL, through that server.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import functions

from groupsim.commands.shipped import shipped
from simulation.recorder import MemorySink
from simulation.scenarios import Scenario, play
from spark_bridge.luggage import travel
from spark_bridge.session import local_session, remote_session

TASKS = 2
_COLUMNS = "seen string"


def main() -> None:
    """Look around before anything has travelled, play afterwards, and print what was seen."""
    spark = remote_session(sys.argv[1]) if sys.argv[1:] else local_session()
    scenario = Scenario.from_file(shipped()["leader_dies"]).to_dict()
    one_each = spark.range(0, TASKS, 1, numPartitions=TASKS)
    tasks = one_each.select(functions.lit(json.dumps(scenario)).alias("scenario"))

    before = tasks.mapInArrow(look_around, _COLUMNS).collect()
    travel(spark)
    travel(spark)
    after = tasks.mapInArrow(play_there, _COLUMNS).collect()

    seen = {
        "before": [json.loads(row.seen) for row in before],
        "there": [json.loads(row.seen) for row in after],
        "here": events_of(scenario),
    }
    print(json.dumps(seen))  # noqa: T201 - that is what it is for
    spark.stop()


def look_around(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Which Python runs this task, and which packages besides pyspark and pyarrow it finds."""
    from importlib.util import find_spec  # noqa: PLC0415 - it goes where our modules are not

    for _ in batches:
        names = ("attrs", "groupsim", "numpy", "pandas", "simulation", "yaml")
        seen = {"prefix": sys.prefix, "found": [name for name in names if find_spec(name)]}
        yield pa.RecordBatch.from_pydict({"seen": [json.dumps(seen)]})


def play_there(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of each scenario, played in this task."""
    for batch in batches:
        for scenario in batch.column("scenario").to_pylist():
            events = json.dumps(events_of(json.loads(str(scenario))))
            yield pa.RecordBatch.from_pydict({"seen": [events]})


def events_of(scenario: dict[str, object]) -> list[str]:
    """Every event of a run, as text."""
    sink = MemorySink()
    play(Scenario.from_dict(scenario), sink=sink)
    return [str(row) for row in sink.rows]


if __name__ == "__main__":
    main()
