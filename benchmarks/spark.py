"""How fast Spark tells the tables of a large log, as ratios to DuckDB in one run.

Every table of `Timeline` is computed twice from the same Parquet files: by Spark, as a user would,
and by DuckDB from SQL that asks the same (spark_sql/). On a small log the answers are compared row
by row first, which also warms both up. Then each answer is computed to its last row on the large
log and thrown away, by two threads on either side. Beside it stands a plain scan, by Spark from
Parquet, of the columns of events that the table needs.

Seconds are CPU seconds of the engine's process, for others may use the machine too: on Linux only.
Spark lays the log out once for all tables; that is counted in the sum.

    python -m benchmarks.spark                  a million events, for `make bench`
    python -m benchmarks.spark --large          ten million, the size for which the bar is set
    python -m benchmarks.spark --growth         one, five, ten ... million; with --large up to fifty
    python -m benchmarks.spark TABLE ...        these tables only

_spark_log.py says how the log is made, and where it is kept.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from attrs import frozen
from pyspark.sql import DataFrame, SparkSession

from benchmarks._spark_log import events_of, large_log, small_log
from simulation.events import COLUMNS
from spark_bridge.ingest import Found, find_runs, read_events
from spark_bridge.session import SETTINGS, cluster_session
from spark_bridge.tables import TABLES, Timeline

QUESTIONS = Path(__file__).parent / "spark_sql"
#: What is asked of both. `runs` comes from run.json alone, and nobody has told DuckDB the checks of
#: `violations` yet.
NAMES = tuple(name for name in TABLES if (QUESTIONS / f"{name}.sql").exists())
THREADS, BAR = 2, 2.0
SMALL, LARGE = 20, 200
GROWTH, LARGE_GROWTH = (20, 40, 100), (20, 100, 200, 1_000)


@frozen
class Cost:
    """What something took."""

    cpu_s: float
    wall_s: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cpu_s + other.cpu_s, self.wall_s + other.wall_s)


NOTHING = Cost(0, 0)


class Spark:
    """Spark, asked as a user asks it."""

    def __init__(self) -> None:
        self.spark: SparkSession = cluster_session(f"local[{THREADS}]", "benchmark")
        gateway: Any = self.spark.sparkContext._gateway  # noqa: SLF001 - it knows the JVM
        self._jvm: int = gateway.proc.pid

    def cost(self, work: Callable[[], object]) -> Cost:
        """What a piece of work takes this process and the JVM."""
        return _cost(work, lambda: time.process_time() + _cpu_s_of(self._jvm))

    def lay_out(self, folder: Path) -> tuple[Timeline, Cost]:
        """The log in the layout that the tables share."""
        timeline = Timeline.read(self.spark, folder)
        return timeline, self.cost(lambda: timeline.events().count())

    def scan(self, found: Found, columns: Sequence[str]) -> Cost:
        """What it takes to read these columns and do nothing."""
        return self.cost(lambda: _compute(read_events(self.spark, found).select(*columns)))


class Duck:
    """DuckDB over the files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._duck = duckdb.connect()
        self._duck.execute(f"SET threads = {THREADS}")
        files = folder / "*" / "events" / "*.parquet"
        self._duck.execute(f"CREATE VIEW events AS FROM read_parquet('{files}')")
        self._duck.execute((QUESTIONS / "views.sql").read_text(encoding="utf-8"))

    def cost(self, name: str) -> Cost:
        """What it takes to compute a table to its last row."""
        # Summing up a hash of all columns keeps everything and stores nothing.
        query = f"SELECT bit_xor(hash(t)) FROM ({question(name)}) t"  # noqa: S608 - ours
        return _cost(lambda: self._duck.execute(query).fetchall(), time.process_time)

    def differences(self, name: str, files: Path) -> list[tuple[Any, ...]]:
        """The rows that are only in our answer, and those that are only in these files."""
        columns = ", ".join(self._columns(files))
        ours = f"SELECT {columns} FROM ({question(name)})"  # noqa: S608 - the same
        theirs = f"SELECT {columns} FROM '{files}/*.parquet'"  # noqa: S608 - the same
        return [
            (whose, *row)
            for whose, some, others in (("DuckDB", ours, theirs), ("Spark", theirs, ours))
            for row in self._duck.execute(f"({some}) EXCEPT ALL ({others}) ORDER BY ALL").fetchall()
        ]

    def _columns(self, files: Path) -> list[str]:
        """The columns of these files; of fractions so many digits as two ways to compute agree."""
        told = self._duck.execute(f"DESCRIBE FROM '{files}/*.parquet'").fetchall()
        return [
            f'round("{name}", 6)' if kind == "DOUBLE" else f'"{name}"' for name, kind, *_ in told
        ]


