"""When a script does something: at a time, every so often, or when an event has happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, fields, frozen

from simulation.events import EventKind, Row, WorldEventKind
from simulation.planned_faults import LeaderOf, led_group
from simulation.scenarios.actions import Action
from simulation.scenarios.mistakes import Wrong, shown, unknown
from simulation.scenarios.parts import says
from simulation.scenarios.values import (
    Count,
    Every,
    Kind,
    Ms,
    Whole,
    duration,
    every,
    maybe_duration,
    maybe_whole,
    positive,
)
from simulation.scenarios.verbs import ACTIONS, TAKEN_BACK
from simulation.scenarios.whom import Leader, Named, parse_whom

KINDS: tuple[str, ...] = tuple(kind.value for kind in (*WorldEventKind, *EventKind))
_VERBS: Mapping[type[Action], str] = {action: verb for verb, action in ACTIONS.items()}


def kind_of_event(value: str) -> Kind:
    """A kind of event."""
    if value not in KINDS:
        raise unknown("kind of event", str(value), KINDS)
    return Kind(value)


def _one_client(value: str | None) -> str | None:
    """A client's name, or who leads a group."""
    given: object = value
    if given is None:
        return None
    if not isinstance(given, str) or not isinstance(parse_whom(given), Named | Leader):
        allowed = "must be a consumer's name, or `leader of GROUP`"
        raise Wrong(f"found {shown(given)}", allowed, at=("client",))
    return given


@frozen(kw_only=True)
class On:
    """An event to wait for: its kind, and what its columns must say (docs/events.md)."""

    short: ClassVar[str] = "kind"
    kind: Kind = field(
        converter=kind_of_event, metadata=says("the kind of event, such as leader_elected")
    )
    group: str | None = field(default=None, metadata=says("only of this group"))
    client: str | None = field(
        default=None,
        converter=_one_client,
        metadata=says("only of this consumer: a name, or `leader of G` at that moment"),
    )
    broker: Whole | None = field(
        default=None, converter=maybe_whole, metadata=says("only of this broker")
    )
    generation: Whole | None = field(
        default=None, converter=maybe_whole, metadata=says("only in this generation")
    )
    state: str | None = field(default=None, metadata=says("only in this state of the group"))
    protocol: str | None = field(default=None, metadata=says("only with this assignor"))
    topic: str | None = field(default=None, metadata=says("only of this topic"))
    partition: Whole | None = field(
        default=None, converter=maybe_whole, metadata=says("only of this partition")
    )
    request: str | None = field(
        default=None, metadata=says("only of this kind of request, such as JoinGroup")
    )
    error: str | None = field(default=None, metadata=says("only with this error"))
    nth: Count = field(default=Count(1), converter=positive, metadata=says("from the n-th time on"))
    times: Count = field(
        default=Count(1), converter=positive, metadata=says("so many times, one after the other")
    )
    after: Ms = field(
        default=Ms(0), converter=duration, metadata=says("act so long after the event")
    )

    def matches(self, row: Row, leader_of: LeaderOf) -> bool:
        """Whether this is such an event, whichever time it is."""
        if row.kind != self.kind:
            return False
        group = None if self.client is None else led_group(self.client)
        for column in COLUMNS:
            wanted = getattr(self, column)
            if column == "client" and group is not None:
                wanted = leader_of(group) or ""
            if wanted is not None and getattr(row, column) != wanted:
                return False
        return True


#: The columns that an event to wait for may name.
COLUMNS: tuple[str, ...] = tuple(
    each.name for each in fields(On) if each.name not in ("kind", "nth", "times", "after")
)


@frozen(kw_only=True)
class Entry:
    """One line of the script: when, what, and for how long."""

    at: Ms | None = field(
        default=None, converter=maybe_duration, metadata=says("at this time of the run")
    )
    every: Every | None = field(
        default=None,
        converter=every,
        metadata=says("again and again: `30s`, or `about 30s` by chance"),
    )
    begins: Ms = field(
        default=Ms(0), converter=duration, metadata=says("with every: from when on", key="from")
    )
    until: Ms | None = field(
        default=None, converter=maybe_duration, metadata=says("with every: until when")
    )
    on: On | None = field(default=None, metadata=says("when this has happened"))
    lasts: Ms | None = field(
        default=None,
        converter=maybe_duration,
        metadata=says("so long after it, take it back", key="for"),
    )
    do: Action = field(metadata=says("one of the actions below, by its own key"))

    def __attrs_post_init__(self) -> None:
        """Refuse what has no time, or several; and what cannot be taken back."""
        whens = [self.at is not None, self.every is not None, self.on is not None]
        if sum(whens) != 1:
            found = "found none of at, every, on" if not any(whens) else "found several of them"
            raise Wrong(found, "must say when by exactly one of at, every and on")
        if self.every is None and (self.begins or self.until is not None):
            raise Wrong("found from or until", "must stand with every")
        if self.lasts is not None and self.verb not in TAKEN_BACK:
            can = ", ".join(sorted(TAKEN_BACK))
            raise Wrong(f"found for, with {self.verb}", f"must stand with one of {can}")

    @property
    def verb(self) -> str:
        """The action's key in a file."""
        return _VERBS[type(self.do)]


def at(time: int | str, do: Action, *, lasts: int | str | None = None) -> Entry:
    """Do this at that time, and take it back so long after."""
    return Entry(at=time, do=do, lasts=lasts)


def on(event: On | str, do: Action, *, lasts: int | str | None = None) -> Entry:
    """Do this when that has happened."""
    wanted = On(kind=event) if isinstance(event, str) else event
    return Entry(on=wanted, do=do, lasts=lasts)
