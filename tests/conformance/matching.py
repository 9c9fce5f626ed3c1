"""How an answer is compared with what was recorded (FORMAT.md, section 6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

_AS_SETS = frozenset(
    {"members", "member_instance_ids", "member_metadata", "member_assignments", "member_ids"}
)
_ROW_KEYS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "partitions": lambda row: (row["topic"], row["partition"]),
    "groups": lambda row: row["group_id"],
}


def difference(expected: dict[str, Any], got: dict[str, Any], seen_ids: set[str]) -> str | None:
    """The first listed field that differs, in words; None if all of them match."""
    for name, wanted in expected.items():
        value = got.get(name)
        if name == "error" and "error" not in got and "partitions" in got:
            # A commit has no error of its own: every partition must have this one.
            errors = sorted({row["error"] for row in got["partitions"]})
            if errors not in ([wanted], []):
                return f"error: expected {wanted} everywhere, got {errors}"
            continue
        if not _matches(name, wanted, value, seen_ids):
            return f"{name}: expected {_short(wanted)}, got {_short(value)}"
    return None


def _matches(name: str, wanted: Any, value: Any, seen_ids: set[str]) -> bool:
    if isinstance(wanted, dict) and set(wanted) == {"one_of"}:
        return any(_matches(name, each, value, seen_ids) for each in wanted["one_of"])
    if isinstance(wanted, dict) and set(wanted) == {"not"}:
        return not _matches(name, wanted["not"], value, seen_ids)
    if wanted == "$new":
        return isinstance(value, str) and value != "" and value not in seen_ids
    if isinstance(wanted, list) and isinstance(value, list):
        return _lists_match(name, wanted, value, seen_ids)
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    return bool(wanted == value)


def _lists_match(name: str, wanted: list[Any], value: list[Any], seen_ids: set[str]) -> bool:
    if name in _ROW_KEYS:
        key = _ROW_KEYS[name]
        rows = {key(row): row for row in value}
        return len(rows) == len(value) == len(wanted) and all(
            key(row) in rows and difference(row, rows[key(row)], seen_ids) is None for row in wanted
        )
    if name == "members" and wanted and isinstance(wanted[0], dict):  # rows of a leave, in order
        return len(wanted) == len(value) and all(
            difference(row, got, seen_ids) is None for row, got in zip(wanted, value, strict=True)
        )
    if name in _AS_SETS:
        return sorted(map(json.dumps, wanted)) == sorted(map(json.dumps, value))
    return wanted == value


def _short(value: Any, longest: int = 300) -> str:
    text = json.dumps(value)
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"
