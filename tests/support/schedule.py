"""Which tests stay together where tests run side by side: those that share something dear."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

ROOT = Path(__file__).parent.parent.parent


class SparkTogether(LoadScopeScheduling):  # type: ignore[misc]
    """Files with tests on Spark share a session, those in tests/cluster a cluster.

    Tests of the scenarios that come with groupsim share their runs, which take a minute or two.
    xdist has groups of its own, which are lost on pytest 9.2: it no longer looks at `_nodeid`.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0]) or nodeid


@cache
def group_of(file: str) -> str:
    """The group that a file's tests are in; they are in none if nothing is said."""
    if file.startswith("tests/cluster/"):
        return "cluster"
    if file == "tests/scenarios/test_shipped.py":
        return "shipped"
    return "spark" if "mark.spark" in (ROOT / file).read_text(encoding="utf-8") else ""
