"""The scenarios that come with groupsim, by name; none of them is read here."""

from __future__ import annotations

from pathlib import Path

import typer

FOLDER = Path(__file__).parent.parent / "scenarios"


def shipped() -> dict[str, Path]:
    """Their files."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.yaml"))}


def names_like(begun: str) -> list[str]:
    """What a shell may complete a name to."""
    return [name for name in shipped() if name.startswith(begun)]


def variants_like(ctx: typer.Context, incomplete: str) -> list[str]:
    """What a shell may complete a variant of the scenario to that was named before it."""
    from groupsim.commands.scenarios import load  # noqa: PLC0415 - now that it is needed
    from simulation.errors import SimulationError  # noqa: PLC0415

    # While a flag waits for its value, the words before it are not yet taken apart.
    given = [ctx.params.get("scenario"), *(word for word in ctx.args if word[:1] != "-")]
    scenario = next(filter(None, given), "")
    try:
        names = load(scenario).variant_names
    except (OSError, SimulationError):  # the command itself will say what is wrong
        return []
    return [name for name in names if name.startswith(incomplete)]
