"""What the pytest plugin hands out, and how it tells a failing test what happened in it.

A `Playbill` keeps what one test made last: its coordinator, its simulations, runs of its scenarios.
Each is told as a story, in the words of `groupsim timeline`.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Unpack

from attrs import define, evolve, field, frozen

from coordinator import GroupConfig
from groupsim.commands.running import Wish
from groupsim.commands.shipped import shipped
from groupsim.coordinator_under_test import CoordinatorUnderTest
from simulation.events import Row
from simulation.recorder import MemorySink, Sink
from simulation.scenarios import RunResult, Scenario
from simulation.scenarios.mistakes import did_you_mean, nearest_to, printable
from simulation.scenarios.playing import PlayOptions, seed_of, variant_of
from simulation.sentences import Names, in_time
from simulation.timeline import Line, Window, is_told, lines, page
from simulation.world import Simulation

__all__ = ["CoordinatorUnderTest", "Playbill", "ScenarioUnderTest"]

#: A test may play many times; this many of the last are told, and kept until then.
_ACTS_TOLD = 2
_DELAYS = {"group_initial_rebalance_delay_ms", "group.initial.rebalance.delay.ms"}


class Act(Protocol):
    """Something that happened in a test."""

    @property
    def title(self) -> str:
        """What it was, in a line."""

    def story(self, lines_max: int) -> Iterator[str]:
        """How it went, up to the moment that matters."""


@define(eq=False, kw_only=True)
class Playbill:
    """What one test made with its fixtures."""

    #: What repeats the test.
    command: str
    #: Where that is called from.
    folder: Path
    _acts: deque[Act] = field(factory=lambda: deque(maxlen=_ACTS_TOLD), init=False)

    def add(self, act: Act) -> None:
        """Keep this, to be told if the test fails."""
        self._acts.append(act)

    def told(self, lines_max: int) -> Iterator[tuple[str, str]]:
        """A title and a text for each of the last acts."""
        for act in self._acts:
            text = [*act.story(lines_max), f"to repeat it: {self.command}"]
            yield printable(f"groupsim: {act.title}"), "\n".join(map(printable, text))

    def coordinator(self, settings: Mapping[str, object]) -> CoordinatorUnderTest:
        """A coordinator whose first rebalances do not wait, unless its settings say so."""
        config = GroupConfig.from_properties(settings)
        if not _DELAYS & settings.keys():
            config = evolve(config, group_initial_rebalance_delay_ms=0)
        broker = CoordinatorUnderTest(config)
        self.add(_Conversation(broker))
        return broker

    def simulation(self, seed: int, settings: Mapping[str, object]) -> Simulation:
        """A world with nobody in it."""
        sim = Simulation(seed=seed, group_config=GroupConfig.from_properties(settings))
        self.add(_World(sim, "simulation"))
        return sim

    def scenario(self, file: Path, *, seed: int | None, allow_python: bool) -> ScenarioUnderTest:
        """The scenario of a file, or the one of that name that comes with groupsim."""
        known = shipped()
        ours = None if file.exists() else known.get(file.name)
        if ours is None and not file.exists() and not file.suffix:
            hint = did_you_mean(nearest_to(file.name, known))
            raise FileNotFoundError(f"there is no scenario {file.name} and no file {file}{hint}")
        return ScenarioUnderTest(
            scenario=Scenario.from_file(ours or file, allow_python=allow_python),
            name=file.name if ours else os.path.relpath(file, self.folder),
            seed=seed,
            allow_python=allow_python,
            playbill=self,
        )


@frozen(kw_only=True)
class ScenarioUnderTest:
    """A scenario that is played with a test's seed; if the test fails, the run is told."""

    scenario: Scenario
    #: Its file, as a command names it.
    name: str
    #: None: the scenario's own.
    seed: int | None
    allow_python: bool
    playbill: Playbill = field(repr=False)
    overrides: Mapping[str, Any] = field(factory=dict)

    @property
    def variant_names(self) -> tuple[str, ...]:
        """What there is to play: the variants, or the scenario itself if it has none."""
        return self.scenario.variant_names

    def with_overrides(self, overrides: Mapping[str, Any]) -> ScenarioUnderTest:
        """The same with other values by their paths, which no variant takes back."""
        changed = self.scenario.with_overrides(overrides, allow_python=self.allow_python)
        return evolve(self, scenario=changed, overrides={**self.overrides, **overrides})

    def play(self, **options: Unpack[PlayOptions]) -> RunResult:
        """Play it, or one of its variants, to its end; `held` of the result says how it went."""
        if options.get("seed") is None:
            options["seed"] = self.seed
        options.setdefault("allow_python", self.allow_python)
        run = _Run(
            scenario=self,
            variant=variant_of(self.scenario, options.get("variant")),
            seed=seed_of(self.scenario, options["seed"]),
            watched=options.get("sink"),
        )
        self.playbill.add(run)
        options["sink"] = run
        run.result = self.scenario.play(**options)
        return run.result

    def simulation(self, variant: str | None = None) -> Simulation:
        """Its world at time 0, with the script in place, for a test that looks in between."""
        sim = self.scenario.simulation(variant=variant, seed=self.seed)
        self.playbill.add(_World(sim, self.name))
        return sim

    def command(self, variant: str, seed: int) -> str:
        """What plays it outside the test, and keeps the recording."""
        changes = [f"{path}={json.dumps(value)}" for path, value in self.overrides.items()]
        wish = Wish(scenario=self.name, changes=changes, allow_python=self.allow_python)
        return f"{wish.command(variant, seed)} --out runs"


