"""`analyze`: the tables of finished runs, computed on Spark, in the terminal or as files."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen
from rich.table import Table

from groupsim.commands.on_spark import doing, needing_spark, refuse_two_places, session_at
from groupsim.commands.voice import Voice, print_json
from simulation.errors import SimulationError
from simulation.sentences import listed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_bridge.tables import Timeline

#: What is shown if nothing is asked for by name.
USUAL = ("rebalances", "unowned", "deaths", "duplicates", "losses", "greatest_lag")
#: What a table of rebalances has too many columns for.
_NOT_SHOWN = {
    "rebalances": (
        "seq",
        "phases",
        "trigger",
        "client_reason",
        "deadline_ms",
        "ended_ms",
        "awaited",
    ),
    "runs": ("settings",),
}
FORMATS = ("parquet", "csv")
_LIMIT = 20
#: Longer texts than this go on in the next line, so they need no more room; borders need so much.
_TEXT_WIDTH, _BORDER = 24, 3


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
    #: So many rows of each table; without it a person sees some, a script gets all.
    limit: int | None = None
    is_json: bool = False


def analyze(question: Question) -> None:
    """Answer on stdout, or in files."""
    _refuse_contradictions(question)
    voice = Voice()
    with needing_spark("analyze"):
        _answer(question, voice)


def _refuse_contradictions(question: Question) -> None:
    if question.sql is not None and question.tables:
        raise SimulationError(
            "--sql and --table cannot both be asked for: name the table in the SQL"
        )
    refuse_two_places(question.master, question.remote)
    if question.is_json and question.out is not None:
        raise SimulationError("--json prints the tables and --out keeps them: choose one")
    if question.format not in FORMATS:
        raise SimulationError(
            f"--format must be one of {', '.join(FORMATS)}, not {question.format}"
        )


def _answer(question: Question, voice: Voice) -> None:
    from spark_bridge.ingest import find_runs  # noqa: PLC0415 - who asks nothing needs no Spark
    from spark_bridge.tables import TABLES, Timeline  # noqa: PLC0415 - as above

    for name in question.tables:
        if name not in TABLES:
            raise SimulationError(f"there is no table {name!r}, only {', '.join(TABLES)}")
    for each in find_runs(question.path).left_out:  # before Spark is started for nothing
        voice.say(str(each))
    names = question.tables or (USUAL if question.out is None else tuple(TABLES))
    if question.out is not None:
        _refuse_old_files(question.out, ("answer",) if question.sql else names)
    spark = session_at(voice, question.master, question.remote)
    timeline = Timeline.read(spark, question.path)
    if question.sql is not None:
        # Only those that are asked about: each takes Spark a moment to think through.
        timeline.create_views(*(name for name in TABLES if re.search(rf"\b{name}\b", question.sql)))
        frames = {"answer": spark.sql(question.sql)}
    else:
        frames = {name: _in_order(timeline, name) for name in names}
    if question.is_json:
        print_json({name: _plain(question, voice, name, frames[name]) for name in frames})
        return
    for name, frame in frames.items():
        _give(question, voice, name, frame)


def _in_order(timeline: Timeline, name: str) -> DataFrame:
    """A table in the order of its first columns, which are the run's, the group's and so on."""
    frame = timeline.table(name)
    return frame.orderBy(*[column for column in frame.columns[:5] if column != "settings"])


def _plain(question: Question, voice: Voice, name: str, frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a table with all their columns, as JSON has them."""
    from pyspark.sql import functions  # noqa: PLC0415 - as above

    whole = frame if question.limit is None else frame.limit(question.limit)
    row = functions.to_json(functions.struct("*"), {"ignoreNullFields": "false"})
    with doing(voice, f"computing {name}"):
        return [json.loads(text) for (text,) in whole.select(row).collect()]


def _give(question: Question, voice: Voice, name: str, frame: DataFrame) -> None:
    if question.out is not None:
        with doing(voice, f"computing {name}"):
            _write(frame, question.out / name, question.format)
        voice.say(f"{name} is in {question.out / name}")
        return
    limit = question.limit or _LIMIT
    shown = frame.drop(*_NOT_SHOWN.get(name, ())) if question.sql is None else frame
    with doing(voice, f"computing {name}"):
        rows = shown.limit(limit + 1).collect()
    texts = [["" if value is None else str(value) for value in row] for row in rows[:limit]]
    columns = shown.columns
    # Who wrote the SQL asked for all of its columns.
    count = len(columns) if question.sql else columns_that_fit(columns, texts, voice.page.width)
    table = Table(title=name, title_justify="left", title_style="bold")
    for column in columns[:count]:
        table.add_column(column)
    for text in texts:
        table.add_row(*text[:count])
    voice.show(table)
    if columns[count:]:
        voice.say(
            f"{name} also has {listed(columns[count:])}: --json prints them, --out keeps them"
        )
    if len(rows) > limit:
        voice.say(f"{name} has more rows than {limit}: --limit shows more, --out keeps all")


def columns_that_fit(columns: Sequence[str], texts: Sequence[Sequence[str]], width: int) -> int:
    """How many columns, from the first on, can be read beside one another on so wide a page."""
    room = width - 1
    for n, name in enumerate(columns):
        longest = max((len(text[n]) for text in texts), default=0)
        room -= max(len(name), min(longest, _TEXT_WIDTH)) + _BORDER
        if room < 0:
            return max(1, n)
    return len(columns)


def _refuse_old_files(out: Path, names: Sequence[str]) -> None:
    for name in names:
        if (out / name).exists():
            raise SimulationError(f"{out / name} exists already, and is never written over")


def _write(frame: DataFrame, path: Path, kind: str) -> None:
    from spark_bridge.urls import url_of  # noqa: PLC0415 - as above

    target = url_of(path)
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
