"""A scenario built in Python and the file that it is written as are the same."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from client.applications import CommitMode
from simulation.scenarios import (
    App,
    Burst,
    Cluster,
    Entry,
    Group,
    Members,
    On,
    RateFrom,
    Scenario,
    ScenarioError,
    SlowRecord,
    StallAt,
    Start,
    Topic,
    at,
)
from simulation.scenarios.actions import How, Send, Wait
from simulation.scenarios.disturbances import OneWay
from simulation.scenarios.script import KINDS
from simulation.scenarios.verbs import ACTIONS, TAKEN_BACK

RUN_FOR_MS = 3_600_000
GROUPS, TOPICS = ("checkout", "billing"), ("orders", "refunds.v1")
MEMBERS = ("ada", "bea")

times = st.integers(0, RUN_FOR_MS)
lengths = st.integers(1, 90_000_000)
counts = st.integers(1, 50)
rates = st.one_of(st.integers(0, 5_000), st.sampled_from(["30/m", "6/h", "7/s"]))
texts = st.text(max_size=20)
whom = st.sampled_from(
    ["ada", ["ada", "bea"], "leader of checkout", "2 of checkout", "all of checkout",
     "owner of orders-1 in checkout"]
)  # fmt: skip
brokers = st.sampled_from([1, [1, 2], "coordinator of checkout", ()])
consumer_settings = st.fixed_dictionaries(
    {},
    optional={
        "session.timeout.ms": st.sampled_from(["45s", 30_000, "30000"]),
        "max_poll_records": st.integers(1, 500),
        "enable.auto.commit": st.booleans(),
        "partition_assignment_strategy": st.sampled_from(["range", ["sticky", "roundrobin"]]),
        "key.deserializer": st.just("org.apache.kafka.common.serialization.StringDeserializer"),
    },
)
per_record = st.sampled_from(
    ["at once", "1ms per record", "50us per record", "1ms to 2s per record"]
)
apps = st.builds(
    App,
    process=per_record,
    commit=st.sampled_from([mode.value for mode in CommitMode]),
    commit_when_revoked=st.booleans(),
    poll_timeout=lengths,
    on_revoked=times,
    slow_records=st.lists(
        st.builds(
            SlowRecord,
            topic=st.sampled_from(TOPICS),
            partition=st.integers(0, 3),
            offset=st.integers(0, 9_999),
            takes=times,
        ),
        max_size=2,
    ),
    stalls=st.lists(st.builds(StallAt, at=times, lasts=times), max_size=2),
    finishes_batch=st.booleans(),
    close=st.sampled_from(["default", "leave_group", "remain_in_group"]),
)
topics = st.builds(
    Topic,
    partitions=st.integers(4, 50),
    records=rates,
    varying=st.lists(st.builds(RateFrom, at=times, records=rates), max_size=2),
    burst=st.none() | st.builds(Burst, records=counts, every=lengths),
    backlog=st.integers(0, 1_000),
    retention=st.none() | lengths,
)
members = st.builds(
    Members,
    start=st.none() | st.just("by script") | times,
    stagger=st.none() | times,
    settings=consumer_settings,
    app=st.none() | apps,
    static=st.none() | st.booleans(),
)
groups = st.builds(
    Group,
    members=st.just(list(MEMBERS)) | st.fixed_dictionaries({"ada": members, "bea": members}),
    subscribe=st.sampled_from([(), "orders", TOPICS]),
    settings=consumer_settings,
    app=apps,
    static=st.booleans(),
    start=st.just("by script") | times,
    stagger=times,
)

#: For each key of an action, by its name, what may stand there.
KEYS: dict[str, st.SearchStrategy[Any]] = {
    "members": whom,
    "group": st.sampled_from(GROUPS),
    "topic": st.sampled_from(TOPICS),
    "name": st.just("late"),
    "member": st.just("ghost"),
    "brokers": brokers,
    "broker": st.sampled_from([1, [2, 3], "coordinator of billing"]),
    "stop": st.sampled_from([how.value for how in How]),
    "close": st.sampled_from(["default", "leave_group"]),
    "unavailable": counts,
    "surge": st.integers(0, 5),
    "wait": st.sampled_from([wait.value for wait in Wait]),
    "settings": consumer_settings,
    "app": st.none() | apps,
    "one_way": st.none() | st.sampled_from([way.value for way in OneWay]),
    "request": st.sampled_from(["", "JoinGroup"]),
    "acted": st.booleans(),
    "records": rates,
    "varying": st.just(()),
    "burst": st.none(),
    "partition": st.none() | st.integers(0, 3),
    "send": st.sampled_from([send.value for send in Send]),
    "forget_id": st.booleans(),
    "subscribe": st.sampled_from([(), "orders"]),
    "assignors": st.sampled_from([("range",), ("range", "sticky")]),
    "retention": st.none() | lengths,
    "until": st.none() | times,
    "to": st.integers(1, 3),
}
NUMBERS = {"lag_per_member", "least", "most", "partitions", "backlog", "before"}
#: Where a key means something else in one action than in the others.
OF_VERB: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "append": {"records": counts},
    "truncate": {"partition": st.integers(0, 3)},
    "autoscale": {"least": st.integers(1, 9), "most": st.integers(9, 50)},
    "add_partitions": {"to": st.integers(51, 99)},
    "change": {"app": apps},
}


def actions(verb: str) -> st.SearchStrategy[Any]:
    keys = {**KEYS, **dict.fromkeys(NUMBERS, counts), **OF_VERB.get(verb, {})}
    given = {each.name: keys.get(each.name, lengths) for each in attrs.fields(ACTIONS[verb])}
    return st.builds(ACTIONS[verb], **given)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    verb = draw(st.sampled_from(sorted(ACTIONS)))
    when: dict[str, Any] = draw(
        st.one_of(
            st.fixed_dictionaries({"at": times}),
            st.fixed_dictionaries(
                {"every": st.sampled_from(["30s", "about 1m"])},
                optional={"begins": times, "until": times},
            ),
            st.fixed_dictionaries(
                {"on": st.builds(On, kind=st.sampled_from(KINDS), nth=counts, after=times)}
            ),
        )
    )
    lasts = draw(st.none() | lengths) if verb in TAKEN_BACK else None
    return Entry(do=draw(actions(verb)), lasts=lasts, **when)


scenarios = st.builds(
    Scenario,
    title=texts,
    question=texts,
    seed=st.integers(0, 1 << 62),
    cluster=st.builds(
        Cluster,
        latency=st.sampled_from(["lan", "5ms", "1ms to 20ms", ["1ms", "2ms", "9ms"]]),
        settings=st.sampled_from([{}, {"group.initial.rebalance.delay.ms": "0s"}]),
        topics=st.fixed_dictionaries(dict.fromkeys(TOPICS, topics)),
    ),
    groups=st.fixed_dictionaries(
        {"checkout": groups, "billing": st.just(Group(members=3, subscribe="orders"))}
    ),
    script=st.lists(entries(), max_size=5),
    run_for=st.just(RUN_FOR_MS),
    expect=st.sampled_from([(), ["lost == 0", "checkout is Stable"]]),
    never_settles=texts,
    variants=st.sampled_from([{}, {"a": {}, "b": {"groups.checkout.static": True}}]),
)


@given(scenario=scenarios)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_scenario_reads_as_it_was_written(scenario):
    assert Scenario.from_yaml(scenario.to_yaml()) == scenario


A_FILE = """\
cluster:
  topics:
    orders: {partitions: 12, records: 12/s}
