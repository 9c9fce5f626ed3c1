"""Scenario: a frozen value that says everything a run depends on but its seed's dice.

It is read from YAML or built in Python; both are the same value, and each can be written as the
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from attrs import evolve, field, frozen

from simulation.scenarios.documents import Document, parse, write
from simulation.scenarios.expectations import Expected, expected
from simulation.scenarios.limits import USUAL, Limits
from simulation.scenarios.mistakes import Mistake, ScenarioError
from simulation.scenarios.parts import Cluster, Group, says
from simulation.scenarios.playing import PlayOptions, play, simulation_of
from simulation.scenarios.reading import Overriding, Reader, document_of
from simulation.scenarios.results import RunResult
from simulation.scenarios.script import Entry
from simulation.scenarios.structuring import structure, unstructure
from simulation.scenarios.values import Name, SomeMs, Whole, name, some_time, whole
from simulation.world import Simulation


def _expected(value: str | Sequence[str]) -> tuple[Expected, ...]:
    return tuple(map(expected, [value] if isinstance(value, str) else value))


def _cluster(value: Cluster | Mapping[str, Any]) -> Cluster:
    return value if isinstance(value, Cluster) else _read({"cluster": value}).cluster


def _groups(value: Mapping[str, Group | Mapping[str, Any]]) -> Mapping[str, Group]:
    plain = {each: group for each, group in value.items() if not isinstance(group, Group)}
    found = {**value, **(_read({"groups": plain}).groups if plain else {})}
    return {name(each): group for each, group in found.items() if isinstance(group, Group)}


def _entries(value: Iterable[Entry | Mapping[str, Any]]) -> tuple[Entry, ...]:
    entries = tuple(value)
    if not all(isinstance(each, Entry) for each in entries):
        return _read({"script": unstructure(list(entries))}).script
    return tuple(each for each in entries if isinstance(each, Entry))


def _read(plain: Mapping[str, Any]) -> Scenario:
    """What plain data in the form of a file says, for whoever builds a scenario in Python of it."""
    found = structure(Document("Scenario", dict(plain)), Scenario)
    if found.mistakes or found.value is None:
        raise ScenarioError(found.mistakes)
    return found.value


def _variants(value: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    return {name(each): dict(changes) for each, changes in value.items()}


def _last(own: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A variant's own changes, and behind them those that it must not take back."""
    return {path: value for path, value in own.items() if path not in overrides} | dict(overrides)


@frozen(kw_only=True)
class Scenario:
    """Who is there, what happens to them, how long, and what is expected of it."""

    name: Name = field(
        default=Name("scenario"),
        converter=name,
        metadata=says("what it is called; without it, as its file"),
    )
    title: str = field(default="", metadata=says("what it is about, in a line"))
    question: str = field(default="", metadata=says("what it answers"))
    seed: Whole = field(default=Whole(0), converter=whole, metadata=says("of all its chance"))
    cluster: Cluster = field(
        factory=Cluster, converter=_cluster, metadata=says("brokers, topics and their traffic")
    )
    groups: Mapping[str, Group] = field(
        factory=dict, converter=_groups, metadata=says("consumer groups by name")
    )
    script: tuple[Entry, ...] = field(
        default=(), converter=_entries, metadata=says("what happens, and when")
    )
    run_for: SomeMs = field(
        default=SomeMs(300_000), converter=some_time, metadata=says("how long it runs")
    )
    expect: tuple[Expected, ...] = field(
        default=(), converter=_expected, metadata=says("what must hold at the end")
    )
    never_settles: str = field(
        default="",
        metadata=says("why its groups need not come to rest; without a reason, they must"),
    )
    variants: Mapping[str, Mapping[str, Any]] = field(
        factory=dict,
        converter=_variants,
        metadata=says("runs to compare: for each, other values by their paths"),
    )

    # --- from files and back ---

    @classmethod
    def from_file(
        cls, path: Path | str, *, allow_python: bool = False, limits: Limits = USUAL
    ) -> Scenario:
        """The scenario of a YAML file; a `ScenarioError` lists every mistake in it."""
        reader = Reader(kind=cls, limits=limits, allow_python=allow_python)
        return reader.read(document_of(Path(path), limits))

    @classmethod
    def from_yaml(
        cls,
        text: str,
        *,
        file: str = "scenario",
        allow_python: bool = False,
        limits: Limits = USUAL,
    ) -> Scenario:
        """The scenario of a YAML text; `file` is what mistakes call it."""
        reader = Reader(kind=cls, limits=limits, allow_python=allow_python)
        return reader.read(parse(text, file, limits))

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        *,
        file: str = "scenario",
        allow_python: bool = False,
        limits: Limits = USUAL,
    ) -> Scenario:
        """The scenario of plain data, in the form of a file."""
        reader = Reader(kind=cls, limits=limits, allow_python=allow_python)
        return reader.read(Document(file, dict(data)))

    def to_dict(self) -> dict[str, Any]:
        """As plain data, in the form of a file; what is as usual is left out."""
        found: dict[str, Any] = unstructure(self)
        return found

    def to_yaml(self) -> str:
        """As the text of a file that reads as the same scenario."""
        return write(self.to_dict())

    # --- others like it ---

    @property
    def variant_names(self) -> tuple[str, ...]:
        """What there is to run: the variants, or the scenario itself if it has none."""
        return tuple(self.variants) or (self.name,)

    def variant(self, name: str, *, allow_python: bool = False, limits: Limits = USUAL) -> Scenario:
        """The scenario as one of its variants has it, without any variants."""
        if name not in self.variant_names:
            known = ", ".join(self.variant_names)
            raise ValueError(f"variant must be one of {known}, not {name!r}")
        changes = self.variants.get(Name(name), {})
        return evolve(self, variants={}).with_overrides(
            changes, allow_python=allow_python, limits=limits
        )

    def with_overrides(
        self,
        overrides: Mapping[str, Any],
        *,
        variants: Iterable[str] | None = None,
        called: str = "override",
        allow_python: bool = False,
        limits: Limits = USUAL,
    ) -> Scenario:
        """The scenario with other values by their paths: `{"groups.checkout.static": True}`.

        No variant takes them back. `variants` are those that are wanted, all without it; the
        result has no others, and each of them can be played. `called` is what mistakes call an
        override.
        """
        chosen = {
            each: changes
            for each, changes in self.variants.items()
            if variants is None or each in variants
        }
        overriding = Overriding(
            document=Document(self.name, self.to_dict()),
            variants=chosen,
            called=called,
            reader=Reader(kind=type(self), limits=limits, allow_python=allow_python),
        )
        return evolve(
            overriding.scenario(overrides),
            variants={each: _last(own, overrides) for each, own in chosen.items()},
        )

    # --- letting it happen ---

    def play(self, **options: Unpack[PlayOptions]) -> RunResult:
        """Play it, or one of its variants, and say what came of it."""
        return play(self, **options)

    def simulation(
        self, *, variant: str | None = None, seed: int | None = None, allow_python: bool = False
    ) -> Simulation:
        """Its world with the script in place, at time 0; rows stay in memory."""
        return simulation_of(self, variant=variant, seed=seed, allow_python=allow_python)


def validate(
    path: Path | str, *, allow_python: bool = False, limits: Limits = USUAL
) -> tuple[Mistake, ...]:
    """Every mistake in a file and in its variants; none if it can be played."""
    try:
        Scenario.from_file(path, allow_python=allow_python, limits=limits)
    except ScenarioError as error:
        return error.mistakes
    return ()
