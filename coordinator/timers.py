"""Timers are values: the machine asks for them, the host keeps them and hands them back when due.

Two timers are the same when their keys are: setting one replaces the other, as in Kafka. Some
carry a note for the moment they fire (Kafka keeps it in a closure); the note is no part of the
key, so a host must keep the timer it was given last, not an equal one that it had before.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import field, frozen


class SessionTimer(NamedTuple):
    """A member, or an id that was handed out and has not come back, has been silent too long.

    A tuple with names, like `SetTimer`: these two are made and looked up for every heartbeat.
    """

    group_id: str
    member_id: str


@frozen
class InitialDelay:
    """How the wait of an initial rebalance goes on: this stretch, and what may still follow it."""

    delay_ms: int
    remaining_ms: int


@frozen(cache_hash=True)
class JoinTimer:
    """The join phase has lasted long enough; `initial` when it may still be prolonged."""

    group_id: str
    initial: InitialDelay | None = field(default=None, eq=False)


@frozen(cache_hash=True)
class SyncTimer:
    """Members of this generation that have not asked for their assignment are to be dropped."""

    group_id: str
    generation_id: int = field(default=-1, eq=False)


@frozen(cache_hash=True)
class ExpiryTimer:
    """A shard's periodic look for offsets and groups that have expired."""

    shard: int


class WriteTimer(NamedTuple):
    """A shard's oldest operation has waited for its log for offsets.commit.timeout.ms.

    A tuple with a name: it is set and cancelled with every write.
    """

    shard: int


Timer = SessionTimer | JoinTimer | SyncTimer | ExpiryTimer | WriteTimer


class SetTimer(NamedTuple):
    """Wake me at `at_ms`; replaces an earlier setting of the same timer."""

    timer: Timer
    at_ms: int


class CancelTimer(NamedTuple):
    """Forget this timer if it is set."""

    timer: Timer


TimerChange = SetTimer | CancelTimer
