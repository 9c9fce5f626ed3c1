"""Packages of other people that hide ours, found without importing any.

Our packages have plain names. `python -m groupsim` in a folder that has a `client` of its own would
import that one; so would any command if another installed package had the name.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

OURS = ("client", "coordinator", "simulation", "spark_bridge")

_HERE = Path(__file__).resolve().parent.parent.parent


def shadows(here: Path = _HERE) -> dict[str, Path]:
    """Where Python would find each of our packages that it would not find beside this one."""
    found: dict[str, Path] = {}
    for name in OURS:
        place = _place_of(name)
        if place is not None and place != here / name:
            found[name] = place
    return found


def warning_of(found: dict[str, Path]) -> str:
    """What to tell the user, in one line."""
    names = " and ".join(f"`{name}` ({place})" for name, place in found.items())
    are = "is a package" if len(found) == 1 else "are packages"
    return (
        f"groupsim: {names} {are} of your own that Python finds before groupsim's of the same name:"
        " start groupsim from another folder, or rename yours"
    )


def _place_of(name: str) -> Path | None:
    """The folder or file that an import of this name would take."""
    spec = find_spec(name)
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return None if spec.origin is None else Path(spec.origin).resolve()
