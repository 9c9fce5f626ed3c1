"""What cattrs raises, as what is wrong and where; and the keys of each part in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from cattrs.errors import (
    AttributeValidationNote,
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)

from simulation.scenarios import parts
from simulation.scenarios.mistakes import AllWrong, Path, Wrong, nearest_to, unknown
from simulation.scenarios.script import Entry
from simulation.scenarios.settings import consumer_setting_names
from simulation.scenarios.verbs import ACTIONS

_KEYS: dict[str, str] = {
    each.name: each.metadata["key"]
    for owner in (Entry, parts.StallAt)
    for each in attrs.fields(owner)
    if each.metadata.get("key")
}


def keys_of(cl: type) -> dict[str, attrs.Attribute[Any]]:
    """The keys of a part in a file, each with its attribute."""
    return {each.metadata.get("key") or each.name: each for each in attrs.fields(cl)}


def all_keys_of(cl: type) -> Iterator[str]:
    """Every key that may stand in a part; in an entry of the script, every action."""
    if cl is Entry:
        yield from (key for key in keys_of(cl) if key != "do")
        yield from ACTIONS
    else:
        yield from keys_of(cl)


def wrongs_of(error: BaseException, path: Path) -> Iterator[tuple[Path, Wrong]]:
    """Everything that is wrong below a place."""
    if isinstance(error, ClassValidationError | IterableValidationError):
        noted, others = error.group_exceptions()
        for inner, note in noted:
            yield from wrongs_of(inner, (*path, _step_of(note)))
        for inner in others:
            yield from wrongs_of(inner, path)
    elif isinstance(error, AllWrong):
        for wrong in error.wrongs:
            yield path, wrong
    elif isinstance(error, ForbiddenExtraKeysError):
        known = list(all_keys_of(error.cl))
        for key in sorted(error.extra_fields):
            wrong = unknown("key", key, known, at=(key,))
            # What a group has, and a setting, mean that of every group by their names alone.
            of_groups = (*keys_of(parts.Group), *consumer_setting_names())
            nearest = wrong.nearest or ("" if path else nearest_to(key, of_groups))
            yield path, Wrong(wrong.found, wrong.allowed, nearest=nearest, at=wrong.at)
    elif isinstance(error, Wrong):
        yield path, error
    elif isinstance(error, KeyError):
        yield path, Wrong("found nothing", "must be given")
    else:
        yield path, Wrong(f"found what cannot be: {error}", "must be as documented")


def _step_of(note: AttributeValidationNote | IterableValidationNote) -> str | int:
    if isinstance(note, AttributeValidationNote):
        return _KEYS.get(note.name, str(note.name))
    return note.index if isinstance(note.index, int) else str(note.index)


def moved(path: Path, wrong: Wrong) -> Wrong:
    """The same, that much further down."""
    return Wrong(wrong.found, wrong.allowed, nearest=wrong.nearest, at=(*path, *wrong.at))
