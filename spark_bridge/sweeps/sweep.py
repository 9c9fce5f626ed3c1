"""A sweep: which settings of a scenario are played, each with every seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, ClassVar, Self

from attrs import asdict, field, frozen

from simulation.scenarios import Limits, Scenario
from simulation.scenarios.grids import Axis
from spark_bridge import schemas
from spark_bridge.sweeps.plan import Plan


@frozen(kw_only=True)
class Sweep(Plan):
    """What is played: every setting with every seed."""

    WORD: ClassVar = "sweep"
    FILE: ClassVar = "sweep.json"
    ROWS: ClassVar = schemas.SWEEP_RESULTS
    SEEDS: ClassVar = "--seeds"
    CALLED: ClassVar = {
        "scenario": "the scenario",
        "variants": "--variant",
        "axes": "--vary",
        "first_seed": "--seed",
        "limits": "--max-...",
        "allow_python": "--allow-python",
        "keeps_events": "--keep-events",
        "versions": "the version of groupsim",
    }

    #: In the form of a file, with the variants that are wanted.
    scenario: Mapping[str, Any]
    variants: Sequence[str]
    #: The texts of the values to try, by the paths where.
    axes: Mapping[str, Sequence[str]]
    limits: Mapping[str, int]
    allow_python: bool = False
    keeps_events: bool = False
    #: What it was asked for by, to repeat one of its runs: a name or a file, and `--set`.
    source: str = field(default="", eq=False)
    changes: Sequence[str] = field(factory=list, eq=False)

    @classmethod
    def of(  # noqa: PLR0913 - each is named where it is called
        cls,
        scenario: Scenario,
        axes: Sequence[Axis],
        *,
        seeds: int,
        first_seed: int | None = None,
        limits: Limits | None = None,
        allow_python: bool = False,
        keeps_events: bool = False,
    ) -> Self:
        """The sweep of a scenario over some axes."""
        return cls(
            scenario=scenario.to_dict(),
            variants=list(scenario.variant_names),
            axes={axis.path: list(axis.texts) for axis in axes},
            first_seed=scenario.seed if first_seed is None else first_seed,
            seeds=seeds,
            limits=asdict(limits or Limits()),
            allow_python=allow_python,
            keeps_events=keeps_events,
        )

    @property
    def settings(self) -> int:
        """How many settings it has."""
        return len(self.variants) * prod(len(values) for values in self.axes.values())
