"""`sweep`: a scenario in many settings with many seeds, on Spark, and which setting to take."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from groupsim.commands.failures import Terminated
from groupsim.commands.on_spark import (
    doing,
    needing_spark,
    refuse_two_places,
    session_at,
    session_to_play_at,
)
from groupsim.commands.progress import Reporter, told_runs
from groupsim.commands.running import Wish, ending_well, resolved
from groupsim.commands.sweep_questions import (
    Asked,
    Questions,
    all_read,
    remember,
    remembered,
    understood,
)
from groupsim.commands.sweep_summary import print_answer
from groupsim.commands.voice import Voice, print_json
from simulation.errors import SimulationError
from simulation.scenarios import Limits, Scenario
from simulation.scenarios.grids import Axis, Setting, parse_axis, settings_of
from simulation.scenarios.mistakes import Mistake, ScenarioError
from simulation.sentences import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_bridge.sweeps.folder import Folder
    from spark_bridge.sweeps.sweep import Sweep

#: For each setting, unless told.
USUAL_SEEDS = 100


@frozen(kw_only=True)
class SweepWish:
    """What was asked of `sweep`."""

    #: None asks only of what has been played.
    scenario: str | None
    out: Path
    axes: Sequence[str] = ()
    seeds: int | None = None
    first_seed: int | None = None
    variants: Sequence[str] = ()
    changes: Sequence[str] = ()
    keeps_events: bool = False
    master: str | None = None
    remote: str | None = None
    allow_python: bool = False
    limits: Limits = field(factory=Limits)
    asked: Asked = field(factory=Asked)


def sweep(wish: SweepWish, *, is_json: bool) -> bool:
    """Play what is missing and answer; True if every gate holds and no run has failed."""
    voice = Voice()
    refuse_two_places(wish.master, wish.remote)
    questions = understood(wish.asked)
    grid = _grid(wish)
    with needing_spark("sweep"), ending_well():
        answer = _answer(voice, wish, questions, grid)
    if is_json:
        print_json(answer)
    else:
        print_answer(voice, answer)
    return not answer["failed"] and all(gate["holds"] for gate in answer["gates"])


@frozen
class Grid:
    """What is to be played, tried and found good."""

    scenario: Scenario
    axes: Sequence[Axis]
    settings: Sequence[Setting]


def _grid(wish: SweepWish) -> Grid | None:
    """The grid that is asked for, all of it tried; None if nothing is to be played."""
    if wish.scenario is None:
        _refuse_flags_of_a_grid(wish)
        return None
    mistakes: list[Mistake] = []
    axes = list(all_read("--vary", wish.axes, parse_axis, mistakes))
    changed = [change.partition("=")[0].strip() for change in wish.changes]
    mistakes += [
        Mistake(file=f"--vary {axis.path}", found="--set has it too", allowed="choose one of them")
        for axis in axes
        if axis.path in changed
    ]
    if mistakes:
        raise ScenarioError(mistakes)
    scenario = resolved(
        Wish(
            scenario=wish.scenario,
            variants=wish.variants,
            changes=wish.changes,
            allow_python=wish.allow_python,
            limits=wish.limits,
        )
    )
    settings = settings_of(scenario, axes, allow_python=wish.allow_python, limits=wish.limits)
    return Grid(scenario, axes, settings)


def _refuse_flags_of_a_grid(wish: SweepWish) -> None:
    flags = {
        "--vary": wish.axes,
        "--seeds": wish.seeds,
        "--seed": wish.first_seed,
        "--variant": wish.variants,
        "--set": wish.changes,
        "--keep-events": wish.keeps_events,
    }
    if given := [flag for flag, value in flags.items() if value]:
        raise SimulationError(
            f"{', '.join(given)}: say which scenario to play; without one, only what has been"
            f" played into {wish.out} is asked"
        )


def _answer(
    voice: Voice, wish: SweepWish, questions: Questions, grid: Grid | None
) -> dict[str, Any]:
    from groupsim.commands.sweep_answers import answered  # noqa: PLC0415 - it needs Spark
    from spark_bridge.sweeps.folder import gone_on_with, read_folder  # noqa: PLC0415 - the same
    from spark_bridge.sweeps.sweep import Sweep  # noqa: PLC0415 - the same

    if grid is None:
        folder = read_folder(wish.out, Sweep)
        spark = session_at(voice, wish.master, wish.remote)
    else:
        sweep = _sweep(wish, grid)
        gone_on_with(wish.out, sweep)  # before Spark is started for nothing
        spark = session_to_play_at(voice, wish.master, wish.remote)
        folder = _played(voice, sweep, wish.out, grid.settings, spark)
    kept, runs = folder.runs_kept(), folder.plan.runs
    if not kept:
        raise SimulationError(f"no run of {wish.out} has been played yet")
    if kept < runs:
        voice.say(f"{runs - kept:,} of {runs:,} runs are missing: the sweep's own command goes on")
    with doing(voice, f"asking {counted(kept, 'run')}"):
        answer = answered(spark, folder, questions)
    if wish.asked != Asked():
        remember(wish.asked, wish.out)
    return answer


def answer_for_a_page(voice: Voice, path: Path) -> dict[str, Any]:
    """What a page or a picture of a sweep tells: the answers to what it was asked last."""
    questions = understood(remembered(path))
    with needing_spark("the report of a sweep"):
        from groupsim.commands.sweep_answers import answered_for_a_page  # noqa: PLC0415 - as above
        from spark_bridge.sweeps.folder import read_folder  # noqa: PLC0415 - the same
        from spark_bridge.sweeps.sweep import Sweep  # noqa: PLC0415 - the same

        folder = read_folder(path, Sweep)
        if not folder.chunks():
            raise SimulationError(f"no run of {path} has been played yet")
        spark = session_at(voice, None, None)
        with doing(voice, f"asking {counted(folder.runs_kept(), 'run')}"):
            return answered_for_a_page(spark, folder, questions)


def _sweep(wish: SweepWish, grid: Grid) -> Sweep:
    from spark_bridge.sweeps.folder import read_folder  # noqa: PLC0415 - it needs Spark
    from spark_bridge.sweeps.sweep import Sweep  # noqa: PLC0415 - the same

    seeds = wish.seeds
    if seeds is None and (wish.out / Sweep.FILE).exists():
        seeds = read_folder(wish.out, Sweep).plan.seeds
    sweep = Sweep.of(
        grid.scenario,
        grid.axes,
        seeds=seeds or USUAL_SEEDS,
        first_seed=wish.first_seed,
        limits=wish.limits,
        allow_python=wish.allow_python,
        keeps_events=wish.keeps_events,
    )
    return evolve(sweep, source=str(wish.scenario), changes=list(wish.changes))


def _played(
    voice: Voice, sweep: Sweep, out: Path, settings: Sequence[Setting], spark: SparkSession
) -> Folder[Sweep]:
    from spark_bridge.sweeps.folder import at_work  # noqa: PLC0415 - it needs Spark
    from spark_bridge.sweeps.plan import usual_chunk  # noqa: PLC0415 - the same
    from spark_bridge.sweeps.running import cores_of, play_missing, task_of  # noqa: PLC0415 - the same

    cores = cores_of(spark)
    name = sweep.scenario["name"]
    sweep = evolve(sweep, runs_per_chunk=usual_chunk(sweep.runs, cores))
    with at_work(out, sweep) as workshop:
        folder = workshop.folder
        kept = folder.runs_kept()
        voice.say(
            f"{name}: {counted(sweep.settings, 'setting')}, seeds"
            f" {sweep.first_seed} to {sweep.first_seed + sweep.seeds - 1}, {sweep.runs:,} runs"
            + (f"; {kept:,} of them are in {out} already" if kept else "")
        )
        playing = play_missing(spark, workshop, task_of(folder, settings), cores)
        try:
            with Reporter(voice.talk, name, told_runs) as progress, closing(playing):
                for _ in playing:
                    progress(folder.runs_kept() - kept, sweep.runs - kept)
        except (KeyboardInterrupt, Terminated):
            voice.say(
                f"{folder.runs_kept():,} of {sweep.runs:,} runs are kept in {out};"
                " the same command goes on"
            )
            raise
    return folder