groups:
  checkout: {members: [ada, bea], subscribe: orders}
script:
  - {at: 1m, crash: leader of checkout, for: 30s}
  - {at: 90s, start: bea}
run_for: 2m
"""


def test_what_is_built_of_plain_data_is_what_a_file_says():
    built = Scenario(
        cluster={"topics": {"orders": {"partitions": 12, "records": "12/s"}}},
        groups={"checkout": {"members": ["ada", "bea"], "subscribe": "orders"}},
        script=[{"at": "1m", "crash": "leader of checkout", "for": "30s"}, at("90s", Start("bea"))],
        run_for="2m",
    )

    assert built == Scenario.from_yaml(A_FILE)


@pytest.mark.parametrize(
    ("plain", "mistake"),
    [
        ({"cluster": {"topcs": {}}}, "cluster.topcs: unknown key .* did you mean `topics`"),
        ({"groups": {"a": {"members": 0}}}, "groups.a.members: found 0; must be a whole number"),
        ({"script": [{"at": "1m", "crsh": "a"}]}, "script.0.crsh: .* did you mean `crash`"),
    ],
)
def test_a_mistake_in_plain_data_is_told_with_its_place(plain, mistake):
    with pytest.raises(ScenarioError, match=mistake):
        Scenario(**plain)


def test_plain_data_within_a_part_is_refused_by_its_name():
    with pytest.raises(TypeError, match=r"'topics' must be .*Topic"):
        Cluster(topics={"orders": {"partitions": 4}})  # type: ignore[dict-item]
