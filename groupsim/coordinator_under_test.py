"""A coordinator for unit tests: its time is the test's own, and it writes down what it was asked.

Its record has the rows of a simulation (docs/events.md), so that it can be told in the same words.
"""

from __future__ import annotations

import sys
from typing import Any, Unpack

from attrs import define, field

from coordinator import EventKind, GroupConfig, LocalCoordinator
from coordinator.local import Answer, wall_clock_ms
from coordinator.outcome import Outcome
from coordinator.protocol import JoinGroupRequest, LeaveGroupRequest, Request
from coordinator.timers import ExpiryTimer, SetTimer, Timer
from simulation.durations import Duration, milliseconds
from simulation.events import Facts, Kind, Row, WorldEventKind
from simulation.facts import TIMER_WORDS, facts_of_event, with_reply

#: The one broker there is.
_BROKER = 1
#: A restart loads fifty shards; what it means for a group is told by `group_loaded`.
_UNTOLD = (EventKind.SHARD_LOADING, EventKind.SHARD_LOADED, EventKind.SHARD_UNLOADED)


@define
class TestClock:
    """A clock that stands still until the test moves it: by hand, or by freezegun.

    It follows a frozen clock from its first look at it.
    """

    __test__ = False  # not a test, whatever its name

    now_ms: int = 0
    _shown_ms: int | None = field(default=None, init=False)

    def __call__(self) -> int:
        """Milliseconds since the test began."""
        shown_ms = _frozen_ms()
        if shown_ms is not None and self._shown_ms is not None:
            self.now_ms += shown_ms - self._shown_ms
        self._shown_ms = shown_ms
        return self.now_ms


def _frozen_ms() -> int | None:
    """What a clock shows that freezegun has stopped; None while it has stopped none."""
    freezegun = sys.modules.get("freezegun.api")
    return wall_clock_ms() if freezegun is not None and freezegun.freeze_factories else None


class CoordinatorUnderTest(LocalCoordinator):
    """A `LocalCoordinator` in a test's own time, which keeps `rows` of what happened."""

    def __init__(self, config: GroupConfig) -> None:
        self.rows: list[Row] = []
        self.clock = TestClock()
        #: What each member id is called, and how many there are of each client id.
        self._names: dict[str, str] = {}
        self._namesakes: dict[str, int] = {}
        self._cause: int | None = None
        self._set_ms: dict[Timer, int] = {}
        super().__init__(config, now_ms=self.clock)

    def __repr__(self) -> str:
        return f"<CoordinatorUnderTest at {self.clock.now_ms} ms>"

    @property
    def now_ms(self) -> int:
        """Milliseconds since the test began."""
        return self.clock()

    def run_for(self, duration: Duration) -> None:
        """Let so much time pass, and everything happen that becomes due: 500, "45s", "2m"."""
        self.advance()
        self.clock.now_ms += milliseconds(duration)
        self.advance()

    def send(self, request: Request) -> Answer[Any]:
        """Send any request of the coordinator's protocol."""
        self.advance()  # what is due happens before it
        self._cause = None
        self._cause = self._note(WorldEventKind.REQUEST_RECEIVED, **self._facts_of(request))
        return super().send(request)

    # --- the record ---

    def _fire(self, timer: Timer) -> None:
        self._cause = None
        if not isinstance(timer, ExpiryTimer):  # it looks for old offsets every ten minutes
            self._cause = self._note(
                WorldEventKind.TIMER_FIRED,
                group=getattr(timer, "group_id", None),
                member=getattr(timer, "member_id", None),
                duration_ms=self._now_ms - self._set_ms.get(timer, self._now_ms),
                detail=TIMER_WORDS[type(timer)],
            )
        super()._fire(timer)

    def _carry_out(self, outcome: Outcome) -> None:
        for change in outcome.timers:
            if isinstance(change, SetTimer):
                self._set_ms[change.timer] = self._now_ms
        for event in outcome.events:
            if event.kind not in _UNTOLD:
                self._note(event.kind, **facts_of_event(event))
        for reply in outcome.replies:
            request = self._answers[reply.request_id].request
            facts = with_reply(self._facts_of(request), reply.response)
            if isinstance(request, JoinGroupRequest) and (member := facts.get("member")):
                facts["client"] = self._name(member, request.client_id)
            self._note(WorldEventKind.REPLY_SENT, **facts)
        super()._carry_out(outcome)

    def _note(self, kind: Kind, **facts: Unpack[Facts]) -> int:
        seq = len(self.rows) + 1
        row = Row(
            seq=seq, at_ms=self._now_ms, kind=kind.value, cause=self._cause, run="test", **facts
        )
        self.rows.append(row)
        return seq

    def _facts_of(self, request: Request) -> Facts:
        member = getattr(request, "member_id", None)
        if isinstance(request, LeaveGroupRequest) and request.members:
            member = request.members[0].member_id
        return {
            "group": getattr(request, "group_id", None),
            "broker": _BROKER,
            "client": self._names.get(member or "", request.client_id) or None,
            "member": member or None,
            "request": type(request).__name__.removesuffix("Request"),
        }

    def _name(self, member: str, client_id: str) -> str:
        """A member goes by its client id; the second one of that id is `ada#2`, and so on."""
        if member not in self._names:
            self._namesakes[client_id] = count = self._namesakes.get(client_id, 0) + 1
            self._names[member] = client_id if count == 1 else f"{client_id}#{count}"
        return self._names[member]