def question(name: str) -> str:
    """What DuckDB is asked for a table."""
    return (QUESTIONS / f"{name}.sql").read_text(encoding="utf-8")


def check(spark: Spark, names: Sequence[str]) -> None:
    """Both give the same rows on a small log, or it is said where they do not."""
    folder = small_log()
    timeline, duck = Timeline.read(spark.spark, folder), Duck(folder)
    print(f"comparing answers on {events_of(folder):,} events", flush=True)
    is_same = True
    with tempfile.TemporaryDirectory() as answers:
        for name in names:
            path = Path(answers) / name
            timeline.table(name).write.parquet(str(path))
            if different := duck.differences(name, path):
                print(
                    f"{name}: {len(different)} rows are told by one alone:", *different, sep="\n  "
                )
                is_same = False
    if not is_same:
        sys.exit("Spark and DuckDB differ")


def compare(spark: Spark, runs: int, names: Sequence[str]) -> tuple[int, float]:
    """Print what each table takes, and return how many events there were and the whole ratio."""
    folder = large_log(runs)
    duck, events = Duck(folder), events_of(folder)
    found, (timeline, layout) = find_runs(folder), spark.lay_out(folder)
    print(f"{events:,} events of {runs} runs, at {folder}; CPU seconds (wall seconds)")
    print(f"{'table':<18} {'Spark':>16} {'DuckDB':>16} {'ratio':>6} {'scan':>6} {'ratio':>6}")
    print(f"{'the layout':<18} {_told(layout)}", flush=True)
    of_spark, of_duck = layout, NOTHING
    for name in names:
        frame = timeline.table(name)
        scan = spark.scan(found, columns_of(frame))
        taken, by_duck = spark.cost(partial(_compute, frame)), duck.cost(name)
        of_spark, of_duck = of_spark + taken, of_duck + by_duck
        print(
            f"{name:<18} {_told(taken)} {_told(by_duck)} {_ratio(taken, by_duck)}"
            f" {scan.cpu_s:6.1f} {_ratio(taken, scan)}",
            flush=True,
        )
    timeline.forget()
    ratio = of_spark.cpu_s / of_duck.cpu_s
    print(
        f"{'all':<18} {_told(of_spark)} {_told(of_duck)} {_ratio(of_spark, of_duck)}"
        f" (wanted: at most {BAR} at ten million events)"
    )
    return events, ratio


def columns_of(frame: DataFrame) -> list[str]:
    """The columns of events that Spark takes from its layout for a table."""
    plan = frame._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001 - only it knows
    words = set(re.findall(r"\b(\w+)#\d+", plan))
    return [column.name for column in COLUMNS if column.name in words]


def _compute(frame: DataFrame) -> None:
    """Every row of it, kept nowhere."""
    frame.write.format("noop").mode("overwrite").save()


def _cost(work: Callable[[], object], cpu_s: Callable[[], float]) -> Cost:
    cpu, wall = cpu_s(), time.perf_counter()
    work()
    return Cost(cpu_s() - cpu, time.perf_counter() - wall)


def _cpu_s_of(process: int) -> float:
    """User and system time of another process, as Linux tells it."""
    told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _told(cost: Cost) -> str:
    return f"{cost.cpu_s:7.1f} ({cost.wall_s:6.1f})"


def _ratio(cost: Cost, other: Cost) -> str:
    return f"{cost.cpu_s / max(other.cpu_s, 0.01):6.1f}"


def main(arguments: Sequence[str]) -> None:
    """Check, then compare."""
    names = [each for each in arguments if not each.startswith("-")] or NAMES
    is_large = "--large" in arguments
    memory = SETTINGS["spark.driver.memory"]
    print(f"Spark and DuckDB with {THREADS} threads each; Spark has {memory} of memory")
    print("not asked of DuckDB:", ", ".join(name for name in TABLES if name not in NAMES))
    spark = Spark()
    check(spark, names)
    if "--growth" not in arguments:
        compare(spark, LARGE if is_large else SMALL, names)
        return
    sizes = LARGE_GROWTH if is_large else GROWTH
    grown = [compare(spark, runs, names) for runs in sizes]
    print(
        "growth:", ", ".join(f"{events / 1e6:.0f} M events {ratio:.1f}" for events, ratio in grown)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
