"""Runs as reports read them, each read once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from attrs import evolve

from groupsim.report.story import RunStory, read_story
from simulation.parquet_sink import ParquetSink
from simulation.run_directory import RunFile
from tests.groupsim.runs import Tale, a_death, directory_of, rows_of

#: What somebody might call a group, a topic or a consumer who means harm.
WICKED = "</script><script>window.harmed = true</script>\"'><b>&amp;"


@cache
def story_of(tale: Tale) -> RunStory:
    """A story from tests/groupsim/runs.py."""
    return read_story(directory_of(tale))


@cache
def a_wicked_directory() -> Path:
    """A death in a group, a topic and a scenario whose names would be part of the page."""
    path = Path(mkdtemp(prefix="groupsim-tests-")) / "wicked"
    rows = rows_of(a_death)
    with ParquetSink(path) as sink:
        for row in rows:
            sink.take(
                evolve(
                    row,
                    group=row.group and WICKED + row.group,
                    topic=row.topic and WICKED + row.topic,
                    client=row.client and WICKED + row.client,
                )
            )
        sink.finish(
            RunFile(
                run=WICKED,
                scenario={"title": WICKED, "question": WICKED, "groups": {WICKED: WICKED}},
                seed=1,
                versions={"groupsim": WICKED},
                outcome={
                    "events": len(rows),
                    "expectations": [{"text": WICKED, "figure": WICKED, "holds": False}],
                    "violations": [WICKED],
                    "liveness": WICKED,
                },
                variant=WICKED,
            )
        )
    return path
