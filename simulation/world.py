"""Simulation: a cluster, its consumers and what happens to them, in virtual time.

The one object that a script holds. It says who is there (`topic`, `consumers`, `raw_member`), what
goes wrong and when (`crash` ... `restart`, `at`, `when`), lets time pass (`run_for`, `run_until`,
`run_until_stable`) and shows what came of it (`events`, `rebalances`). How the parts hang together
is in stage.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, get_args

from attrs import define, evolve, field

from client.applications import PollLoop
from client.membership import CloseOperation
from client.settings import consumer_config
from coordinator import GroupConfig, GroupState, IdSource, ListedIds
from simulation.arguments import (
    require_different,
    require_function,
    require_method,
    require_name,
    require_names,
    require_whole,
    require_yes_or_no,
)
from simulation.chance import LAN, Law
from simulation.collector import collecting_rarely
from simulation.consumer_book import Role
from simulation.consumer_host import ConsumerHost
from simulation.durations import Duration, milliseconds
from simulation.errors import SimulationError
from simulation.events import Row, WorldEventKind
from simulation.faults import Faults
from simulation.kernel import Rank, Turn
from simulation.liveness import Patience
from simulation.measures import Rebalance, measure
from simulation.planned_faults import Fault, require_operation
from simulation.programs import Application, PollLoopProgram, Program, UserProgram
from simulation.quiet import Lulls
from simulation.raw_member import RawMember
from simulation.recorder import MemorySink, Sink
from simulation.stage import FrozenClock, Quiet, Stage

__all__ = ["Action", "Application", "Detail", "Duration", "Fault", "Simulation"]

#: Whether what a member repeats is one row with a count, or a row each time.
Detail = Literal["folded", "full"]
#: What becomes of an exception that ends an application and should not have.
AppErrors = Literal["raise", "record"]
#: Something to do at a time or on an event.
Action = Callable[[], object]


class ConsumerOptions(TypedDict, total=False):
    """What can be said of a consumer besides its name and group."""

    topics: Sequence[str]
    #: Instead of topics: every topic whose name matches.
    pattern: str | None
    #: By Kafka's names, dotted or in snake case.
    settings: Mapping[str, object] | None
    #: A ready-made poll loop, or an async function that is given the consumer's calls.
    app: PollLoop | Application | None
    #: Whether its name is also its `group.instance.id`.
    static: bool
    #: Whether it begins now; True unless told otherwise.
    start: bool


@define(eq=False, kw_only=True)
class Simulation(Faults):
    """A world; the same calls with the same seed give the same rows."""

    seed: int = 0
    brokers: int = 3
    quiet: Quiet = "skip"
    #: With "full", everything is played and each heartbeat has a row of its own.
    detail: Detail = "folded"
    title: str = ""
    run: str = "run"
    latency: Law = LAN
    group_config: GroupConfig = field(factory=GroupConfig)
    #: The ids that coordinators hand out, in order, or where they come from; if not, the seed.
    member_ids: Sequence[str] | IdSource | None = None
    sink: Sink = field(factory=MemorySink)
    #: A freezegun clock, started by the caller, that shows the virtual time to callbacks.
    clock: FrozenClock | None = None
    #: Whether letting time pass raises what an application raised, or leaves it to its row.
    app_errors: AppErrors = "raise"
    #: What was said last of each consumer.
    _options: dict[str, ConsumerOptions] = field(factory=dict, init=False, repr=False)
    _scripted: int = field(default=0, init=False)
    _has_ended: bool = field(default=False, init=False)
    _is_playing: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        """Set the stage."""
        self._check()
        if isinstance(self.member_ids, Sequence):
            self.member_ids = ListedIds(tuple(self.member_ids))
        self.stage = Stage(
            seed=self.seed,
            broker_ids=tuple(range(1, self.brokers + 1)),
            quiet=self.quiet,
            title=self.title,
            run=self.run,
            law=self.latency,
            group_config=self.group_config,
            member_ids=self.member_ids,
            sink=self.sink,
            clock=self.clock,
        )
        self.stage.is_telling_failures = self.app_errors == "raise"
        self.stage.recorder.is_folding = self.detail == "folded"
        if self.quiet == "skip" and self.detail == "folded":
            self.stage.lulls = Lulls(self.stage)

    def _check(self) -> None:
        """Refuse what would be noticed late, or never."""
        require_whole("brokers", self.brokers, least=1)
        if type(self.seed) is not int:
            raise TypeError(f"seed must be a whole number, not {self.seed!r}")
        for name, allowed in (("quiet", Quiet), ("detail", Detail), ("app_errors", AppErrors)):
            if (value := getattr(self, name)) not in get_args(allowed):
                words = " or ".join(f'"{word}"' for word in get_args(allowed))
                raise ValueError(f"{name} must be {words}, not {value!r}")
        require_name("run", self.run)
        if not isinstance(self.title, str):
            raise TypeError(f"title must be a text, not {self.title!r}")
        if not isinstance(self.latency, Law):
            raise TypeError(f"latency must be a Law such as fixed(5), not {self.latency!r}")
        if not isinstance(self.group_config, GroupConfig):
            raise TypeError(f"group_config must be a GroupConfig, not {self.group_config!r}")
        require_method("sink", self.sink, "take", "a sink such as MemorySink()")
        if self.clock is not None:
            example = "what freeze_time(...) gives when it is started"
            require_method("clock", self.clock, "tick", example)
        if isinstance(self.member_ids, str | Sequence):
            require_names("member_ids", self.member_ids)
            require_different("member_ids", self.member_ids)
        elif self.member_ids is not None:
            require_method("member_ids", self.member_ids, "next_id", "a sequence of ids")

    def __repr__(self) -> str:
        who = ", ".join(self.stage.hosts) or "nobody"
        return f"<Simulation with {who}: seed {self.seed}, at {self.now_ms} ms>"

    # --- who is there ---

    def consumers(
        self, group: str, *names: str, **options: Unpack[ConsumerOptions]
    ) -> list[ConsumerHost]:
        """Consumers of one group, alike but for their names."""
        with collecting_rarely():
            return [self.consumer(name, group=group, **options) for name in names]

    def consumer(
        self, name: str, *, group: str, **options: Unpack[ConsumerOptions]
    ) -> ConsumerHost:
        """A consumer, begun now unless told otherwise."""
        stage = self.stage
        self._require_new(name, group)
        host = stage.add_consumer(self._role(name, group, len(stage.hosts) + 1, options))
        self._options[name] = options
        if options.get("start", True):
            host.start()
        return host

    def recast(self, name: str, **options: Unpack[ConsumerOptions]) -> None:
        """Give a consumer that does not run other options; what is not said stays as it was."""
        host = self.stage.host(name)
        if host.is_alive:
            raise ValueError(f"{name} is running; what it is changes only between its lives")
        before = self._options[name]
        if "topics" in options or "pattern" in options:
            # One takes the place of the other.
            before = {**before, "topics": (), "pattern": None}
        now: ConsumerOptions = {**before, **options}
        host.role = self._role(name, host.role.group, host.role.number, now)
        self._options[name] = now

    def _require_new(self, name: str, group: str) -> None:
        require_name("name", name)
        require_name("group", group)
        if self.stage.has_client(name):
            raise ValueError(f"there is a consumer or raw member {name!r} already")

    def _role(self, name: str, group: str, number: int, options: ConsumerOptions) -> Role:
        _check_options(options)
        given = dict(options.get("settings") or {})
        given.update({"client_id": name, "group_id": group})
        given["bootstrap_servers"] = self.stage.bootstrap_servers
        if options.get("static"):
            given["group_instance_id"] = name
        return Role(
            name=name,
            group=group,
            config=consumer_config(given),
            program=self._program(group, options),
            number=number,
            seed=self.seed,
        )

    def _program(self, group: str, options: ConsumerOptions) -> Program:
        app = options.get("app")
        if app is not None and not isinstance(app, PollLoop):
            return UserProgram(app)
        loop = PollLoop() if app is None else app
        if not (loop.topics or loop.pattern):
            topics = tuple(options.get("topics", ()))
            pattern = options.get("pattern")
            if not (topics or pattern):
                raise ValueError("a poll loop must be given topics or a pattern, not neither")
            loop = evolve(loop, topics=topics, pattern=pattern)
        return PollLoopProgram(loop, self.stage.results_of(group))

    def raw_member(self, name: str, group: str) -> RawMember:
        """A client that sends single requests by script, for ghosts and protocol abuse."""
        self._require_new(name, group)
        self.stage.raw_names.add(name)
        return RawMember(name=name, group=group, stage=self.stage)

    # --- when ---

    def at(self, time: Duration, action: Action) -> None:
        """Do this at that time."""
        at_ms = milliseconds(time)
        require_function("action", action)
        if at_ms < self.now_ms:
            raise ValueError(f"time must not be before the present, {self.now_ms} ms, not {time!r}")
        self._scripted += 1
        turn = Turn(at_ms, Rank.SCRIPT, "", "", self._scripted)
        self.stage.kernel.at(turn, partial(_do, action))

    def after(self, duration: Duration, action: Action) -> None:
        """Do this so long from now."""
        self.at(self.now_ms + milliseconds(duration), action)

    def when(self, happens: Callable[[Row], bool], action: Action) -> None:
        """Do this once, in the millisecond of the first row of which this holds, at its end."""
        require_function("happens", happens)
        require_function("action", action)

        def watch(row: Row) -> None:
            if happens(row):
                self.stage.recorder.watchers.remove(watch)
                self.at(self.now_ms, action)

        self.stage.recorder.watchers.append(watch)

    # --- coming and going ---

    def start(self, client: str) -> None:
        """Start a consumer that was made without starting it."""
        self.stage.host(client).start()
        self._on_healed("restart", client)

    def crash(self, client: str) -> None:
        """Let a consumer die without a word."""
        self.stage.host(client).crash()
        self._on_healed("resume", client)  # Who is dead does not stand still.

    def restart(self, client: str) -> None:
        """Start a consumer again that crashed or stopped, under its old name."""
        self.start(client)

    def stop(self, client: str, *, operation: str = CloseOperation.DEFAULT) -> None:
        """Close a consumer as an orderly application does."""
        require_operation(operation)
        self.stage.host(client).stop(operation)

    def pause(self, client: str) -> None:
        """Let a consumer's whole process stand still."""
        self.stage.host(client).pause()

    def resume(self, client: str) -> None:
        """Let it go on."""
        self.stage.host(client).resume()
        self._on_healed("resume", client)

    # --- letting time pass ---

    @property
    def now_ms(self) -> int:
        """The present."""
        return self.stage.kernel.now_ms

    def run_for(self, duration: Duration) -> None:
        """Let so much time pass."""
        self._play(self.now_ms + milliseconds(duration))

    def run_until(self, holds: Callable[[], bool], *, within: Duration = "1h") -> None:
        """Let time pass until this holds; not within that time: `TimeoutError`.

        It is asked whenever something has been recorded, and at each whole second.
        """
        require_function("holds", holds)
        self._run_until(holds, within, lambda: f"{getattr(holds, '__name__', holds)} does not hold")

    def run_until_stable(self, *groups: str, within: Duration = "1h") -> None:
        """Let time pass until these groups are Stable and each running consumer is a member.

        Without names: every group of which a consumer runs then.
        """

        def unrest() -> list[str]:
            found = map(self._unrest_of, groups or self._running_groups())
            return [words for words in found if words is not None]

        self._run_until(lambda: not unrest(), within, lambda: "; ".join(unrest()))

    def _run_until(
        self, holds: Callable[[], bool], within: Duration, words: Callable[[], str]
    ) -> None:
        self._play(self.now_ms + milliseconds(within), holds)
        if not holds():
            when = f"not within {within}, at {self.now_ms} ms, seed {self.seed}"
            raise TimeoutError(f"{when}: {words()}")

    def _running_groups(self) -> list[str]:
        return sorted({host.role.group for host in self.stage.hosts.values() if host.is_alive})

    def is_stable(self, group: str) -> bool:
        """Whether the group is Stable, made of its running consumers and of no dead ones."""
        return self._unrest_of(group) is None

    def _unrest_of(self, group: str) -> str | None:
        """Why a group is not stable, in words."""
        stage = self.stage
        found = stage.group(group)
        if found is None:
            known = sorted({host.role.group for host in stage.hosts.values()})
            return f"no coordinator knows {group!r}; consumers are of {', '.join(known) or 'none'}"
        if found.state is not GroupState.STABLE:
            return f"{group} is {found.state.value}"
        for member_id in found.members:
            host = stage.hosts.get(stage.clients.get(member_id, ""))
            if host is not None and not host.is_alive:
                return f"{group} counts on {host.name}, which does not run"
        for host in stage.hosts.values():
            is_of_it = host.role.group == group and host.is_alive
            if is_of_it and not host.is_settled_in(found.generation_id):
                return f"{host.name} is not settled in generation {found.generation_id}"
        return None

    def leader(self, group: str) -> str | None:
        """The consumer that leads the group, if there is one."""
        found = self.stage.group(group)
        return None if found is None else self.stage.clients.get(found.leader_id or "")

    def end(self) -> None:
        """Close the record; nothing happens after this."""
        if self._has_ended:
            return
        self._require_rest("a run cannot be ended")
        self._has_ended = True
        with collecting_rarely():
            self.stage.settle()
        self.stage.recorder.record(
            WorldEventKind.RUN_ENDED, self.now_ms, self.stage.started, detail=None
        )
        self.stage.recorder.is_closed = True
        self._raise_failure()

    def _play(self, end_ms: int, holds: Callable[[], bool] | None = None) -> None:
        if self._has_ended:
            raise SimulationError(f"this run was ended at {self.now_ms} ms; no more time can pass")
        self._require_rest("more time cannot be asked for")
        self._is_playing = True
        try:
            self._raise_failure()
            with collecting_rarely():
                self.stage.play(end_ms, holds)
            self._raise_failure()
        except Exception as error:
            error.add_note(f"seed {self.seed}, at {self.now_ms} ms")
            raise
        finally:
            self._is_playing = False

    def _require_rest(self, what: str) -> None:
        if self._is_playing:
            raise SimulationError(
                f"{what} while time passes, from an action or an application; "
                "do it after run_for, run_until or run_until_stable has returned"
            )

    def _raise_failure(self) -> None:
        """Raise what an application raised and nobody has been told of, the oldest first."""
        if self.stage.failures:
            raise self.stage.failures.pop(0)

    # --- what came of it ---

    @property
    def events(self) -> Sequence[Row]:
        """The rows so far; what has been repeated until now is counted in."""
        self.stage.settle()
        sink = self.sink
        if not isinstance(sink, MemorySink):
            raise SimulationError("this run keeps no events in memory; read them from its sink")
        return sink.rows

    def rebalances(self, group: str) -> tuple[Rebalance, ...]:
        """The group's rebalances so far, in order."""
        return measure(self.events).rebalances_of(group)

    def patience(self) -> Patience:
        """How long groups may take to come to rest with these consumers, for the checkers."""
        roles = [host.role for host in self.stage.hosts.values()]
        if not roles:
            raise SimulationError("liveness cannot be asked for: there is no consumer")
        return Patience.of(
            [role.config for role in roles],
            topics={role.name: role.program.topics for role in roles},
            load_ms=self.stage.load_ms_max + max(role.program.unrest_ms for role in roles),
            brokers=self.stage.broker_ids,
        )


def _do(action: Action) -> None:
    action()


def _check_options(options: Mapping[str, Any]) -> None:
    known = ConsumerOptions.__annotations__
    for name in options:
        if name not in known:
            raise TypeError(f"an option of a consumer must be one of {', '.join(known)}: {name!r}")
    app, pattern = options.get("app"), options.get("pattern")
    require_names("topics", topics := options.get("topics", ()))
    if topics and pattern:
        raise ValueError(f"a consumer must have topics or a pattern, not both: {pattern!r}")
    if pattern is not None:
        _require_pattern(pattern)
    if not isinstance(options.get("settings") or {}, Mapping):
        raise TypeError(f"settings must be a mapping by name, not {options['settings']!r}")
    for name in ("static", "start"):
        require_yes_or_no(name, options.get(name, False))
    if not (app is None or isinstance(app, PollLoop) or callable(app)):
        raise TypeError(f"app must be a PollLoop or an async function, not {app!r}")


def _require_pattern(pattern: str) -> None:
    require_name("pattern", pattern)
    try:
        re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise ValueError(
            f"pattern must be a regular expression, not {pattern!r}: {error}"
        ) from error
