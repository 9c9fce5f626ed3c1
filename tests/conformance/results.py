"""What playing a case comes to."""

from __future__ import annotations

from typing import Literal

from attrs import frozen


@frozen
class CaseResult:
    """One case: how it went, and the first difference if it failed.

    A case that is not scored is reported apart and does not count.
    """

    case_id: str
    outcome: Literal["passed", "failed", "skipped"]
    message: str = ""
    scored: bool = True
