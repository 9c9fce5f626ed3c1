"""Bad input gets a reply or a clear error, and never leaves a broken group behind.

Values of the wrong type do not get as far as this: see test_protocol.py.
"""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.events import EventKind
from coordinator.protocol import (
    DescribedGroup,
    JoinGroupResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    Request,
    SyncGroupRequestAssignment,
)
from coordinator.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from coordinator.subscription import subscription_to
from tests.support.builders import (
    a_broker,
    a_client,
    a_joined_group,
    a_stable_group,
    a_static_client,
    an_empty_group,
    join_together,
    some_protocols,
)
from tests.support.verbs import an_offset

UNPARSABLE = b"\xff" * 8
ODD_IDS = {
    "a space": " ",
    "a null character": "\x00",
    "a line break": "a\nb",
    "a path": "../../etc",
    "accents": "é" * 40,
    "an emoji": "😀",
    "half a pair": "\ud83d",
    "a very long one": "x" * 30_000,  # a string on Kafka's wire has at most 32,767 bytes
    "a dollar": "$m0.member_id",
}


def test_something_that_is_no_request_is_refused():
    broker = a_broker()

    with pytest.raises(TypeError, match="str is not a request of the group coordinator"):
        broker.machine.on_request("join", 0)  # type: ignore[arg-type]


def test_a_bare_request_is_refused():
    broker = a_broker()

    with pytest.raises(TypeError, match="is not a request of the group coordinator"):
        broker.machine.on_request(Request.__new__(Request), 0)


# --- numbers ---


@pytest.mark.parametrize("timeout_ms", [-1, 0, 5_999, 1_800_001, 2**31])
def test_a_session_timeout_outside_the_limits_is_invalid(timeout_ms):
    broker = a_broker()

    call = broker.joins(a_client(member_id="me"), session_timeout_ms=timeout_ms)

    assert call.response == JoinGroupResponse(
        error_code=ErrorCode.INVALID_SESSION_TIMEOUT, member_id="me"
    )
    assert broker.find_group() is None


@pytest.mark.parametrize("timeout_ms", [6_000, 1_800_000])
def test_the_limits_of_a_session_timeout_are_valid(timeout_ms):
    broker = a_broker()

    call = broker.joins(a_static_client(), session_timeout_ms=timeout_ms)

    assert call.error is ErrorCode.NONE


def test_a_bad_session_timeout_is_reported_even_by_a_broker_that_is_not_the_coordinator():
    broker = a_broker()
    broker.loses_its_shard()

    call = broker.joins(a_client(), session_timeout_ms=0)

    assert call.error is ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_negative_rebalance_timeout_is_taken_and_means_none():
    broker = a_broker()

    call = broker.joins(a_static_client(), rebalance_timeout_ms=-5)

    # Its sync is overdue at once, so it is dropped again.
    assert call.response.generation_id == 1
    assert broker.state() is EMPTY


@pytest.mark.parametrize("generation_id", [-2_147_483_648, -1, 0, 2_147_483_647])
def test_an_odd_generation_is_illegal(generation_id):
    broker = a_broker()
    (ada,) = a_stable_group(broker, "ada")

    calls = [
        broker.beats(ada, generation_id=generation_id),
        broker.syncs(ada, generation_id=generation_id),
        broker.commits(ada, generation_id=generation_id),
    ]

    assert [call.errors for call in calls] == [[ErrorCode.ILLEGAL_GENERATION]] * 3
    assert broker.state() is STABLE


def test_a_negative_partition_may_be_committed():
    broker = a_broker()

    call = broker.commits(None, an_offset("t", -3))

    assert call.errors == [ErrorCode.NONE]
    assert broker.offsets() == {("t", -3): 5}


# --- groups that are not there, and null ids ---


def test_nobody_is_known_in_an_unknown_group():
    broker = a_broker()
    ada = a_client(member_id="ada", generation_id=1)

    calls = [broker.joins(ada), broker.syncs(ada), broker.beats(ada), broker.leaves(ada)]

    assert [call.errors for call in calls] == [[ErrorCode.UNKNOWN_MEMBER_ID]] * 4
    assert broker.find_group() is None


def test_an_unknown_group_has_nothing_to_delete():
    broker = a_broker()

    calls = [broker.deletes("absent"), broker.deletes_offsets("absent")]

    assert [call.errors for call in calls] == [[ErrorCode.GROUP_ID_NOT_FOUND]] * 2


def test_a_null_group_id_is_invalid_for_offsets_and_administration():
    broker = a_broker()

    calls = [broker.commits(None, group_id=None), broker.fetches(None), broker.deletes(None)]

    assert [call.errors for call in calls] == [[ErrorCode.INVALID_GROUP_ID]] * 3
    assert broker.describes(None) == DescribedGroup(
        group_id="", error_code=ErrorCode.INVALID_GROUP_ID
    )