# --- what is told of each ---


@frozen
class _Conversation:
    """A coordinator, and what it was asked."""

    broker: CoordinatorUnderTest

    @property
    def title(self) -> str:
        return f"group_coordinator, at {in_time(self.broker.now_ms)}"

    def story(self, lines_max: int) -> Iterator[str]:
        rows = self.broker.rows
        return _last(rows, rows, lines_max)


@frozen
class _World:
    """A simulation that the test drives itself."""

    sim: Simulation
    name: str

    @property
    def title(self) -> str:
        return f"{self.name}, seed {self.sim.seed}, at {in_time(self.sim.now_ms)}"

    def story(self, lines_max: int) -> Iterator[str]:
        # Not `sim.events`: a world that broke down in the middle of a step is only looked at.
        assert isinstance(self.sim.sink, MemorySink)
        rows = self.sim.sink.rows
        return _last(rows, filter(is_told, rows), lines_max)


@define(eq=False, kw_only=True)
class _Run:
    """A scenario that is played to its end, and what it has told so far."""

    scenario: ScenarioUnderTest
    variant: str
    seed: int
    #: Where the test itself wants the rows.
    watched: Sink | None
    result: RunResult | None = field(default=None, init=False)
    _rows: list[Row] = field(factory=list, init=False)

    def take(self, row: Row) -> None:
        """Keep this row, and pass it on."""
        self._rows.append(row)
        if self.watched is not None:
            self.watched.take(row)

    @property
    def title(self) -> str:
        at_ms = self._rows[-1].at_ms if self._rows else 0
        is_one_of_several = len(self.scenario.variant_names) > 1
        variant = f" ({self.variant})" if is_one_of_several else ""
        return f"{self.scenario.name}{variant}, seed {self.seed}, up to {in_time(at_ms)}"

    def story(self, lines_max: int) -> Iterator[str]:
        window = None
        if self.result is not None:
            yield from _broken(self.result)
            window = _window_of(self.result)
        yield from _last(self._rows, filter(is_told, self._rows), lines_max, window)
        yield f"to look closer: {self.scenario.command(self.variant, self.seed)}"


def _broken(result: RunResult) -> Iterator[str]:
    """What did not hold, and when."""
    for each in result.expectations:
        if not each.holds:
            moment = result.moment_of(each)
            where = "" if moment is None else f": look at {moment}"
            # A sum of seconds has digits that mean nothing.
            figure = round(each.figure, 3) if isinstance(each.figure, float) else each.figure
            yield f"expected {each.text}, but it is {figure}{where}"
    yield from map(str, result.violations)


def _window_of(result: RunResult) -> Window | None:
    """The part of a run that shows why it did not hold; None if its end does."""
    if result.violations:
        return Window(from_ms=(at_ms := min(each.at_ms for each in result.violations)), to_ms=at_ms)
    moments = [moment for each in result.expectations if (moment := result.moment_of(each))]
    if not moments:
        return None
    from_ms, to_ms = moments[0].around
    return Window(from_ms=from_ms, to_ms=to_ms, group=moments[0].group)


def _last(
    rows: Sequence[Row], told: Iterable[Row], lines_max: int, window: Window | None = None
) -> Iterator[str]:
    """The last lines of a story, or those that end with a window; `told` are its rows."""
    names = Names.of(rows)
    until = Window() if window is None else evolve(window, from_ms=0)
    found = lines(told, names, until, [row.cause for row in rows])
    if not found:
        yield "nothing had happened"
        return
    head, tail = _head_and_tail(found, window, lines_max)
    count = len(head) + len(tail)
    if count < len(found):
        which = "the last" if until.to_ms is None else f"up to {in_time(until.to_ms)},"
        yield f"{which} {count} of {len(found)} lines:"
    if count:
        heading, *texts = page([*head, *tail], rows, names)
        left_out = ["..."] if head else []
        yield from (heading, *texts[: len(head)], *left_out, *texts[len(head) :])


def _head_and_tail(
    found: list[Line], window: Window | None, lines_max: int
) -> tuple[list[Line], list[Line]]:
    """The last lines; but of a window with too much in it, how it begins and how it ends."""
    begins = 0 if window is None else sum(line.at_ms < window.from_ms for line in found)
    if window is None or len(found) - begins <= lines_max:
        return [], found[max(0, len(found) - lines_max) :]
    half = lines_max // 2
    return found[begins : begins + half], found[len(found) - (lines_max - half) :]
