"""Renews the tables of docs/events.md: `python -m simulation.events_page docs/events.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from coordinator import EventKind
from simulation.events import COLUMNS, KINDS, SCHEMA_VERSION, WorldEventKind

#: Where the hand-written part of the page ends.
_TABLES_BEGIN = "## Columns"


def renewed(page: str) -> str:
    """The page with its tables as they should be."""
    return page[: page.index(_TABLES_BEGIN)] + _tables()


def _tables() -> str:
    columns = (
        (f"`{each.name}`", each.type.value, "may be" if each.is_optional else "", each.meaning)
        for each in COLUMNS
    )
    return "\n".join(
        (
            f"{_TABLES_BEGIN} (schema version {SCHEMA_VERSION})",
            _table(("column", "type", "null", "meaning"), columns),
            "## Kinds of events around the coordinator",
            _table(("kind", "meaning"), _kinds_of(WorldEventKind)),
            "## Kinds of events inside the coordinator",
            _table(("kind", "meaning"), _kinds_of(EventKind)),
        )
    )


def _kinds_of(told_by: type[WorldEventKind | EventKind]) -> Iterable[tuple[str, str]]:
    return ((f"`{kind.value}`", KINDS[kind]) for kind in KINDS if isinstance(kind, told_by))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
