"""Whoever uses the world wrongly is told the name, what is expected, and the value."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

from coordinator.protocol import HeartbeatRequest
from simulation.errors import SimulationError
from simulation.fork import fork
from simulation.planned_faults import OPTIONS, PAIRS
from simulation.world import Fault, Simulation

A_HEARTBEAT = HeartbeatRequest(group_id="g", member_id="m", generation_id=1)


def a_world() -> Simulation:
    sim = Simulation(seed=1)
    sim.topic("orders", partitions=2)
    sim.consumers("checkout", "ada", topics=["orders"])
    sim.run_for("10s")
    return sim


WORLDS: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"seed": "x"}, "seed must be a whole number, not 'x'"),
    "brokers": ({"brokers": 2.5}, "brokers must be a whole number, not 2.5"),
    "latency": ({"latency": 5}, r"latency must be a Law such as fixed\(5\), not 5"),
    "brokers' settings": ({"group_config": {}}, "group_config must be a GroupConfig, not {}"),
    "sink": ({"sink": "runs"}, r"sink must be a sink such as MemorySink\(\), not 'runs'"),
    "clock": ({"clock": 5}, r"clock must be what freeze_time\(\.\.\.\) gives .*, not 5"),
    "run": ({"run": None}, "run must be a text, not None"),
    "title": ({"title": 5}, "title must be a text, not 5"),
    "text for ids": ({"member_ids": "m-1"}, "member_ids must be .*, not the text 'm-1'"),
    "source of ids": ({"member_ids": 5}, "member_ids must be a sequence of ids, not 5"),
}


@pytest.mark.parametrize(("options", "words"), WORLDS.values(), ids=WORLDS)
def test_a_world_cannot_be_made_with_a_wrong(options, words):
    with pytest.raises(TypeError, match=words):
        Simulation(**options)


WORDS: dict[str, tuple[dict[str, Any], str]] = {
    "quiet": ({"quiet": "no"}, 'quiet must be "skip" or "play", not \'no\''),
    "detail": ({"detail": "all"}, 'detail must be "folded" or "full", not \'all\''),
    "app_errors": ({"app_errors": ""}, 'app_errors must be "raise" or "record", not \'\''),
    "brokers": ({"brokers": 0}, "brokers must be at least 1, not 0"),
    "second of two ids": (
        {"member_ids": ["m-1", "m-2", "m-1"]},
        "member_ids must be different names, not twice 'm-1'",
    ),
    "run": ({"run": " "}, "run must not be blank, not ' '"),
}


@pytest.mark.parametrize(("options", "words"), WORDS.values(), ids=WORDS)
def test_a_world_cannot_be_made_with_an_unknown(options, words):
    with pytest.raises(ValueError, match=words):
        Simulation(**options)


CONSUMERS: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"name": ["bea", "cat"]}, r"name must be a text, not \['bea', 'cat'\]"),
    "group": ({"group": None}, "group must be a text, not None"),
    "settings": ({"settings": ["x"]}, r"settings must be a mapping by name, not \['x'\]"),
    "option": ({"topic": ["orders"]}, "one of topics, pattern, .*: 'topic'"),
    "text for topics": ({"topics": "orders"}, "topics must be .*, not the text 'orders'"),
    "start": ({"start": "no"}, "start must be True or False, not 'no'"),
    "word for static": ({"static": "yes"}, "static must be True or False, not 'yes'"),
    "application": ({"app": "loop"}, "app must be a PollLoop or an async function, not 'loop'"),
}


@pytest.mark.parametrize(("options", "words"), CONSUMERS.values(), ids=CONSUMERS)
def test_a_consumer_cannot_be_made_with_a_wrong(options, words):
    sim = a_world()

    with pytest.raises(TypeError, match=words):
        sim.consumer(**{"name": "bea", "group": "checkout", **options})
    assert list(sim.stage.hosts) == ["ada"]


READING: dict[str, tuple[dict[str, Any], str]] = {
    "pattern": ({"pattern": "("}, r"pattern must be a regular expression, not '\(': missing"),
    "topics and pattern": (
        {"topics": ["orders"], "pattern": "o.*"},
        "a consumer must have topics or a pattern, not both: 'o.*'",
    ),
    "blank name": ({"name": "", "topics": ["orders"]}, "name must not be blank, not ''"),
}


@pytest.mark.parametrize(("options", "words"), READING.values(), ids=READING)
def test_a_consumer_cannot_be_made_with_an_unreadable(options, words):
    with pytest.raises(ValueError, match=words):
        a_world().consumer(**{"name": "bea", "group": "checkout", **options})


FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "action": lambda sim: sim.at("1m", sim.crash("ada")),
    "happens": lambda sim: sim.when("joined", print),
    "holds": lambda sim: sim.run_until("stable"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_to_be_called_must_be_a_function(name):
    with pytest.raises(TypeError, match=f"{name} must be a function, such as lambda: "):
        FUNCTIONS[name](a_world())


def test_a_raw_member_sends_requests_only():
    ghost = a_world().raw_member("ghost", "checkout")

    with pytest.raises(TypeError, match=r"request must be one such as .*, not 'beat'"):
        ghost.send("beat")  # type: ignore[arg-type]


def test_a_raw_member_syncs_with_assignments_only():
    ghost = a_world().raw_member("ghost", "checkout")

    with pytest.raises(
        TypeError, match=r"must be one such as SyncGroupRequestAssignment\(.*, not 'mine'"
    ):
        ghost.sync("mine")  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["script", "change", "world"])
def test_a_fork_is_made_of_functions(what):
    said: dict[str, Any] = {"script": a_script, "change": a_script, "world": Simulation, what: 5}

    with pytest.raises(TypeError, match=f"{what} must be a function, such as .*, not 5"):
        fork(**said, at=1)


def a_script(sim: Simulation) -> None:
    sim.run_for("1s")


def test_a_raw_member_sends_to_brokers_that_are_there():
    ghost = a_world().raw_member("ghost", "checkout")

    with pytest.raises(SimulationError, match="there is no broker 9"):
        ghost.send(A_HEARTBEAT, broker=9)


def test_a_ready_made_loop_cannot_be_without_anything_to_read():
    with pytest.raises(ValueError, match="must be given topics or a pattern, not neither"):
        a_world().consumer("bea", group="checkout")


FAULTS: dict[str, tuple[Callable[[Simulation], object], str]] = {
    "client": (lambda sim: sim.partition("adda"), "client must be .*, ada, not 'adda'"),
    "request": (
        lambda sim: sim.hold("ada", request="Heartbeet"),
        "request must be one of .*, Heartbeat, .*, not 'Heartbeet'",
    ),
    "request to release": (
        lambda sim: sim.release("ada", request="Heartbeet"),
        "request must be one of .*, not 'Heartbeet'",
    ),
    "time": (lambda sim: sim.at("5s", sim.end), "time must not be before .* 10000 ms, not '5s'"),
    "name of a raw member": (
        lambda sim: sim.raw_member("ada", "checkout"),
        "there is a consumer or raw member 'ada' already",
    ),
    "way to close": (
        lambda sim: sim.stop("ada", operation="LEAVE"),
        "operation must be one of DEFAULT, LEAVE_GROUP, REMAIN_IN_GROUP, not 'LEAVE'",
    ),
    "pace": (
        lambda sim: sim.faults_at_a_rate("crash", ["ada"], every=0, lasts=0, until="1m"),
        "every must be at least 1 ms, not 0",
    ),
}


@pytest.mark.parametrize(("act", "words"), FAULTS.values(), ids=FAULTS)
def test_nothing_happens_with_a_wrong(act, words):
    sim = a_world()
    before = len(sim.events)

    with pytest.raises(ValueError, match=words):
        act(sim)
    assert len(sim.events) == before


def test_a_consumer_that_is_stopping_is_not_started_again_and_not_said_to_run():
    sim = a_world()
    sim.stop("ada")

    with pytest.raises(ValueError, match="ada is still stopping; start it when it has stopped"):
        sim.restart("ada")


@pytest.mark.parametrize(("verb", "target"), [("crash", 1), ("crash_broker", "ada")])
def test_a_fault_is_of_a_name_or_of_a_broker_s_number_as_its_verb_says(verb, target):
    with pytest.raises(TypeError, match=f"target of {verb} must be .*, not {target!r}"):
        Fault(verb=verb, target=target, at="1s")


PLANS: dict[str, tuple[dict[str, Any], str]] = {
    "option": ({"options": {"bye": 1}}, "options of slow may name by, not 'bye'"),
    "value of an option": ({"options": {"by": "x"}}, "a length of time must .*, not 'x'"),
    "time": ({"at": "soon"}, "a length of time must .*, not 'soon'"),
    "length": ({"lasts": "x"}, "a length of time must .*, not 'x'"),
    "broker": ({"brokers": 2}, r"brokers must be numbers of .*, such as \(1, 2\), not 2"),
    "text for a broker": ({"brokers": ("2",)}, r"brokers must be numbers of .*, not \('2',\)"),
    "event": ({"at": None, "on": "joined"}, "on must be an event such as On.*, not 'joined'"),
}


@pytest.mark.parametrize(("said", "words"), PLANS.values(), ids=PLANS)
def test_a_fault_cannot_be_planned_with_a_wrong(said, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Fault(**{"verb": "slow", "target": "ada", "at": "1s", **said})


def test_a_fault_of_a_log_is_of_a_group_and_not_of_its_leader():
    with pytest.raises(ValueError, match="target of fail_append must be a group, not 'leader of"):
        Fault(verb="fail_append", target="leader of checkout", at="1s")


@pytest.mark.parametrize("verb", PAIRS)
def test_a_planned_fault_may_say_what_its_verb_takes(verb):
    parameters = signature(getattr(Simulation, verb)).parameters.values()

    taken = {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    assert taken == set(OPTIONS.get(verb, ()))


def test_faults_at_a_rate_are_refused_though_none_is_drawn():
    with pytest.raises(ValueError, match=r"verb must be one of crash, .*, not 'boom'"):
        a_world().faults_at_a_rate("boom", ["ada"], every="1h", lasts=0, until="1s")


def test_a_broker_does_not_die_half_of_its_death():
    sim = a_world()

    with pytest.raises(ValueError, match=r"a length of time must .*, not 'soon'"):
        sim.crash_broker(1, load="soon")
    assert sim.stage.brokers[1].is_up
    assert sim.events[-1].kind != "broker_crashed"


def test_a_fault_of_a_broker_that_is_not_there_is_refused_when_it_is_told():
    with pytest.raises(SimulationError, match="there is no broker 7"):
        a_world().fault(Fault(verb="crash_broker", target=7, at="1m"))


@pytest.mark.parametrize(
    "act",
    [
        lambda sim: sim.crash_broker("1"),
        lambda sim: sim.move_coordinator("checkout", "1"),
        lambda sim: sim.partition("ada", "1"),
        lambda sim: sim.raw_member("ghost", "checkout").send(A_HEARTBEAT, broker="1"),
    ],
    ids=["that is to crash", "that is to coordinate", "of a link", "that is to be asked"],
)
def test_a_number_in_quotes_is_no_broker(act):
    with pytest.raises(TypeError, match="a broker must be named by its number, not '1'"):
        act(a_world())


PRODUCING: dict[str, tuple[Callable[[Simulation], object], str]] = {
    "count": (lambda sim: sim.append("orders", -5), "count must be at least 0, not -5"),
    "partition": (
        lambda sim: sim.append("orders", 5, partition=7),
        "partition must be one of the 2 of orders: 7",
    ),
    "partition to truncate": (
        lambda sim: sim.truncate("orders", 7, 0),
        "partition must be one of the 2 of orders: 7",
    ),
    "number of partitions": (
        lambda sim: sim.topic("late", partitions=0),
        "partitions must be at least 1, not 0",
    ),
    "smaller number": (
        lambda sim: sim.add_partitions("orders", 1),
        "orders has 2 partitions and can only gain, not 1",
    ),
    "offset": (
        lambda sim: sim.truncate("orders", 0, before=-5),
        "before must be at least 0, not -5",
    ),
    "topic of the brokers": (
        lambda sim: sim.topic("__consumer_offsets"),
        "name of a topic must not be __consumer_offsets, which the brokers write",
    ),
    "blank name of a topic": (
        lambda sim: sim.topic(""),
        "name of a topic must not be blank, not ''",
    ),
    "topic that is a folder": (
        lambda sim: sim.topic(".."),
        r"name of a topic must not be \. or \.\., not '\.\.'",
    ),
    "letter in the name of a topic": (
        lambda sim: sim.topic("bücher"),
        "name of a topic must be up to 249 letters of ASCII, digits, .* not 'bücher'",
    ),
    "length of the name of a topic": (
        lambda sim: sim.topic("x" * 250),
        "name of a topic must be up to 249 letters of ASCII, digits, .* not 'xxx",
    ),
    "rate": (lambda sim: sim.produce("orders", -5), "records_per_s must not .*, not -5"),
    "later rate": (
        lambda sim: sim.topic("late", varying=[("1m", -5)]),
        "varying must not fall below 0 records a second, not -5",
    ),
    "moment of a rate": (
        lambda sim: sim.topic("late", varying=[("5s", 5)]),
        "varying must not be before the present, 10000, not 5000",
    ),
    "burst": (
        lambda sim: sim.topic("late", burst=(5, 0)),
        r"burst must be some records each so often, not \(5, 0\)",
    ),
}


@pytest.mark.parametrize(("act", "words"), PRODUCING.values(), ids=PRODUCING)
def test_nothing_is_written_with_a_wrong(act, words):
    sim = a_world()
    before = len(sim.events)

    with pytest.raises(ValueError, match=words):
        act(sim)
    assert len(sim.events) == before
    assert list(sim.stage.cluster.topics) == ["orders"]


def test_the_name_of_a_topic_may_be_as_long_as_kafka_allows():
    sim = a_world()

    sim.topic("x" * 249)

    assert "x" * 249 in sim.stage.cluster.topics


OF_A_WRONG_KIND: dict[str, tuple[Callable[[Any], object], str]] = {
    "count": (lambda sim: sim.append("orders", 2.5), "count must be a whole number, not 2.5"),
    "partition": (
        lambda sim: sim.append("orders", 5, partition="0"),
        "partition must be a whole number, not '0'",
    ),
    "partitions": (
        lambda sim: sim.topic("late", partitions=2.5),
        "partitions must be a whole number, not 2.5",
    ),
    "topic": (lambda sim: sim.topic(None), "name of a topic must be a text, not None"),
    "rate": (
        lambda sim: sim.topic("late", records_per_s="10/s"),
        "records_per_s must be a number of records a second, not '10/s'",
    ),
    "burst": (
        lambda sim: sim.topic("late", burst=5),
        r'burst must be records and how often, such as \(100, "1m"\), not 5',
    ),
    "half of a burst": (
        lambda sim: sim.topic("late", burst=(5,)),
        r"burst must be records and how often, such as .*, not \(5,\)",
    ),
    "rates": (
        lambda sim: sim.topic("late", varying=5),
        r'varying must be a sequence such as \[\("10s", 50\)\], not 5',
    ),
    "change of a rate": (
        lambda sim: sim.topic("late", varying=[(1, 2, 3)]),
        r"each of varying must be a time and a rate, such as .*, not \(1, 2, 3\)",
    ),
    "endless rate": (
        lambda sim: sim.produce("orders", float("inf")),
        "records_per_s must be a number of records a second, not inf",
    ),
}


@pytest.mark.parametrize(("act", "words"), OF_A_WRONG_KIND.values(), ids=OF_A_WRONG_KIND)
def test_nothing_is_written_with_another_kind_of(act, words):
    sim = a_world()
    before = len(sim.events)

    with pytest.raises(TypeError, match=words):
        act(sim)
    assert len(sim.events) == before
    assert list(sim.stage.cluster.topics) == ["orders"]


WHILE_TIME_PASSES: dict[str, Callable[[Simulation], object]] = {
    "more time": lambda sim: sim.run_for("5s"),
    "an end": lambda sim: sim.end(),
}


@pytest.mark.parametrize("act", WHILE_TIME_PASSES.values(), ids=WHILE_TIME_PASSES)
def test_an_action_cannot_ask_for(act):
    sim = a_world()
    sim.at("20s", lambda: act(sim))

    with pytest.raises(SimulationError, match="while time passes, from an action"):
        sim.run_for("1m")


AFTER_THE_END: dict[str, Callable[[Simulation], object]] = {
    "time passes": lambda sim: sim.run_for("1m"),
    "anybody crashes": lambda sim: sim.crash("ada"),
    "anything is written": lambda sim: sim.append("orders", 1),
}


@pytest.mark.parametrize("act", AFTER_THE_END.values(), ids=AFTER_THE_END)
def test_once_a_run_has_ended_never_again(act):
    sim = a_world()
    sim.end()

    with pytest.raises(SimulationError, match=r"this run (was|has) ended"):
        act(sim)
    assert sim.events[-1].kind == "run_ended"
