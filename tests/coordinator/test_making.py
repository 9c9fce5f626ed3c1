"""Quickly made messages are those that attrs would make, and refuse what attrs refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from attrs import evolve, fields, frozen
from attrs.exceptions import FrozenInstanceError

from coordinator.protocol import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from coordinator.protocol.making import surely_made


def a_beat(**changes: Any) -> HeartbeatRequest:
    return evolve(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), **changes)


def test_a_quickly_made_message_has_what_it_was_given_and_its_defaults():
    beat = HeartbeatRequest(request_id=7, group_id=None, generation_id=1, member_id="m")

    values = [getattr(beat, each.name) for each in fields(HeartbeatRequest)]

    assert values == [7, "", "/127.0.0.1", 4, None, 1, "m", None]


def test_a_quickly_made_message_is_frozen():
    beat = a_beat()

    with pytest.raises(FrozenInstanceError):
        beat.member_id = "another"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del beat.member_id


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("request_id", "1"),
        ("client_id", None),
        ("api_version", 1.0),
        ("group_id", b"g"),
        ("generation_id", None),
        ("member_id", 3),
        ("group_instance_id", 3),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(name, value):
    with pytest.raises(TypeError, match=f"'{name}' must be"):
        a_beat(**{name: value})


@pytest.mark.parametrize("protocols", [["range"], ("range",), (JoinGroupRequestProtocol("r"), 1)])
def test_a_tuple_with_a_wrong_value_is_refused(protocols):
    with pytest.raises(TypeError, match="'protocols' must be"):
        JoinGroupRequest(group_id="g", protocols=protocols)


def test_none_stands_where_a_tuple_may_be_missing_and_nowhere_else():
    group = OffsetFetchRequestGroup(group_id="g", topics=None)

    assert OffsetFetchRequest(groups=(group,)).groups[0].topics is None
    with pytest.raises(TypeError, match="'partitions' must be"):
        OffsetCommitRequestTopic(partitions=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("said", "meant"), [(-1, 4), (0, 0), (4, 4)])
def test_a_version_that_kafka_has_is_taken_and_none_is_the_newest(said, meant):
    assert a_beat(api_version=said).api_version == meant


@pytest.mark.parametrize("version", [5, -2])
def test_a_version_that_kafka_does_not_have_is_refused(version):
    with pytest.raises(ValueError, match=f"must be 0 to 4, not {version}"):
        a_beat(api_version=version)


def test_a_value_of_a_subclass_of_its_type_is_taken():
    class Name(str):
        __slots__ = ()

    assert a_beat(member_id=Name("m"), generation_id=True) == a_beat(member_id="m")


def test_a_copy_is_equal_and_of_the_same_class():
    beat = a_beat()

    for twin in (copy.copy(beat), copy.deepcopy(beat)):
        assert twin == beat
        assert type(twin) is HeartbeatRequest


def test_a_subclass_makes_objects_of_its_own():
    class Plain(HeartbeatRequest):
        pass

    @frozen(kw_only=True)
    class WithMore(HeartbeatRequest):
        more: int

    assert type(Plain(group_id="g", generation_id=1, member_id="m")) is Plain
    assert WithMore(group_id="g", generation_id=1, member_id="m", more=2).more == 2


def test_a_missing_value_is_named():
    with pytest.raises(TypeError, match=r"HeartbeatRequest\.__init__\(\) missing .* 'member_id'"):
        HeartbeatRequest(group_id="g", generation_id=1)  # type: ignore[call-arg]


def test_a_surely_made_message_is_the_one_that_is_made_with_care():
    surely = surely_made(HeartbeatRequest, "member_id", "group_id", "generation_id")

    made = surely("m", "g", 1)

    assert made == a_beat()
    assert type(made) is HeartbeatRequest
    with pytest.raises(FrozenInstanceError):
        made.member_id = "another"  # type: ignore[misc]


def test_what_has_no_default_cannot_be_left_out_where_nothing_is_checked():
    with pytest.raises(TypeError, match="member_id of HeartbeatRequest has no default"):
        surely_made(HeartbeatRequest, "group_id", "generation_id")
