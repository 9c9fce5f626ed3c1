"""Which consumers an action means: by name, by place in the group, by chance."""

from __future__ import annotations

import re

from attrs import frozen

from simulation.planned_faults import led_group

_SOME = re.compile(r"(\d{1,6}|all|any) of (\S+)")
_OWNER = re.compile(r"owner of (\S+)-(\d{1,9})(?: in (\S+))?")

#: The words in front of a group.
FORMS = (
    "a name, `leader of G`, `2 of G`, `any of G`, `all of G`, `owner of T-P`, `owner of T-P in G`"
)


@frozen
class Named:
    """One consumer by its name."""

    name: str


@frozen
class Leader:
    """Who leads a group at the time."""

    group: str


@frozen
class Some:
    """So many running consumers of a group, drawn by chance; without a number, all of them."""

    group: str
    count: int | None


@frozen
class Owner:
    """Who owns a partition at the time."""

    topic: str
    partition: int
    group: str | None


Chosen = Named | Leader | Some | Owner


def parse_whom(text: str) -> Chosen:
    """One text of a `Whom`."""
    if (group := led_group(text)) is not None:
        return Leader(group)
    if (found := _OWNER.fullmatch(text)) is not None:
        return Owner(found[1], int(found[2]), found[3])
    if (found := _SOME.fullmatch(text)) is not None:
        counts = {"all": None, "any": 1}
        return Some(found[2], counts[found[1]] if found[1] in counts else int(found[1]))
    return Named(text)
