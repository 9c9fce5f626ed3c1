"""What each member does as its track in a trace: it joins, syncs, is stable, pauses, dies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from simulation.events import EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Member
from simulation.folds.rosters import replaced_id
from simulation.sentences import counted

__all__ = ["Instant", "MemberState", "MemberTracks"]

#: What a member is while a request of this kind is under way.
_ASKING = {"JoinGroup": "joining", "SyncGroup": "syncing", "LeaveGroup": "leaving"}
_STABLE, _REJOINING = "stable", "told to rejoin"
_PAUSED, _CRASHED, _STOPPED = "paused", "crashed", "stopped"
#: Nothing of it is left but its name in the group.
_GONE = (_CRASHED, _STOPPED)
#: Answers that send a member back to the beginning of a join.
_BACK = (
    "REBALANCE_IN_PROGRESS",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "FENCED_INSTANCE_ID",
)


@frozen(kw_only=True)
class MemberState:
    """A stretch of a member's life, and the row that began it."""

    member: Member
    name: str
    from_ms: int
    to_ms: int
    seq: int


@frozen(kw_only=True)
class Instant:
    """What a member did at a moment."""

    member: Member
    name: str
    at_ms: int
    facts: Mapping[str, Any] = field(factory=dict)


@define(eq=False)
class _Life:
    """One member now."""

    name: str | None = None
    since_ms: int = 0
    seq: int = 0
    #: What it goes on with after a pause.
    before: str | None = None
    ids: set[str] = field(factory=set)