# --- ids with odd characters ---


@pytest.mark.parametrize("odd", ODD_IDS.values(), ids=ODD_IDS.keys())
def test_a_group_lives_under_an_odd_id(odd):
    broker = a_broker(offsets_topic_num_partitions=50)

    ada, bea = a_stable_group(broker, "ada", "bea", group_id=odd)

    assert broker.beats(ada).error is ErrorCode.NONE
    assert broker.commits(bea).errors == [ErrorCode.NONE]
    assert broker.offsets(odd) == {("t", 0): 5}
    assert broker.describes(odd).group_state == "Stable"


@pytest.mark.parametrize("odd", ODD_IDS.values(), ids=ODD_IDS.keys())
def test_a_static_member_lives_under_an_odd_instance_id(odd):
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada", group_instance_id=odd))

    call = broker.joins(ada.restarted())

    assert call.response.generation_id == 1
    assert call.response.member_id.startswith(f"{odd}-")


@pytest.mark.parametrize("odd", ["", *ODD_IDS.values()], ids=["nothing", *ODD_IDS.keys()])
def test_a_stray_member_id_is_unknown_however_odd(odd):
    broker = a_broker()
    a_stable_group(broker, "ada")
    stray = a_client(member_id=odd, generation_id=1)

    calls = [broker.beats(stray), broker.syncs(stray), broker.leaves(stray), broker.commits(stray)]

    assert [call.errors for call in calls] == [[ErrorCode.UNKNOWN_MEMBER_ID]] * 4
    assert broker.state() is STABLE


def test_an_empty_client_id_gives_an_id_that_begins_with_a_dash():
    broker = a_broker()

    call = broker.joins(a_client(""))

    assert call.response.member_id.startswith("-")


def test_an_empty_instance_id_is_an_instance_id():
    broker = a_broker()
    (ada,) = a_stable_group(broker, a_static_client("ada", group_instance_id=""))

    broker.joins(ada.restarted())

    assert broker.beats(ada).error is ErrorCode.FENCED_INSTANCE_ID


#: Half a pair has no UTF-8 form, so no log can keep it.
@pytest.mark.parametrize("name", [name for name in ODD_IDS if name != "half a pair"])
def test_a_failover_keeps_odd_ids(name):
    broker = a_broker()
    odd = ODD_IDS[name]
    (ada,) = a_stable_group(broker, a_static_client("ada", group_id=odd, group_instance_id=odd))

    broker.fails_over()

    assert broker.beats(ada).error is ErrorCode.NONE


# --- protocols ---


def test_a_protocol_without_a_name_is_a_protocol():
    broker = a_broker()

    call = broker.joins(a_static_client(protocols=some_protocols("")), api_version=6)

    assert (call.error, call.response.protocol_name) == (ErrorCode.NONE, "")


def test_a_lone_member_that_names_its_only_protocol_twice_waits_in_vain():
    broker = a_broker()

    call = broker.joins(a_static_client(protocols=some_protocols("range", "range")))

    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE
    assert EventKind.INTERNAL_FAULT in [event.kind for event in broker.events]


def test_a_group_whose_only_protocol_is_named_twice_refuses_others():
    broker = a_broker()
    broker.joins(a_static_client(protocols=some_protocols("range", "range")))

    call = broker.joins(a_static_client("bea"))

    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_group_whose_only_protocol_was_named_twice_recovers_when_that_member_is_dropped():
    broker = a_broker()
    waiting = broker.joins(a_static_client(protocols=some_protocols("range", "range")))

    broker.advances("5min")

    assert waiting.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert broker.joins(a_static_client("bea")).response.generation_id == 3


def test_giant_metadata_is_carried_to_the_leader_and_through_a_failover():
    broker = a_broker()
    giant = subscription_to(*(f"topic-{number}" for number in range(50_000)))
    (ada,) = a_stable_group(broker, "ada", protocols=some_protocols("range", metadata=giant))

    broker.fails_over()

    assert broker.describes().members[0].member_metadata == giant
    assert broker.beats(ada).error is ErrorCode.NONE


def test_a_giant_assignment_is_handed_out():
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")

    call = broker.syncs(ada, {ada.member_id: b"x" * 5_000_000})

    assert len(call.response.assignment) == 5_000_000


