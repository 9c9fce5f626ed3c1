"""Lets a scenario happen in a world, under all checkers, and says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

from attrs import define, field, frozen

from client.settings import ConsumerConfig, consumer_config
from coordinator import GroupConfig
from simulation.chance import draw, stream_key, wait_ms
from simulation.checkers import Patience, Watch
from simulation.errors import SimulationError
from simulation.events import Row, WorldEventKind
from simulation.measures import Measurer
from simulation.recorder import MemorySink, Sink
from simulation.scenarios.company import Company
from simulation.scenarios.crews import Person, roster_of
from simulation.scenarios.disturbances import CrashBroker, MoveCoordinator, RestartBroker
from simulation.scenarios.expectations import GroupAtEnd, judge
from simulation.scenarios.limits import USUAL, Limits
from simulation.scenarios.parts import App
from simulation.scenarios.processes import Processes
from simulation.scenarios.results import Failure, RunResult
from simulation.scenarios.script import Entry
from simulation.scenarios.settings import ASSIGNORS, is_python
from simulation.scenarios.stagehands import Stagehands
from simulation.stage import Quiet
from simulation.world import Detail, Simulation

if TYPE_CHECKING:
    from simulation.scenarios.scenario import Scenario

#: Hears how far a run has come: the virtual time now, and at its end.
Progress = Callable[[int, int], object]

#: So often progress is told, however little happens,
_TELLS = 200
#: and again after so many rows, however little time passes.
_ROWS_PER_TELL = 1_000
_A_STAND_IN = "range"
_STOPPED = WorldEventKind.CONSUMER_STOPPED.value


class PlayOptions(TypedDict, total=False):
    """What can be chosen about a run besides the scenario."""

    #: Which variant; a scenario with several needs to be told.
    variant: str | None
    #: Instead of the scenario's own.
    seed: int | None
    #: What the run is called in its rows; without it, by scenario, variant and seed.
    run: str | None
    #: Where the rows go.
    sink: Sink | None
    quiet: Quiet
    detail: Detail
    progress: Progress | None
    limits: Limits
    allow_python: bool


class TooManyEvents(SimulationError):
    """A run tells more than the limit allows; raise the limit, or let less happen."""


@define(eq=False)
class _Audience:
    """Everybody who sees the rows of a run; it leaves when there are too many of them."""

    sinks: tuple[Sink, ...]
    events_max: int
    #: Is told now and then at which time of the run the rows have arrived.
    tell: Callable[[int], object]
    failures: list[Failure] = field(factory=list, init=False)
    _pauses_at: int = field(default=0, init=False)

    def take(self, row: Row) -> None:
        """Show a row to everybody."""
        if row.seq >= self._pauses_at:
            self._pause(row)
        if row.kind == _STOPPED and row.error:
            self.failures.append(_failure(row, row.error))
        for sink in self.sinks:
            sink.take(row)

    def _pause(self, row: Row) -> None:
        if row.seq > self.events_max:
            raise TooManyEvents(
                f"more than {self.events_max} events by {row.at_ms} ms of virtual time;"
                " --max-events N raises this limit"
            )
        self.tell(row.at_ms)
        self._pauses_at = min(row.seq + _ROWS_PER_TELL, self.events_max + 1)


def _failure(row: Row, error: str) -> Failure:
    return Failure(
        group=row.group or "",
        client=row.client or "",
        at_ms=row.at_ms,
        error=error,
        why=row.detail,
    )


@frozen(kw_only=True)
class Staged:
    """A world with its script in place, at time 0."""

    sim: Simulation
    company: Company


def stage(  # noqa: PLR0913 (each is named where it is called)
    scenario: Scenario,
    *,
    seed: int,
    run: str,
    sink: Sink,
    quiet: Quiet = "skip",
    detail: Detail = "folded",
    topics: dict[str, str] | None = None,
) -> Staged:
    """Everything that the scenario says, ready to happen; `topics` learns who wants which."""
    cluster = scenario.cluster
    sim = Simulation(
        seed=seed,
        brokers=cluster.brokers,
        quiet=quiet,
        detail=detail,
        title=scenario.title,
        run=run,
        latency=cluster.latency,
        group_config=GroupConfig(**cluster.settings),
        sink=sink,
        app_errors="record",
    )
    company = Company(sim, topics={} if topics is None else topics)
    hands = Stagehands(sim, company, Processes(sim, company))
    for name, topic in cluster.topics.items():
        hands.create(name, topic)
    for person in people_of(scenario):
        company.hire(person)
        if person.starts_at_ms is not None:
            sim.at(person.starts_at_ms, partial(company.start, person.name))
    for n, entry in enumerate(scenario.script):
        _Cue(sim, hands, entry, n, scenario.run_for).arrange()
    return Staged(sim=sim, company=company)


def people_of(scenario: Scenario) -> list[Person]:
    """All who are there from the start, group by group."""
    topics = tuple(scenario.cluster.topics)
    return [
        person
        for name, group in scenario.groups.items()
        for person in roster_of(name, group, topics)
    ]


@define(eq=False)
class _Cue:
    """One entry of the script, waiting for its time."""

    sim: Simulation
    hands: Stagehands
    entry: Entry
    number: int
    end_ms: int
    _seen: int = 0
    _draws: int = field(default=0, init=False)

    def arrange(self) -> None:
        """Be there when it is time."""
        entry = self.entry
        if entry.at is not None:
            self.sim.at(entry.at, self._act)
        elif entry.every is not None:
            self._arrange_next(entry.begins, is_first=True)
        else:
            self.sim.stage.recorder.watchers.append(self._watch)

    def _act(self) -> None:
        try:
            undo = self.hands.do(self.entry.do)
        except SimulationError as error:
            error.add_note(f"asked for by script.{self.number}.{self.entry.verb}")
            raise
        if undo is not None and self.entry.lasts is not None:
            self.sim.after(self.entry.lasts, undo)

    def _act_again(self) -> None:
        self._act()
        self._arrange_next(self.sim.now_ms, is_first=False)

    def _arrange_next(self, after_ms: int, *, is_first: bool) -> None:
        every, until = self.entry.every, self.entry.until
        assert every is not None
        if every.is_about:
            stream = stream_key(self.sim.seed, f"script/{self.number}")
            self._draws += 1
            at_ms = after_ms + wait_ms(every.ms, draw(stream, self._draws))
        else:
            at_ms = after_ms if is_first and after_ms else after_ms + every.ms
        if at_ms <= (self.end_ms if until is None else until):
            self.sim.at(at_ms, self._act_again)

    def _watch(self, row: Row) -> None:
        on = self.entry.on
        assert on is not None
        if not on.matches(row, self.sim.leader):
            return
        self._seen += 1
        if self._seen >= on.nth:
            self.sim.after(on.after, self._act)
        if self._seen >= on.nth + on.times - 1:
            self.sim.stage.recorder.watchers.remove(self._watch)


def play(scenario: Scenario, **options: Unpack[PlayOptions]) -> RunResult:
    """Play a scenario, or one of its variants, from its beginning to its end.

    Its rows go to `sink`, its measures and what the checkers find into the result. A scenario with
    variants needs to be told which.
    """
    name = variant_of(scenario, options.get("variant"))
    limits = options.get("limits", USUAL)
    allow_python = options.get("allow_python", False)
    played = scenario.variant(name, allow_python=allow_python, limits=limits)
    seed = seed_of(scenario, options.get("seed"))
    measurer, topics = Measurer(), dict[str, str]()
    watch = Watch(patience=_patience(played, topics))
    sink = options.get("sink")
    sinks = (measurer, watch) if sink is None else (measurer, watch, sink)
    run = options.get("run") or run_name(scenario, name, seed)
    progress = options.get("progress") or _unheard
    audience = _Audience(sinks, limits.events, lambda at_ms: progress(at_ms, played.run_for))
    staged = stage(
        played,
        seed=seed,
        run=run,
        sink=audience,
        quiet=options.get("quiet", "skip"),
        detail=options.get("detail", "folded"),
        topics=topics,
    )
    _let_pass(staged.sim, played.run_for, progress)
    groups = {str(group): _at_end(staged.sim, group) for group in played.groups}
    staged.sim.end()
    measures = measurer.measures()
    return RunResult(
        scenario=played,
        variant=name,
        seed=seed,
        run=run,
        ended_ms=staged.sim.now_ms,
        events=staged.sim.stage.recorder.recorded,
        measures=measures,
        expectations=tuple(judge(text, measures, groups) for text in played.expect),
        violations=watch.violations,
        liveness=_liveness(played, watch, staged.sim.now_ms),
        failures=tuple(audience.failures),
        missed=tuple(staged.company.missed),
    )


def run_name(scenario: Scenario, variant: str, seed: int) -> str:
    """What a run is called in its rows."""
    which = scenario.name if variant == scenario.name else f"{scenario.name}-{variant}"
    return f"{which}-seed-{seed}"


def seed_of(scenario: Scenario, seed: int | None) -> int:
    """The seed that was asked for, or the scenario's own."""
    return scenario.seed if seed is None else seed


