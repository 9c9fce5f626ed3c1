"""The scenarios that come with groupsim, by name; none of them is read here."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "scenarios"


def shipped() -> dict[str, Path]:
    """Their files."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def names_like(begun: str) -> list[str]:
    """What a shell may complete a name to."""
    return [name for name in shipped() if name.startswith(begun)]
