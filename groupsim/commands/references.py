"""What people point at in a run: `rebalance:3`, and times."""

from __future__ import annotations

import re

from simulation.errors import SimulationError
from simulation.measures import Rebalance
from simulation.sentences import in_time

_REFERENCE = re.compile(r"rebalance:(?P<number>\d+|last)")
_SHOWN_MAX = 10


class WrongReference(SimulationError):
    """Nothing in the run is called so; the message says what there is."""


def rebalance_of(
    reference: str, rebalances: tuple[Rebalance, ...], group: str | None
) -> tuple[int, Rebalance]:
    """The rebalance that a reference means, and its number; of this group, if one is given."""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise WrongReference(
            f"{reference!r} names nothing in a run: write rebalance:3 or rebalance:last"
        )
    of_group = [each for each in rebalances if group in (None, each.group)]
    whose = "" if group is None else f" of {group}"
    if not of_group:
        raise WrongReference(f"there is no rebalance{whose} in this run")
    number = len(of_group) if found["number"] == "last" else int(found["number"])
    if not 1 <= number <= len(of_group):
        raise WrongReference(
            f"there is no rebalance:{number}{whose}, only 1 to {len(of_group)}: {_shown(of_group)}"
        )
    return number, of_group[number - 1]


def _shown(rebalances: list[Rebalance]) -> str:
    shown = [
        f"rebalance:{number} at {in_time(each.started_ms)} ({each.cause})"
        for number, each in enumerate(rebalances[:_SHOWN_MAX], 1)
    ]
    return ", ".join([*shown, *(["..."] if len(rebalances) > _SHOWN_MAX else [])])


def group_of(group: str | None, groups: tuple[str, ...]) -> str | None:
    """The group that was asked for, if there is one of that name."""
    if group is not None and group not in groups:
        there = ", ".join(groups) or "none"
        raise WrongReference(f"there is no group {group!r} in this run; there: {there}")
    return group
