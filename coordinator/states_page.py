"""Prints docs/states.md from the tables: `python -m coordinator.states_page > docs/states.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from coordinator.errors import ErrorCode
from coordinator.states import (
    COMMIT_ANSWERS,
    COMMIT_KEEPS_SESSION,
    DEAD,
    DELETE_ANSWERS,
    HEARTBEAT_ANSWERS,
    MOVES,
    REASONS_TO_MOVE,
    REJOIN_CHANGED,
    REJOIN_UNCHANGED,
    SYNC_ANSWERS,
    WRITE_ERRORS,
    GroupState,
)


def page() -> str:
    """The whole page."""
    lines = [
        "# The states of a group",
        "",
        "Printed from the tables in `coordinator/states.py`; a test compares the two. Change the",
        "tables, then run `python -m coordinator.states_page > docs/states.md`.",
        "",
        *_diagram(),
        "",
        "Any state may also move to Dead: the coordinator gives up the shard that holds the group.",
        "",
        "## What a state answers",
        "",
        "To a member of the current generation; strangers, stale generations and fenced instances",
        "are refused before these tables are asked.",
        "",
        *_answers(),
        "",
        "## What clients hear when the log says no",
        "",
        *_table(
            ("the log's error", "the client hears"),
            ((log.name, said.name) for log, said in WRITE_ERRORS.items()),
        ),
        "",
        "Any other error goes through unchanged. A fetch that waits for stable offsets hears",
        "NOT_COORDINATOR where others hear COORDINATOR_NOT_AVAILABLE.",
    ]
    return "\n".join(lines) + "\n"


def _diagram() -> list[str]:
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> Empty"]
    for source in GroupState:
        for target in GroupState:
            if target in MOVES[source] and target is not DEAD:
                reason = REASONS_TO_MOVE[source, target]
                lines.append(f"    {source.value} --> {target.value}: {reason}")
    return [*lines, "```"]


def _answers() -> list[str]:
    columns: list[tuple[str, Callable[[GroupState], str]]] = [
        ("Heartbeat", _of(HEARTBEAT_ANSWERS)),
        ("SyncGroup", _of(SYNC_ANSWERS)),
        ("JoinGroup of the leader, unchanged", lambda state: _word(REJOIN_UNCHANGED[state][0])),
        ("JoinGroup of a follower, unchanged", lambda state: _word(REJOIN_UNCHANGED[state][1])),
        ("JoinGroup with other protocols", _of(REJOIN_CHANGED)),
        ("OffsetCommit", _of(COMMIT_ANSWERS)),
        ("it keeps the session", lambda state: "yes" if COMMIT_KEEPS_SESSION[state] else "no"),
        ("DeleteGroups", _of(DELETE_ANSWERS)),
    ]
    rows = ((state.value, *(of(state) for _, of in columns)) for state in GroupState)
    return _table(("state", *(name for name, _ in columns)), rows)


def _of(table: Mapping[GroupState, Enum]) -> Callable[[GroupState], str]:
    return lambda state: _word(table[state])


def _word(answer: Enum) -> str:
    return answer.name if isinstance(answer, ErrorCode) else str(answer.value)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201 (a program that prints a page)
