"""The story of a run: its rows as lines that say what led to what.

`story` leaves out what goes without saying (requests that are answered well, records, heartbeats),
folds rows that differ in their partitions only, and lets each line name the last line before it
that led to it. Nothing here knows of terminals or pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import define, field, frozen

from simulation.events import EventKind, Row, WorldEventKind
from simulation.sentences import Names, clause_of, in_time

__all__ = ["UNTOLD", "Line", "Window", "is_told", "lines", "page", "story"]

#: What goes without saying.
UNTOLD: frozenset[str] = frozenset(
    kind.value
    for kind in (
        WorldEventKind.LOG_RATE_CHANGED,
        WorldEventKind.CONNECTION_OPENED,
        WorldEventKind.CONNECTION_CLOSED,
        WorldEventKind.REQUEST_SENT,
        WorldEventKind.REQUEST_RECEIVED,
        WorldEventKind.REPLY_SENT,
        WorldEventKind.REPLY_LOST,
        WorldEventKind.HEARTBEATS_ANSWERED,
        WorldEventKind.COMMITS_REPEATED,
        WorldEventKind.WRITE_COMMITTED,
        WorldEventKind.FETCH_STARTED,
        WorldEventKind.RECORDS_RETURNED,
        WorldEventKind.RECORDS_PROCESSED,
        WorldEventKind.COMMIT_ACKNOWLEDGED,
        EventKind.OFFSET_COMMITTED,
        EventKind.PROTOCOL_SELECTED,
        EventKind.ASSIGNMENT_STORED,
        EventKind.MEMBER_ID_GIVEN,
    )
)
#: What the columns of a page are.
_HEADING = ("time, s", "row", "what happened (<- what led to it)")
_REPLY_RECEIVED = WorldEventKind.REPLY_RECEIVED.value
_POSITION_SET = WorldEventKind.POSITION_SET.value
_COMMITTED = "committed"
#: Answers that are part of every join and commit.
_USUAL_ANSWERS = (None, "NONE", "MEMBER_ID_REQUIRED")
#: Rows of these kinds stand for several partitions in one line.
_FOLDED: frozenset[str] = frozenset(
    kind.value
    for kind in (
        WorldEventKind.LOG_RATE_CHANGED,
        WorldEventKind.PARTITION_ASSIGNED,
        WorldEventKind.PARTITION_REVOKED,
        WorldEventKind.PARTITION_LOST,
        WorldEventKind.POSITION_SET,
        WorldEventKind.FETCH_STARTED,
        WorldEventKind.RECORDS_RETURNED,
        WorldEventKind.OFFSET_GIVEN,
        WorldEventKind.COMMIT_ACKNOWLEDGED,
        WorldEventKind.COMMIT_FAILED,
        EventKind.OFFSET_COMMITTED,
        EventKind.OFFSET_REMOVED,
        EventKind.SHARD_LOADING,
        EventKind.SHARD_LOADED,
        EventKind.SHARD_UNLOADED,
    )
)


@frozen(kw_only=True)
class Line:
    """One line of a story: a row, or several that differ in their partitions only."""

    seq: int
    at_ms: int
    kind: str
    group: str | None
    text: str
    #: The `seq` of the line that led to this one; None: the script, or what goes before it.
    cause: int | None
    #: How many rows it stands for.
    rows: int


@frozen(kw_only=True)
class Window:
    """Which part of a run is told."""

    from_ms: int = 0
    to_ms: int | None = None
    #: Only this group, and what belongs to none: faults, brokers, topics.
    group: str | None = None

    def holds(self, row: Row) -> bool:
        """Is this row in it?"""
        if row.at_ms < self.from_ms or (self.to_ms is not None and row.at_ms > self.to_ms):
            return False
        return self.group is None or row.group in (None, self.group)


def is_told(row: Row) -> bool:
    """Does a story tell this row? What goes without saying is left out."""
    if row.kind == _REPLY_RECEIVED:
        return row.error not in _USUAL_ANSWERS
    if row.kind == _POSITION_SET:
        return row.detail != _COMMITTED
    return row.kind not in UNTOLD


@define(eq=False)
class _Telling:
    """Rows in, lines out."""

    names: Names
    window: Window
    #: The cause of every row, also of those that are not told.
    causes: Sequence[int | None]
    lines: list[Line] = field(factory=list)
    #: The `seq` of the line that a row belongs to or comes from; 0 is the script.
    _told: dict[int, int] = field(factory=dict)
    _waiting: list[Row] = field(factory=list)

    def take(self, row: Row) -> None:
        """Tell the next row."""
        if not self._continues(row):
            self.close()
        self._waiting.append(row)
        self._told[row.seq] = self._waiting[0].seq

    def _continues(self, row: Row) -> bool:
        if not self._waiting or row.kind not in _FOLDED:
            return False
        last = self._waiting[-1]
        return _key(last) == _key(row)

    def close(self) -> None:
        """Let what waits become a line."""
        if not self._waiting:
            return
        row, *alike = self._waiting
        self._waiting = []
        if not self.window.holds(row):
            return
        cause = 0 if row.cause is None else self._line_of(row.cause)
        self.lines.append(
            Line(
                seq=row.seq,
                at_ms=row.at_ms,
                kind=row.kind,
                group=row.group,
                text=clause_of(self.names, row, *alike),
                cause=cause or None,
                rows=1 + len(alike),
            )
        )

    def _line_of(self, seq: int) -> int:
        """The last line on the way back from a row to the script."""
        passed = []
        at: int | None = seq
        while at is not None and at not in self._told:
            passed.append(at)
            at = self.causes[at - 1]
        line = 0 if at is None else self._told[at]
        self._told.update(dict.fromkeys(passed, line))
        return line


def _key(row: Row) -> tuple[object, ...]:
    """What rows have in common that are told in one line."""
    return (row.kind, row.at_ms, row.cause, row.client, row.broker, row.error, row.detail)


def lines(
    rows: Iterable[Row], names: Names, window: Window, causes: Sequence[int | None]
) -> list[Line]:
    """These rows of a run as lines; `causes` are those of all its rows."""
    telling = _Telling(names, window, causes)
    for row in rows:
        telling.take(row)
    telling.close()
    return telling.lines


def story(rows: Sequence[Row], window: Window | None = None) -> list[Line]:
    """A run as people tell it, or a part of it."""
    causes = [row.cause for row in rows]
    return lines(filter(is_told, rows), Names.of(rows), window or Window(), causes)


def page(told: Sequence[Line], rows: Sequence[Row], names: Names) -> Iterator[str]:
    """The heading, then each line as it is printed; `rows` are all those of the run.

    A cause is named by its row, in words too if its line is not on the page, and not at all if it
    stands just above.
    """
    time, row, what = _HEADING
    last_ms, last_seq = (told[-1].at_ms, told[-1].seq) if told else (0, 0)
    width = max(len(time), len(f"{last_ms / 1_000:.3f}"))
    digits = max(len(row), len(str(last_seq)))
    yield f"{time:>{width}}  {row:>{digits}}  {what}"
    groups = {line.group for line in told if line.group is not None}
    shown: set[int] = set()
    before: int | None = None
    for line in told:
        whose = f"{line.group}: " if len(groups) > 1 and line.group is not None else ""
        because = ""
        if line.cause is not None and line.cause != before:
            because = f"  <- {line.cause}"
            if line.cause not in shown:
                # Its own cause says more than the last line that a story would tell.
                cause = rows[(rows[line.seq - 1].cause or line.cause) - 1]
                because = f"  <- {cause.seq} at {in_time(cause.at_ms)}: {clause_of(names, cause)}"
                shown.add(cause.seq)
        yield (
            f"{line.at_ms / 1_000:{width}.3f}  {line.seq:>{digits}}  {whose}{line.text}{because}"
        )
        shown.add(line.seq)
        before = line.seq
