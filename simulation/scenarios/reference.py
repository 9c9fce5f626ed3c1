"""Renews the tables of docs/scenarios.md from the parts of a scenario.

python -m simulation.scenarios.reference docs/scenarios.md
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, get_type_hints

import attrs

from simulation.scenarios import parts
from simulation.scenarios.conversions import CONVERTER
from simulation.scenarios.documents import write
from simulation.scenarios.scenario import Scenario
from simulation.scenarios.script import Entry, On
from simulation.scenarios.verbs import ACTIONS, TAKEN_BACK
from simulation.scenarios.wrongs import keys_of

#: Where the hand-written part of the page ends.
_TABLES_BEGIN = "## Every key"

_PARTS: tuple[tuple[str, type], ...] = (
    ("The file", Scenario),
    ("`cluster`", parts.Cluster),
    ("A topic: `cluster.topics.NAME`", parts.Topic),
    ("`varying` of a topic: a list of", parts.RateFrom),
    ("`burst` of a topic", parts.Burst),
    ("A group: `groups.NAME`", parts.Group),
    ("Members with details: `groups.NAME.members.NAME`", parts.Members),
    ("`app` of a group or of a member", parts.App),
    ("`slow_records` of an application: a list of", parts.SlowRecord),
    ("`stalls` of an application: a list of", parts.StallAt),
    ("An entry of the `script`, besides its action", Entry),
    ("`on` of an entry", On),
)


def renewed(page: str) -> str:
    """The page with its tables as they should be."""
    return page[: page.index(_TABLES_BEGIN)] + _tables()


def _tables() -> str:
    sections = [f"### {title}\n{_table(cl)}" for title, cl in _PARTS]
    sections += ["## Every action\n", *(_action(verb) for verb in ACTIONS)]
    return f"{_TABLES_BEGIN}\n" + "\n".join(sections)


def _action(verb: str) -> str:
    cl = ACTIONS[verb]
    words = " ".join((cl.__doc__ or "").split())
    short = getattr(cl, "short", "")
    notes = [f"Short: `{verb}: ...` is its `{short}`."] if short else []
    notes += ["`for` takes it back."] if verb in TAKEN_BACK else []
    return f"### `{verb}`\n{' '.join([words, *notes])}\n\n{_table(cl)}"


def _table(cl: type) -> str:
    hints = get_type_hints(cl)
    rows = [
        (f"`{key}`", _default(each, hints[each.name]), each.metadata["meaning"])
        for key, each in keys_of(cl).items()
        if key != "do"
    ]
    return _lines((("key", "without it", "meaning"), ("---",) * 3, *rows))


def _default(each: attrs.Attribute[Any], hint: Any) -> str:  # noqa: ANN401 (any type)
    """What stands for a key that is left out, as a file would say it."""
    if each.default is attrs.NOTHING:
        return "must be given"
    if each.default in (None, "", ()) or not isinstance(each.default, Hashable):
        return ""
    if type(each.default).__name__ == "Factory":
        return ""
    written = CONVERTER.unstructure(each.default, unstructure_as=hint)
    text = ", ".join(written) if isinstance(written, list) else write(written).splitlines()[0]
    return f"`{text}`"


def _lines(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
