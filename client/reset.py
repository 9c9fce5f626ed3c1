"""Where to begin when no position is known: `auto.offset.reset`."""

from __future__ import annotations

import re
from enum import Enum

from attrs import frozen

from client.messages import LogEdge

_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,9}))?S)?)?",
    re.IGNORECASE,
)
_MS_PER = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


class ResetType(Enum):
    """The four policies."""

    LATEST = "latest"
    EARLIEST = "earliest"
    NONE = "none"
    BY_DURATION = "by_duration"


@frozen
class ResetStrategy:
    """A reset policy, with the duration that `by_duration` goes back."""

    type: ResetType
    duration_ms: int = 0

    def place(self, now_ms: int) -> LogEdge | int:
        """What to ask ListOffsets for; NONE never asks."""
        if self.type is ResetType.BY_DURATION:
            return now_ms - self.duration_ms
        return LogEdge(self.type.value)


EARLIEST = ResetStrategy(ResetType.EARLIEST)
LATEST = ResetStrategy(ResetType.LATEST)


def reset_strategy(text: str) -> ResetStrategy:
    """The policy that a setting names; ValueError for anything that Kafka refuses."""
    name, _, duration = text.partition(":")
    if name == ResetType.BY_DURATION.value:
        return ResetStrategy(ResetType.BY_DURATION, _milliseconds(text, duration))
    if duration or text.endswith(":") or name not in {policy.value for policy in ResetType}:
        raise ValueError(
            "auto_offset_reset must be earliest, latest, none or by_duration:<PnDTnHnMn.nS>, "
            f"not {text!r}"
        )
    return ResetStrategy(ResetType(name))


def _milliseconds(text: str, duration: str) -> int:
    match = _DURATION.fullmatch(duration)
    if match is None or not any(match.groups()):
        raise ValueError(
            f"auto_offset_reset needs a duration such as by_duration:PT1H, not {text!r}"
        )
    whole = sum(int(match[unit] or 0) * ms for unit, ms in _MS_PER.items())
    return whole + int((match["fraction"] or "0").ljust(9, "0")) // 1_000_000
