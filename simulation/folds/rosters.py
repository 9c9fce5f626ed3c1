"""Who is in which group, as far as the coordinator's own rows tell."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import define, field

from coordinator import GroupState
from simulation.events import EventKind, Kind, Row
from simulation.folds.places import Handler, Member

_WORD = re.compile(r"[^\s,;]+")
_REPLACED = "it replaced "
_PREPARING = GroupState.PREPARING_REBALANCE.value
_COMPLETING = GroupState.COMPLETING_REBALANCE.value
_STABLE, _EMPTY = GroupState.STABLE.value, GroupState.EMPTY.value


@define(eq=False)
class Roster:
    """One group: its members' ids and the consumers behind them."""

    members: dict[str, str | None] = field(factory=dict)
    state: str | None = None
    generation: int | None = None
    protocol: str | None = None
    #: Whether the rows so far leave no doubt about who is a member: a load or a failed write does.
    is_certain: bool = False
    #: Who joined the present generation: a static member may stay without doing so (KIP-345).
    present: set[str] = field(factory=set)
    #: Who has joined since.
    joined: set[str] = field(factory=set)
    #: The members as the log has them: who is there after the next load.
    written: dict[str, str | None] = field(factory=dict)
    #: The row that led to the last return of a static member, and the log's members before it.
    before_return: tuple[int | None, dict[str, str | None]] = (None, {})
    #: How often a group of this name has come into being.
    lives: int = 0


@define(eq=False)
class Rosters:
    """All groups."""

    groups: dict[str, Roster] = field(factory=dict)
    #: Every consumer that ever was a member.
    seen: dict[Member, None] = field(factory=dict)
    _names: dict[str, str] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """The coordinator's rows about groups and members."""
        return {
            EventKind.GROUP_CREATED: self._on_created,
            EventKind.GROUP_LOADED: self._on_loaded,
            EventKind.GROUP_REMOVED: self._on_removed,
            EventKind.STATE_CHANGED: self._on_state,
            EventKind.MEMBER_ID_GIVEN: self._note_name,
            EventKind.MEMBER_ADDED: self._on_member_added,
            EventKind.MEMBER_REJOINED: self._on_member_rejoined,
            EventKind.MEMBER_REPLACED: self._on_member_replaced,
            EventKind.MEMBER_REMOVED: self._on_member_removed,
            EventKind.WRITE_FAILED: self._on_write_failed,
        }

    def of(self, group: str | None) -> Roster:
        """A group's roster, empty at first."""
        return self.groups.setdefault(group or "", Roster())

    def name(self, member: str | None) -> str:
        """The consumer behind a member id, or the id itself."""
        return "nobody" if member is None else self._names.get(member, member)

    def in_names(self, text: str) -> str:
        """A text with consumers' names where it has member ids."""
        return _WORD.sub(lambda word: self._names.get(word[0], word[0]), text)

    # --- rows ---

    def _on_created(self, row: Row) -> None:
        lives = self.of(row.group).lives
        self.groups[row.group or ""] = Roster(
            state=row.state, generation=row.generation, is_certain=True, lives=lives + 1
        )

    def _on_removed(self, row: Row) -> None:
        roster = self.of(row.group)
        roster.members, roster.written = {}, {}
        roster.state = roster.generation = roster.protocol = None

    def _on_loaded(self, row: Row) -> None:
        roster = self.of(row.group)
        roster.members = dict(roster.written)
        roster.is_certain = len(roster.members) == row.count
        roster.present, roster.joined = set(roster.members), set()
        roster.lives += 1
        self._on_state(row)

    def _on_state(self, row: Row) -> None:
        roster = self.of(row.group)
        roster.state, roster.generation = row.state, row.generation
        roster.protocol = row.protocol or None
        cause, written = roster.before_return
        if row.state == _PREPARING and row.cause is not None and row.cause == cause:
            roster.written = written  # the return changed the vote, so nothing was written
        if row.state == _COMPLETING:
            roster.present, roster.joined = roster.joined, set()
        if row.state in (_STABLE, _EMPTY) and row.kind == EventKind.STATE_CHANGED.value:
            roster.written = dict(roster.members)
            roster.is_certain = roster.is_certain or len(roster.members) == row.count

    def _note_name(self, row: Row) -> None:
        if row.member is not None and row.client is not None:
            self._names[row.member] = row.client

    def _note_member(self, row: Row) -> None:
        self.seen[Member(row.group or "", self.name(row.member))] = None

    def _on_member_added(self, row: Row) -> None:
        self._note_name(row)
        roster = self.of(row.group)
        roster.members[row.member or ""] = row.client
        roster.joined.add(row.member or "")
        self._note_member(row)

    def _on_member_rejoined(self, row: Row) -> None:
        self.of(row.group).joined.add(row.member or "")

    def _on_member_replaced(self, row: Row) -> None:
        self._note_name(row)
        self._note_member(row)
        old, roster = replaced_id(row), self.of(row.group)
        _replace(roster.members, old, row)
        if row.state == _STABLE:
            # Otherwise the log keeps the old id until the rebalance under way is over.
            roster.before_return = (row.cause, dict(roster.written))
            _replace(roster.written, old, row)
        if old in roster.present:
            roster.present.add(row.member or "")

    def _on_member_removed(self, row: Row) -> None:
        self.of(row.group).members.pop(row.member or "", None)

    def _on_write_failed(self, _row: Row) -> None:
        """What the write undid is told by no row: until the next Stable, who knows."""
        for roster in self.groups.values():
            roster.is_certain = False


def _replace(members: dict[str, str | None], old: str, row: Row) -> None:
    if old in members:
        del members[old]
        members[row.member or ""] = row.client


def replaced_id(row: Row) -> str:
    """The id that a static member had before."""
    return (row.detail or "").removeprefix(_REPLACED)