def variant_of(scenario: Scenario, variant: str | None) -> str:
    """The variant that was asked for, or the only one there is."""
    if variant is None:
        if len(scenario.variant_names) > 1:
            names = ", ".join(scenario.variant_names)
            raise ValueError(f"{scenario.name} has variants: choose one of {names}")
        return scenario.variant_names[0]
    return variant


def _unheard(_now_ms: int, _end_ms: int) -> None:
    """Nobody wants to hear of progress."""


def _let_pass(sim: Simulation, run_for_ms: int, progress: Progress) -> None:
    """Let the whole time pass; in steps, if somebody wants to hear of them."""
    if progress is _unheard:
        sim.run_for(run_for_ms)
        return
    progress(0, run_for_ms)
    for n in range(1, _TELLS + 1):
        sim.run_for(run_for_ms * n // _TELLS - sim.now_ms)
        progress(sim.now_ms, run_for_ms)


def _at_end(sim: Simulation, group: str) -> GroupAtEnd:
    found = sim.stage.group(group)
    if found is None:
        return GroupAtEnd("Dead", 0)
    return GroupAtEnd(found.state.value, len(found.members))


# --- what the checkers are told ---


def _patience(scenario: Scenario, topics: dict[str, str]) -> Patience | None:
    """How long groups may take to come to rest; None if they need not."""
    people = people_of(scenario)
    if scenario.never_settles or not people:
        return None
    loads = [
        entry.do.load
        for entry in scenario.script
        if isinstance(entry.do, CrashBroker | RestartBroker | MoveCoordinator)
    ]
    stalls = [stall.at + stall.lasts for app in _apps(scenario, people) for stall in app.stalls]
    return Patience.of(
        _configs(scenario, people),
        topics=topics,
        load_ms=max([1_000, *loads]) + max(stalls, default=0),
        brokers=tuple(range(1, scenario.cluster.brokers + 1)),
    )


def _apps(scenario: Scenario, people: Iterable[Person]) -> list[App]:
    later = [getattr(entry.do, "app", None) for entry in scenario.script]
    return [person.app for person in people] + [app for app in later if isinstance(app, App)]


def _configs(scenario: Scenario, people: list[Person]) -> list[ConsumerConfig]:
    """The settings of everybody, at first and after every change of the script."""
    changes = [getattr(entry.do, "settings", None) or {} for entry in scenario.script]
    all_of = {
        tuple(sorted(map(repr, found.settings.items()))): found
        for person in people
        for found in (person, *(person.changed(change, None) for change in changes))
    }
    return [_config(person) for person in all_of.values()]


def _config(person: Person) -> ConsumerConfig:
    given = {**person.config_settings(), "group_id": person.group}
    given.pop("bootstrap_servers", None)
    given[ASSIGNORS] = [each for each in given[ASSIGNORS] if not is_python(each)] or [_A_STAND_IN]
    return consumer_config(given)


def _liveness(scenario: Scenario, watch: Watch, ended_ms: int) -> str:
    if scenario.never_settles:
        return f"not asked for: {scenario.never_settles}"
    return watch.verdict(ended_ms) or "not asked for: there is no consumer"


def simulation_of(
    scenario: Scenario, *, variant: str | None, seed: int | None, allow_python: bool
) -> Simulation:
    """The scenario's world with its script in place, not run yet; its rows stay in memory."""
    name, chosen_seed = variant_of(scenario, variant), seed_of(scenario, seed)
    played = scenario.variant(name, allow_python=allow_python)
    run = run_name(scenario, name, chosen_seed)
    return stage(played, seed=chosen_seed, run=run, sink=MemorySink()).sim
