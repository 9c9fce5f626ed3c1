"""`list`, `show`, `validate` and `init`: scenarios, those that come with groupsim and one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict

from groupsim.commands.explaining import told_scenario
from groupsim.commands.shipped import shipped
from groupsim.commands.voice import Voice, print_json
from simulation.errors import SimulationError
from simulation.scenarios.limits import Limits
from simulation.scenarios.mistakes import Mistake, ScenarioError, did_you_mean, nearest_to
from simulation.scenarios.scenario import Scenario
from simulation.sentences import counted, listed

STARTER = Path(__file__).with_name("starter.yaml")


class NoSuchScenario(SimulationError):
    """Neither a shipped scenario nor a file; the message says what there is."""


def path_of(name: str) -> Path:
    """Where a scenario is: one that comes with groupsim, by its name, or a file."""
    known = shipped()
    if name in known:
        return known[name]
    if not name:
        raise NoSuchScenario("a scenario must have a name (groupsim list shows the scenarios)")
    path = Path(name)
    if path.is_dir():
        raise NoSuchScenario(f"{name} is a folder, and a scenario is a file")
    if path.exists() or path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return path
    hint = did_you_mean(nearest_to(name, known))
    raise NoSuchScenario(
        f"there is no scenario {name} and no file of that name{hint}"
        " (groupsim list shows the scenarios)"
    )


def load(name: str, *, allow_python: bool = False, limits: Limits | None = None) -> Scenario:
    """The scenario of a name or file."""
    return Scenario.from_file(path_of(name), allow_python=allow_python, limits=limits or Limits())


def list_all(*, as_json: bool) -> None:
    """Print the scenarios that come with groupsim."""
    found = [Scenario.from_file(path) for path in shipped().values()]
    if as_json:
        print_json([_listed(each) for each in found])
        return
    voice = Voice()
    for each in found:
        voice.line(each.name, style="bold")
        voice.line(f"  {each.question or each.title}")
        if each.variants:
            voice.line(f"  variants: {', '.join(each.variant_names)}")
    voice.say("\ngroupsim show NAME explains one, groupsim run NAME plays it")


def _listed(scenario: Scenario) -> dict[str, Any]:
    return {
        "name": scenario.name,
        "title": scenario.title,
        "question": scenario.question,
        "variants": list(scenario.variant_names),
    }


def explain(scenario: Scenario) -> None:
    """Print a scenario in words."""
    Voice().lines(told_scenario(scenario))


def print_file(name: str) -> None:
    """Print the file of a scenario as it is."""
    Voice().line(path_of(name).read_text(encoding="utf-8").rstrip())


def print_as_json(scenario: Scenario) -> None:
    """Print what `list` says of a scenario, all that its file says, and both in words."""
    said = {"scenario": scenario.to_dict(), "text": list(told_scenario(scenario))}
    print_json(_listed(scenario) | said)


def check(file: Path, *, allow_python: bool, limits: Limits, as_json: bool) -> bool:
    """Print every mistake of a file; True if there is none."""
    try:
        scenario = load(str(file), allow_python=allow_python, limits=limits)
    except ScenarioError as error:
        if not as_json:
            raise
        _print_mistakes(file, error.mistakes)
        return False
    if as_json:
        _print_mistakes(file, ())
        return True
    variants = scenario.variant_names
    Voice().line(f"{file} is a scenario with {counted(len(variants), 'run')}: {listed(variants)}")
    return True


def _print_mistakes(file: Path, mistakes: Sequence[Mistake]) -> None:
    found = [asdict(mistake, filter=lambda each, _: each.name != "place") for mistake in mistakes]
    print_json({"file": str(file), "valid": not mistakes, "mistakes": found})


def init(file: Path) -> None:
    """Write a commented starter file, never over another, whole or not at all."""
    text = STARTER.read_text(encoding="utf-8")
    try:
        opened = file.open("x", encoding="utf-8")
    except FileExistsError as error:
        raise SimulationError(f"{file} exists already, and is not written over") from error
    try:
        with opened as out:
            out.write(text)
    except OSError as error:
        file.unlink()
        error.filename = str(file)
        raise
    Voice().say(f"{file} is there: groupsim run {file} plays it, groupsim show {file} explains it")