@define(eq=False)
class MemberTracks:
    """The lives of members, as rows tell."""

    #: By the row of a session timer that fired: the row that began what its member was by then.
    silences: dict[int, int] = field(factory=dict, init=False)
    #: By the row that sends a member back: the row that began what its group was by then.
    told: dict[int, int] = field(factory=dict, init=False)
    _lives: dict[Member, _Life] = field(factory=dict, init=False)
    _groups: dict[str, int] = field(factory=dict, init=False)
    _past: list[MemberState] = field(factory=list, init=False)
    _instants: list[Instant] = field(factory=list, init=False)
    #: Offsets of one commit, which have a row each: who, because of which answer, when, what.
    _commit: tuple[Member, int | None, int, dict[str, Any]] | None = field(default=None, init=False)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Whatever a member does or suffers."""
        return {
            WorldEventKind.CONSUMER_STARTED: lambda row: self._turn(row, "starting"),
            WorldEventKind.CONSUMER_STOPPING: lambda row: self._turn(row, "closing"),
            WorldEventKind.CONSUMER_CRASHED: lambda row: self._end(row, _CRASHED),
            WorldEventKind.CONSUMER_STOPPED: lambda row: self._end(row, _STOPPED),
            WorldEventKind.CONSUMER_PAUSED: self._on_paused,
            WorldEventKind.CONSUMER_RESUMED: self._on_resumed,
            WorldEventKind.REQUEST_SENT: self._on_sent,
            WorldEventKind.REPLY_RECEIVED: self._on_reply,
            WorldEventKind.TIMER_FIRED: self._on_timer,
            EventKind.MEMBER_ADDED: self._on_added,
            EventKind.MEMBER_REPLACED: self._on_replaced,
            EventKind.MEMBER_REMOVED: self._on_removed,
            EventKind.STATE_CHANGED: self._on_state,
            WorldEventKind.COMMIT_ACKNOWLEDGED: self._on_commit,
            WorldEventKind.COMMIT_FAILED: self._on_commit_failed,
            WorldEventKind.COMMITS_REPEATED: lambda row: self._counted(row, "repeated commit"),
            WorldEventKind.HEARTBEATS_ANSWERED: lambda row: self._counted(row, "heartbeat"),
        }

    def states(self, now_ms: int) -> list[MemberState]:
        """Every stretch; what goes on ends now."""
        for member, life in self._lives.items():
            self._close(member, life, now_ms)
        return self._past

    def instants(self, *, is_over: bool = False) -> Iterator[Instant]:
        """What happened since the last time one asked; a commit is told when it is whole."""
        found, self._instants = self._instants, []
        yield from found
        if is_over and self._commit is not None:
            yield self._whole_commit()

    # --- lives ---

    def _life(self, row: Row) -> _Life | None:
        if row.client is None or row.group is None:
            return None
        return self._lives.setdefault(Member(row.group, row.client), _Life())

    def _turn(self, row: Row, name: str | None) -> None:
        """Be this from now on; a member that stands still will be it when it goes on."""
        life = self._life(row)
        if life is None or life.name == name:
            return
        if life.name == _PAUSED and name not in (None, *_GONE):
            life.before = name
            return
        self._change(row, life, name)

    def _change(self, row: Row, life: _Life, name: str | None) -> None:
        self._close(Member(row.group or "", row.client or ""), life, row.at_ms)
        life.name, life.seq = name, row.seq

    def _close(self, member: Member, life: _Life, now_ms: int) -> None:
        if life.name is not None and now_ms > life.since_ms:
            self._past.append(
                MemberState(
                    member=member,
                    name=life.name,
                    from_ms=life.since_ms,
                    to_ms=now_ms,
                    seq=life.seq,
                )
            )
        life.since_ms = now_ms

    def _end(self, row: Row, name: str) -> None:
        """One that is down is told as long as its group counts on it."""
        life = self._life(row)
        self._turn(row, name if life is not None and life.ids else None)

    def _on_paused(self, row: Row) -> None:
        if (life := self._life(row)) is not None:
            life.before = life.name
            self._turn(row, _PAUSED)

    def _on_resumed(self, row: Row) -> None:
        life = self._life(row)
        if life is not None and life.name == _PAUSED:
            self._change(row, life, life.before)

    def _on_sent(self, row: Row) -> None:
        if row.request in _ASKING:
            self._turn(row, _ASKING[row.request])

    def _on_reply(self, row: Row) -> None:
        life = self._life(row)
        if row.request == "SyncGroup" and row.error == "NONE":
            self._turn(row, _STABLE)
        elif row.error in _BACK and life is not None and life.name == _STABLE:
            self._turn(row, _REJOINING)
            if (state := self._groups.get(row.group or "")) is not None:
                self.told[row.seq] = state

    def _on_timer(self, row: Row) -> None:
        life = self._life(row)
        if life is not None and life.name is not None:
            self.silences[row.seq] = life.seq

    def _on_added(self, row: Row) -> None:
        if (life := self._life(row)) is not None:
            life.ids.add(row.member or "")

    def _on_replaced(self, row: Row) -> None:
        self._forget(row, replaced_id(row))
        self._on_added(row)

    def _on_removed(self, row: Row) -> None:
        self._forget(row, row.member or "")

    def _forget(self, row: Row, member_id: str) -> None:
        for member, life in self._lives.items():
            if member.group == row.group and member_id in life.ids:
                life.ids.discard(member_id)
                if life.name in _GONE and not life.ids:
                    self._close(member, life, row.at_ms)
                    life.name = None

    def _on_state(self, row: Row) -> None:
        self._groups[row.group or ""] = row.seq

    # --- moments ---

    def _at(self, row: Row, name: str, facts: Mapping[str, Any]) -> None:
        if row.client is not None and row.group is not None:
            member = Member(row.group, row.client)
            self._instants.append(Instant(member=member, name=name, at_ms=row.at_ms, facts=facts))

    def _counted(self, row: Row, noun: str) -> None:
        facts = {"count": row.count, "duration_ms": row.duration_ms, "detail": row.detail}
        self._at(row, counted(row.count or 1, noun), facts)

    def _on_commit(self, row: Row) -> None:
        if row.client is None or row.group is None:
            return
        key = (Member(row.group, row.client), row.cause)
        if self._commit is not None and self._commit[:2] != key:
            self._instants.append(self._whole_commit())
        if self._commit is None:
            self._commit = (*key, row.at_ms, {})
        self._commit[3][f"{row.topic}-{row.partition}"] = row.offset

    def _whole_commit(self) -> Instant:
        assert self._commit is not None
        member, _, at_ms, offsets = self._commit
        self._commit = None
        return Instant(member=member, name="commit", at_ms=at_ms, facts=offsets)

    def _on_commit_failed(self, row: Row) -> None:
        place = f"{row.topic}-{row.partition}"
        self._at(row, f"commit failed: {row.error}", {place: row.offset})
