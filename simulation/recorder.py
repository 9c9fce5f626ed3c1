"""The recorder: gives every event its place in the run's order and hands it to a sink.

What repeats without news (heartbeats, automatic commits of unchanged positions) is counted in a
member's `Fold` and becomes a row when the member has another row, or when somebody names it as a
cause. Sinks that need nothing live here; `simulation.parquet_sink` writes run directories.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Protocol, Unpack

from attrs import define, field

from simulation.errors import SimulationError
from simulation.events import Facts, Kind, Row, WorldEventKind

_BEATS, _COMMITS = WorldEventKind.HEARTBEATS_ANSWERED, WorldEventKind.COMMITS_REPEATED


class Sink(Protocol):
    """Where rows go, one after the other in the order of `seq`."""

    def take(self, row: Row) -> None:
        """Keep this row, or not."""


@define(eq=False)
class MemorySink:
    """Keeps every row."""

    rows: list[Row] = field(factory=list, repr=lambda rows: f"<{len(rows)} rows>")

    def take(self, row: Row) -> None:
        """Keep this row."""
        self.rows.append(row)


class NoSink:
    """Keeps nothing."""

    def take(self, row: Row) -> None:
        """Let this row go."""


@define(eq=False)
class Tally:
    """So many of one kind, from the first sending to the last answer."""

    count: int = 0
    first_sent_ms: int = 0
    last_heard_ms: int = 0

    def add(self, sent_ms: int, heard_ms: int, count: int = 1) -> None:
        """Count one more, or several between these times."""
        if self.count == 0:
            self.first_sent_ms = sent_ms
        self.count += count
        self.last_heard_ms = heard_ms


@define(eq=False)
class Fold:
    """What a member repeats. `since` is the row before it, `seq` its own once it has one."""

    client: str
    since: int | None
    facts: Facts = field(factory=Facts)
    beats: Tally = field(factory=Tally)
    commits: Tally = field(factory=Tally)
    seq: int | None = None
    #: Whether it counts no more: what it has counted is a row, if it is anything.
    is_closed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been counted."""
        return self.beats.count == 0 and self.commits.count == 0


#: What led to an event: a row, something that may still become one, or nothing but the script.
Cause = int | Fold | None


@define(eq=False, repr=False)
class Recorder:
    """Writes a run down. What `record` returns is how later events name this one as their cause."""

    run: str
    sink: Sink
    recorded: int = 0
    #: Whether what is repeated is counted until there is other news; if not, each is a row.
    is_folding: bool = True
    now_ms: Callable[[], int] = field(default=lambda: 0)
    #: The members whose quiet time is not counted yet.
    asleep: Container[str] = ()
    #: Called before the fold of such a member becomes a row: its quiet time is counted first.
    before_closing: Callable[[str], None] = field(default=lambda _client: None)
    watchers: list[Callable[[Row], None]] = field(factory=list)
    #: Whether the last row is written.
    is_closed: bool = False
    #: Says which fold was open at the time that is made up for, of a member whose lull is over. If
    #: that is a row already, what it stands for was counted before.
    earlier: dict[str, Callable[[int], Fold | None]] = field(factory=dict, init=False)
    _folds: dict[str, Fold] = field(factory=dict, init=False)
    _is_kept: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        """See whether there is anybody to keep the rows."""
        self._is_kept = not isinstance(self.sink, NoSink)

    def record(self, kind: Kind, at_ms: int, cause: Cause, **facts: Unpack[Facts]) -> int:
        """Put one event down and return its `seq`."""
        return self.put(kind, at_ms, cause, facts)

    def put(
        self, kind: Kind, at_ms: int, cause: Cause, facts: Facts, more: Facts | None = None
    ) -> int:
        """Do the same, the facts in one piece or two: what is known before, and `more`."""
        if self.is_closed:
            raise SimulationError(f"this run has ended; there can be no {kind.value} in it")
        if type(cause) is Fold:
            cause = self.seq_of(cause)
        client = facts.get("client")
        if client is not None and (client in self._folds or client in self.asleep):
            self.close(client)
        self.recorded = seq = self.recorded + 1
        if not (self._is_kept or self.watchers):
            return seq  # Nobody would see the row.
        if more:
            facts = {**facts, **more}
        row = Row(
            seq=seq,
            at_ms=at_ms,
            kind=kind._value_,
            cause=cause,  # type: ignore[arg-type]
            run=self.run,
            **facts,
        )
        self.sink.take(row)
        if self.watchers:
            for watch in tuple(self.watchers):  # one may be the last time for it and leave
                watch(row)
        return seq

    # --- folds ---

    def fold(self, client: str, since: int | None) -> Fold:
        """The fold of a member; a new one if the last has become a row."""
        if self.earlier and client in self.earlier:
            closed = self.earlier[client](self.now_ms())
            if closed is not None:
                return closed
        found = self._folds.get(client)
        if found is None:
            found = self._folds[client] = Fold(client, since)
        return found

    def seq_of(self, cause: Cause) -> int | None:
        """The row behind a cause; a fold that has counted something becomes one."""
        if not isinstance(cause, Fold):
            return cause
        if cause.seq is None:
            self.close(cause.client)
        return cause.since if cause.seq is None else cause.seq

    def close(self, client: str) -> None:
        """Let what was counted become rows."""
        if client in self.asleep:
            self.before_closing(client)
        fold = self._folds.pop(client, None)
        if fold is None:
            return
        fold.is_closed = True
        if fold.beats.count:
            fold.seq = self._tell(_BEATS, fold, fold.beats)
        if fold.commits.count:
            seq = self._tell(_COMMITS, fold, fold.commits)
            # Who names the fold means its heartbeats, if there are any.
            fold.seq = seq if fold.seq is None else fold.seq

    def _tell(self, kind: Kind, fold: Fold, tally: Tally) -> int:
        facts: Facts = {
            "count": tally.count,
            "duration_ms": tally.last_heard_ms - tally.first_sent_ms,
            "detail": f"the last at {tally.last_heard_ms} ms",
        }
        return self.put(kind, self.now_ms(), fold.since, fold.facts, facts)

    def close_all(self) -> None:
        """Let everything that was counted become rows, by name."""
        for client in sorted(self._folds):  # closing one never opens another
            self.close(client)
