"""How long deaths go unnoticed, and whose commits are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from attrs import define, field, frozen

from simulation.events import WITHOUT_CLOSING, EventKind, Kind, Row, WorldEventKind
from simulation.folds.places import Handler, Member, Span
from simulation.folds.rosters import Rosters, replaced_id


@frozen(kw_only=True)
class Death:
    """A member that died; `removed_ms` is None as long as its group counts on it."""

    group: str
    client: str
    died_ms: int
    removed_ms: int | None = None
    why: str | None = None


@define(eq=False)
class DeathFold:
    """`detection_s` and `commits_refused`, and the commits that were not."""

    rosters: Rosters
    noticed: list[Death] = field(factory=list)
    refused: dict[Member, Counter[str]] = field(factory=dict)
    accepted: Counter[Member] = field(factory=Counter)
    #: From a member's first refused commit to its last.
    refusals: dict[Member, Span] = field(factory=dict)
    _unnoticed: dict[tuple[str, str], Death] = field(factory=dict)

    def handlers(self) -> Mapping[Kind, Handler]:
        """Deaths, removals and commits."""
        return {
            WorldEventKind.CONSUMER_CRASHED: self._on_death,
            WorldEventKind.CONSUMER_STOPPED: self._on_stopped,
            EventKind.MEMBER_REMOVED: self._on_removed,
            EventKind.MEMBER_REPLACED: self._on_replaced,
            EventKind.GROUP_LOADED: self._on_loaded,
            EventKind.COMMIT_REFUSED: self._on_refused,
            WorldEventKind.REPLY_SENT: self._on_answered,
            WorldEventKind.COMMITS_REPEATED: self._on_repeated,
        }

    def deaths(self) -> list[Death]:
        """Every death of a member, in the order in which they happened."""
        known = [*self.noticed, *self._unnoticed.values()]
        return sorted(known, key=lambda death: (death.died_ms, death.client))

    def _on_stopped(self, row: Row) -> None:
        """An application that fails or forgets to close says no word to its group either."""
        if row.error is not None or row.detail == WITHOUT_CLOSING:
            self._on_death(row)

    def _on_death(self, row: Row) -> None:
        for group, roster in self.rosters.groups.items():
            for member, client in roster.members.items():
                if client is not None and client == row.client:
                    death = Death(group=group, client=client, died_ms=row.at_ms)
                    self._unnoticed.setdefault((group, member), death)

    def _on_removed(self, row: Row) -> None:
        self._notice(row, row.member or "", row.detail)

    def _on_replaced(self, row: Row) -> None:
        """A static member that came back was never missed."""
        self._unnoticed.pop((row.group or "", replaced_id(row)), None)

    def _on_loaded(self, row: Row) -> None:
        """Who was not in the log is out without a word."""
        roster = self.rosters.of(row.group)
        for group, member in list(self._unnoticed):
            if group == row.group and member not in roster.members and roster.is_certain:
                self._notice(row, member, "the coordinator moved before it was written down")

    def _notice(self, row: Row, member: str, why: str | None) -> None:
        death = self._unnoticed.pop((row.group or "", member), None)
        if death is not None:
            self.noticed.append(
                Death(
                    group=death.group,
                    client=death.client,
                    died_ms=death.died_ms,
                    removed_ms=row.at_ms,
                    why=why,
                )
            )

    def _on_answered(self, row: Row) -> None:
        """A commit is accepted when the coordinator says so: by then it is written."""
        if row.request == "OffsetCommit" and row.error == "NONE":
            self.accepted[self._member(row)] += 1

    def _on_repeated(self, row: Row) -> None:
        self.accepted[self._member(row)] += row.count or 0

    def _member(self, row: Row) -> Member:
        return Member(row.group or "", row.client or self.rosters.name(row.member))

    def _on_refused(self, row: Row) -> None:
        member = self._member(row)
        self.refused.setdefault(member, Counter())[row.error or "UNKNOWN"] += 1
        first_ms, _ = self.refusals.get(member, (row.at_ms, row.at_ms))
        self.refusals[member] = Span(first_ms, row.at_ms)
