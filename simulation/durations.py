"""Lengths of time as people write them: 500, "500ms", "45s", "2m", "1h30m"."""

from __future__ import annotations

import re

#: A time or a length of time: milliseconds, or a text such as "500ms", "45s", "2m", "1h".
Duration = int | str

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*")


def milliseconds(duration: Duration) -> int:
    """The same in milliseconds."""
    if isinstance(duration, int) and not isinstance(duration, bool):
        if duration < 0:
            raise ValueError(f"a length of time must not be negative, not {duration}")
        return duration
    text = duration.strip() if isinstance(duration, str) else ""
    if text.isdigit():
        return int(text)
    parts = _PART.findall(text)
    if not parts or _PART.sub("", text):
        raise ValueError(f"a length of time must read like 500ms, 45s, 2m or 1h, not {duration!r}")
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in parts))


def duration_text(ms: int) -> str:
    """The shortest way to write it: 90000 is `1m30s`."""
    parts = []
    for unit, size in reversed(_UNITS_MS.items()):
        count, ms = divmod(ms, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
