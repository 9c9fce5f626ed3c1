"""What one step of the machine asks of the world.

Reply and Outcome are made for every heartbeat, so they are tuples with names: as immutable as
frozen attrs classes, at half the price.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import frozen

from coordinator.events import Event
from coordinator.protocol import Response
from coordinator.records import Record
from coordinator.timers import TimerChange


class Reply(NamedTuple):
    """An answer to the request with this id."""

    request_id: int
    response: Response


@frozen
class Write:
    """Records to append to one partition of the offsets topic, all or none.

    The host reports the log's word with `on_append(write, error, now_ms)`: commits in the order in
    which the machine asked, a failure at any time. A write that fails takes those behind it with
    it: they stood on it, and a log must not keep their records.
    """

    write_id: int
    shard: int
    records: tuple[Record, ...]


class Outcome(NamedTuple):
    """What one step asks of the world: set timers, answer, tell, and append.

    A log that speaks at once does so in a step of its own, so a host appends last.
    """

    writes: tuple[Write, ...] = ()
    replies: tuple[Reply, ...] = ()
    timers: tuple[TimerChange, ...] = ()
    events: tuple[Event, ...] = ()


NOTHING = Outcome()


def joined(outcomes: list[Outcome]) -> Outcome:
    """Several steps of one instant as one."""
    if len(outcomes) == 1:
        return outcomes[0]
    return Outcome(
        writes=tuple(each for outcome in outcomes for each in outcome.writes),
        replies=tuple(each for outcome in outcomes for each in outcome.replies),
        timers=tuple(each for outcome in outcomes for each in outcome.timers),
        events=tuple(each for outcome in outcomes for each in outcome.events),
    )
