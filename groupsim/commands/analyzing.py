"""`analyze`: the tables of finished runs, computed on Spark, in the terminal or as files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen
from rich.table import Table

from groupsim.commands.voice import Voice
from simulation.errors import SimulationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_bridge.tables import Timeline

#: What is shown if nothing is asked for by name.
USUAL = ("rebalances", "unowned", "deaths", "duplicates", "losses", "greatest_lag")
#: What a table of rebalances has too many columns for.
_NOT_SHOWN = {
    "rebalances": ("phases", "trigger", "client_reason", "deadline_ms"),
    "runs": ("settings",),
}
FORMATS = ("parquet", "csv")


@frozen(kw_only=True)
class Question:
    """What was asked of `analyze`."""

    path: str
    tables: Sequence[str] = ()
    sql: str | None = None
    master: str | None = None
    remote: str | None = None
    out: Path | None = None
    format: str = "parquet"
    limit: int = 20


def analyze(question: Question) -> None:
    """Answer on stdout, or in files."""
    _refuse_contradictions(question)
    voice = Voice()
    try:
        from pyspark.errors import PySparkException  # noqa: PLC0415 - who asks nothing needs no Spark

        from spark_bridge.errors import SparkBridgeError  # noqa: PLC0415 - the same
    except ImportError as error:
        raise SimulationError(
            f"analyze needs Spark ({error}): pip install 'groupsim[spark]'"
        ) from error
    try:
        _answer(question, voice)
    except SparkBridgeError as error:
        raise SimulationError(str(error)) from error
    except PySparkException as error:
        # Spark tells the mistake first, then its plans and stacks.
        raise SimulationError(f"Spark says: {str(error).strip().splitlines()[0]}") from error


def _refuse_contradictions(question: Question) -> None:
    if question.sql is not None and question.tables:
        raise SimulationError(
            "--sql and --table cannot both be asked for: name the table in the SQL"
        )
    if question.master is not None and question.remote is not None:
        raise SimulationError("--master and --remote are two places: choose one")
    if question.format not in FORMATS:
        raise SimulationError(
            f"--format must be one of {', '.join(FORMATS)}, not {question.format}"
        )


def _answer(question: Question, voice: Voice) -> None:
    from spark_bridge.ingest import find_runs  # noqa: PLC0415 - as above
    from spark_bridge.tables import TABLES, Timeline  # noqa: PLC0415 - as above

    for name in question.tables:
        if name not in TABLES:
            raise SimulationError(f"there is no table {name!r}, only {', '.join(TABLES)}")
    for each in find_runs(question.path).left_out:  # before Spark is started for nothing
        voice.say(str(each))
    names = question.tables or (USUAL if question.out is None else tuple(TABLES))
    if question.out is not None:
        _refuse_old_files(question.out, ("answer",) if question.sql else names)
    with _while(voice, "starting Spark"):
        spark = _session(question)
    timeline = Timeline.read(spark, question.path)
    if question.sql is not None:
        # Only those that are asked about: each takes Spark a moment to think through.
        timeline.create_views(*(name for name in TABLES if re.search(rf"\b{name}\b", question.sql)))
        _give(question, voice, "answer", spark.sql(question.sql))
        return
    for name in names:
        _give(question, voice, name, _in_order(timeline, name))


def _session(question: Question) -> SparkSession:
    from spark_bridge import session  # noqa: PLC0415 - as above

    if question.remote is not None:
        return session.remote_session(question.remote)
    if question.master is not None:
        return session.cluster_session(question.master)
    return session.local_session()


def _in_order(timeline: Timeline, name: str) -> DataFrame:
    """A table in the order of its first columns, which are the run's, the group's and so on."""
    frame = timeline.table(name)
    return frame.orderBy(*[column for column in frame.columns[:5] if column != "settings"])


def _give(question: Question, voice: Voice, name: str, frame: DataFrame) -> None:
    if question.out is not None:
        with _while(voice, f"computing {name}"):
            _write(frame, question.out / name, question.format)
        voice.say(f"{name} is in {question.out / name}")
        return
    shown = frame.drop(*_NOT_SHOWN.get(name, ())) if question.sql is None else frame
    with _while(voice, f"computing {name}"):
        rows = shown.limit(question.limit + 1).collect()
    table = Table(title=name, title_justify="left", title_style="bold")
    for column in shown.columns:
        table.add_column(column)
    for row in rows[: question.limit]:
        table.add_row(*("" if value is None else str(value) for value in row))
    voice.show(table)
    if len(rows) > question.limit:
        voice.say(
            f"{name} has more rows than {question.limit}: --limit shows more, --out keeps all"
        )


def _refuse_old_files(out: Path, names: Sequence[str]) -> None:
    for name in names:
        if (out / name).exists():
            raise SimulationError(f"{out / name} exists already, and is never written over")


def _write(frame: DataFrame, path: Path, kind: str) -> None:
    # On a cluster, a path alone might lead to a file system that we do not see.
    target = f"file://{path.resolve()}"
    if kind == "parquet":
        frame.write.parquet(target)
        return
    from pyspark.sql import functions  # noqa: PLC0415 - as above

    # A file of comma-separated values has no lists: they are kept as JSON.
    flat = [
        functions.to_json(name).alias(name) if kind.startswith(("array", "map")) else name
        for name, kind in frame.dtypes
    ]
    frame.select(*flat).coalesce(1).write.option("header", value=True).csv(target)


@contextmanager
def _while(voice: Voice, what: str) -> Iterator[None]:
    """Say what is going on: a line that goes away on a terminal, and one that stays elsewhere."""
    if voice.talk.is_terminal:
        with voice.talk.status(f"{what} ..."):
            yield
        return
    voice.say(f"{what} ...")
    yield
