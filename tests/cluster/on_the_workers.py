"""Tells from inside tasks where they run, and plays a scenario in one; a program for the tests.

`python -m tests.cluster.on_the_workers --master URL` or `--remote URL` prints what was seen, as
JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pyarrow as pa

from groupsim.commands.shipped import shipped
from simulation.scenarios import Scenario
from spark_bridge.luggage import travel
from spark_bridge.session import cluster_session, remote_session

SCENARIO, VARIANT = "leader_dies", "leader_dies"
_COLUMNS = "seen string"


def main() -> None:
    """Look around before anything has travelled, and play afterwards."""
    kind, url = sys.argv[1:]
    spark = cluster_session(url) if kind == "--master" else remote_session(url)
    scenario = json.dumps(Scenario.from_file(shipped()[SCENARIO]).to_dict())
    tasks = spark.createDataFrame([(scenario,)] * 2, "scenario string").repartition(2)

    before = tasks.mapInArrow(looked_around, _COLUMNS).collect()
    travel(spark)
    travel(spark)
    after = tasks.mapInArrow(played, _COLUMNS).collect()

    print(  # noqa: T201
        json.dumps(
            {
                "before": [json.loads(row.seen) for row in before],
                "after": [json.loads(row.seen) for row in after],
            }
        )
    )
    spark.stop()


def looked_around(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Which Python runs this task, and what of ours it can find."""
    from importlib.util import find_spec  # noqa: PLC0415 - this travels without its module

    for batch in batches:
        for _ in range(batch.num_rows):
            names = ("attrs", "groupsim", "numpy", "pandas", "simulation", "yaml")
            seen = {"prefix": sys.prefix, "has": [name for name in names if find_spec(name)]}
            yield pa.RecordBatch.from_pydict({"seen": [json.dumps(seen)]})


def played(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every event of the scenario that a row holds."""
    from simulation.scenarios import Scenario  # noqa: PLC0415 - as above

    for batch in batches:
        for text in batch.column("scenario").to_pylist():
            rows = rows_of(Scenario.from_dict(json.loads(text)))
            seen = {"prefix": sys.prefix, "rows": rows}
            yield pa.RecordBatch.from_pydict({"seen": [json.dumps(seen)]})


def rows_of(scenario: Scenario) -> list[str]:
    """A run, as text."""
    from simulation.recorder import MemorySink  # noqa: PLC0415 - as above
    from simulation.scenarios import play  # noqa: PLC0415 - as above

    sink = MemorySink()
    play(scenario, variant=VARIANT, sink=sink)
    return [str(row) for row in sink.rows]


if __name__ == "__main__":
    main()