@pytest.mark.parametrize(
    "metadata",
    [b"", b"\x00", b"\x00\x00", b"\x00\x00\x00", subscription_to("t")[:-1]],
    ids=["nothing", "one byte", "two bytes", "three bytes", "a subscription cut short"],
)
def test_metadata_that_ends_too_early_leaves_the_topics_of_a_group_unknown(metadata):
    broker = a_broker()

    call = broker.joins(a_static_client(protocols=some_protocols("range", metadata=metadata)))

    assert call.error is ErrorCode.NONE
    assert broker.group().subscribed_topics is None


UNREADABLE = {
    "a negative count of topics": b"\x00\x00\xff\xff\xff\xff\x00\x00",
    "more topics than bytes": b"\x00\x00\x7f\xff\xff\xff\x00\x00",
    "a topic longer than the rest": b"\x00\x00\x00\x00\x00\x01\x7f\xff\x00\x00",
    "a topic of negative length": b"\x00\x00\x00\x00\x00\x01\xff\xff\x00\x00\x00\x00",
    "nothing but ones": UNPARSABLE,
}


@pytest.mark.parametrize("metadata", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_metadata_that_cannot_be_parsed_keeps_everyone_waiting(metadata):
    broker = a_broker()

    call = broker.joins(a_static_client(protocols=some_protocols("range", metadata=metadata)))

    # Kafka fails inside at the end of the join phase; the count stays.
    assert call.is_open
    assert broker.state() is PREPARING_REBALANCE
    assert broker.group().generation_id == 1


def test_a_group_recovers_when_the_member_with_unreadable_metadata_is_dropped():
    broker = a_broker()
    bad = broker.joins(a_static_client(protocols=some_protocols("range", metadata=UNPARSABLE)))
    good = broker.joins(a_static_client("bea"))
    before = good.is_open

    broker.advances("5min")

    assert before
    assert bad.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert good.response.generation_id == 2
    assert broker.state() is COMPLETING_REBALANCE


def test_a_join_that_meets_unreadable_metadata_at_the_end_of_the_phase_is_a_server_error():
    broker = a_broker(ids=("a", "b"))
    (ada,) = a_stable_group(broker, a_static_client("ada"))
    broker.joins(a_static_client("bea", protocols=some_protocols("range", metadata=UNPARSABLE)))

    call = broker.joins(ada)

    assert call.response == JoinGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    assert broker.state() is PREPARING_REBALANCE


def test_unreadable_metadata_of_another_protocol_type_is_nobodys_business():
    broker = a_broker()
    odd = some_protocols("range", metadata=UNPARSABLE)

    call = broker.joins(a_static_client(protocol_type="connect", protocols=odd))

    assert call.error is ErrorCode.NONE


# --- the same thing twice ---


def test_a_partition_that_is_committed_twice_keeps_the_later_offset():
    broker = a_broker()

    call = broker.commits(None, an_offset(offset=1), an_offset(offset=2))

    assert call.errors == [ErrorCode.NONE, ErrorCode.NONE]
    assert broker.offsets() == {("t", 0): 2}


def test_a_partition_that_is_asked_for_twice_is_answered_twice():
    broker = a_broker()
    broker.commits(None)

    call = broker.fetches("g", ("t", 0), ("t", 0))

    (topic,) = call.response.groups[0].topics
    assert [row.committed_offset for row in topic.partitions] == [5, 5]


def test_a_partition_whose_offset_is_deleted_twice_is_answered_twice():
    broker = a_broker()
    broker.commits(None)
    twice = OffsetDeleteRequestTopic(name="t", partitions=(0, 0))

    call = broker.asks(OffsetDeleteRequest(group_id="g", topics=(twice,)))

    assert call.errors == [ErrorCode.NONE, ErrorCode.NONE]
    assert broker.offsets() == {}


def test_a_group_that_is_deleted_twice_is_answered_once():
    broker = a_broker()
    an_empty_group(broker)

    call = broker.deletes("g", "g")

    assert call.errors == [ErrorCode.NONE]


def test_a_member_that_a_plan_names_twice_gets_the_later_share():
    broker = a_broker()
    (ada,) = a_joined_group(broker, "ada")
    twice = tuple(SyncGroupRequestAssignment(ada.member_id, share) for share in (b"one", b"two"))

    call = broker.syncs(ada, assignments=twice)

    assert call.response.assignment == b"two"


def test_after_all_this_a_well_behaved_member_still_joins():
    broker = a_broker()
    ada = a_client("ada", member_id="stray", generation_id=99)
    for verb in (broker.joins, broker.syncs, broker.beats, broker.leaves, broker.commits):
        verb(ada)
    broker.joins(a_client(protocols=()))
    broker.joins(a_client(), session_timeout_ms=-1)

    (call,) = join_together(broker, a_client("bea"))

    assert call.response.generation_id == 1
