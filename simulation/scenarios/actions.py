"""What a script can do, one frozen value for each verb.

Here is what consumers do; what is done to the world around them is in disturbances.py, the table
of all verbs in verbs.py, when they happen in script.py, and what carries them out in
stagehands.py. An action with a `short` key can be written without it: `crash: ada` is
`crash: {members: ada}`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import ClassVar, TypeVar

from attrs import field, frozen

from client.membership import CloseOperation
from simulation.scenarios.mistakes import Wrong, unknown
from simulation.scenarios.parts import App, close_operation, names, says
from simulation.scenarios.settings import ConsumerSettings, consumer_settings, no_settings
from simulation.scenarios.values import (
    Close,
    Count,
    Ms,
    Name,
    SomeMs,
    Whole,
    Whom,
    duration,
    maybe_duration,
    name,
    positive,
    some_time,
    whole,
    whom,
)

Word = TypeVar("Word", bound=Enum)

WHO = says("which consumers: a name, a list, `leader of G`, `2 of G`, `all of G`, `owner of T-P`")
GROUP = says("the group")
_HOW = says("`graceful` or `crash`")
_CLOSE = says("what closing does to the membership (KIP-1092)")


class How(Enum):
    """How a consumer ends."""

    GRACEFUL = "graceful"
    CRASH = "crash"


class Wait(Enum):
    """What a rolling restart waits for before it goes on."""

    NOTHING = "nothing"
    STABLE = "stable"


class Send(Enum):
    """The requests of a raw member."""

    JOIN = "join"
    SYNC = "sync"
    HEARTBEAT = "heartbeat"
    LEAVE = "leave"


def one_of(words: type[Word], value: object) -> Word:
    """The word that a file means."""
    if isinstance(value, words):
        return value
    known = [each.value for each in words]
    if value not in known:
        raise unknown("word", str(value), known)
    return words(value)


def _how(value: str | How) -> How:
    return one_of(How, value)


def _wait(value: str | Wait) -> Wait:
    return one_of(Wait, value)


def _send(value: str | Send) -> Send:
    return one_of(Send, value)


@frozen
class Action:
    """Something that a script does."""

    #: The key that may be left out.
    short: ClassVar[str] = ""


@frozen
class OfMembers(Action):
    """Something that is done to consumers."""

    short: ClassVar[str] = "members"
    members: Whom = field(converter=whom, metadata=WHO)


@frozen
class OfGroup(Action):
    """Something that is done to a group."""

    short: ClassVar[str] = "group"
    group: Name = field(converter=name, metadata=GROUP)


# --- consumers come and go ---


@frozen
class Start(OfMembers):
    """Start consumers that do not run; one that is closing still is started when it is done."""


@frozen
class Stop(OfMembers):
    """Close consumers as an orderly application does."""

    close: Close = field(
        default=Close(CloseOperation.DEFAULT),
        converter=close_operation,
        metadata=_CLOSE,
        kw_only=True,
    )


@frozen
class Crash(OfMembers):
    """Let consumers die without a word."""


@frozen
class Restart(OfMembers):
    """Stop consumers, unless they are down, and start them again under their names."""

    stop: How = field(default=How.GRACEFUL, converter=_how, metadata=_HOW, kw_only=True)
    down: Ms = field(
        default=Ms(0), converter=duration, metadata=says("how long they are down"), kw_only=True
    )


@frozen
class Pause(OfMembers):
    """Let the whole process of consumers stand still."""


@frozen
class Resume(OfMembers):
    """Let paused consumers go on."""


@frozen
class RollingRestart(OfGroup):
    """Replace the running members of a group, one after the other.

    Without surge each member is stopped and comes back under its name. With surge, so many new
    members are started first and old ones are stopped for good, as a Deployment does it.
    """

    stop: How = field(default=How.GRACEFUL, converter=_how, metadata=_HOW, kw_only=True)
    close: Close = field(
        default=Close(CloseOperation.DEFAULT),
        converter=close_operation,
        metadata=_CLOSE,
        kw_only=True,
    )
    unavailable: Count = field(
        default=Count(1),
        converter=positive,
        metadata=says("how many are replaced at a time, without surge"),
        kw_only=True,
    )
    surge: Whole = field(
        default=Whole(0),
        converter=whole,
        metadata=says("how many new ones are started before old ones go"),
        kw_only=True,
    )
    down: Ms = field(
        default=Ms(0),
        converter=duration,
        metadata=says("from a member's end to its new start; with surge, from start to readiness"),
        kw_only=True,
    )
    wait: Wait = field(
        default=Wait.NOTHING,
        converter=_wait,
        metadata=says("`stable`: go on when the group is Stable again; or `nothing`"),
        kw_only=True,
    )
    pause: Ms = field(
        default=Ms(0), converter=duration, metadata=says("then wait so long"), kw_only=True
    )
    settings: ConsumerSettings = field(
        factory=no_settings,
        converter=consumer_settings,
        metadata=says("settings that change with the restart"),
        kw_only=True,
    )
    app: App | None = field(
        default=None, metadata=says("an application that comes with the restart"), kw_only=True
    )


@frozen(kw_only=True)
class Scale(Action):
    """Start or stop members of a group until so many run; the latest go first."""

    group: Name = field(converter=name, metadata=GROUP)
    to: Whole = field(converter=whole, metadata=says("how many are to run"))
    stop: How = field(default=How.GRACEFUL, converter=_how, metadata=_HOW)
    stagger: Ms = field(
        default=Ms(0), converter=duration, metadata=says("each so long after the one before")
    )


@frozen(kw_only=True)
class Change(Action):
    """Give consumers other settings or another application, from their next start on."""

    members: Whom = field(converter=whom, metadata=WHO)
    settings: ConsumerSettings = field(
        factory=no_settings, converter=consumer_settings, metadata=says("over those they have")
    )
    app: App | None = field(default=None, metadata=says("instead of the one they have"))

    def __attrs_post_init__(self) -> None:
        """Refuse what changes nothing."""
        if not self.settings and self.app is None:
            raise Wrong("found no change", "must have settings or app")


@frozen(kw_only=True)
class Autoscale(Action):
    """From now on scale a group by its lag, as KEDA and the HPA do.

    So many members are wanted as the lag divided by `lag_per_member`; more come at once, fewer
    only when no look within `cooldown` wanted more.
    """

    group: Name = field(converter=name, metadata=GROUP)
    every: SomeMs = field(
        default=SomeMs(30_000), converter=some_time, metadata=says("how often it looks at the lag")
    )
    lag_per_member: Count = field(
        converter=positive, metadata=says("uncommitted records that one member is for")
    )
    least: Count = field(default=Count(1), converter=positive, metadata=says("never fewer"))
    most: Count = field(converter=positive, metadata=says("never more"))
    cooldown: Ms = field(
        default=Ms(300_000), converter=duration, metadata=says("how long it waits to scale down")
    )
    stop: How = field(default=How.GRACEFUL, converter=_how, metadata=_HOW)
    until: Ms | None = field(
        default=None, converter=maybe_duration, metadata=says("when it ends; without it, never")
    )

    def __attrs_post_init__(self) -> None:
        """Refuse a range with nothing in it."""
        if self.least > self.most:
            raise Wrong(f"found least {self.least}", f"must be at most most, {self.most}")


# --- a raw member ---


def _assignors(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@frozen(kw_only=True)
class Raw(Action):
    """Send one request as a client that does what it is told and nothing else."""

    member: Name = field(converter=name, metadata=says("what the client is called"))
    group: Name = field(converter=name, metadata=GROUP)
    send: Send = field(converter=_send, metadata=says("`join`, `sync`, `heartbeat` or `leave`"))
    forget_id: bool = field(
        default=False, metadata=says("whether it first forgets the member id it was given")
    )
    subscribe: tuple[Name, ...] = field(
        default=(), converter=names, metadata=says("with a join: the topics")
    )
    assignors: tuple[str, ...] = field(
        default=("range",),
        converter=_assignors,
        metadata=says("with a join: what it can assign by"),
    )
    session_timeout: Ms = field(
        default=Ms(45_000), converter=duration, metadata=says("with a join")
    )
    rebalance_timeout: Ms = field(
        default=Ms(300_000), converter=duration, metadata=says("with a join")
    )
