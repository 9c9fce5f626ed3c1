"""A group that is Dead but still asked: Kafka has the answers, so the tables have them too."""

from __future__ import annotations

import pytest

from coordinator import ErrorCode
from coordinator.protocol import (
    DeleteGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    SyncGroupRequest,
)
from coordinator.states import DEAD
from tests.support.builders import a_broker, a_stable_group, some_protocols

COMMIT = OffsetCommitRequest(
    group_id="g",
    generation_id=1,
    member_id="ada",
    topics=(
        OffsetCommitRequestTopic(
            name="t",
            partitions=(OffsetCommitRequestPartition(partition_index=0, committed_offset=1),),
        ),
    ),
)
REQUESTS = {
    "join": JoinGroupRequest(group_id="g", protocols=some_protocols("range")),
    "rejoin": JoinGroupRequest(group_id="g", member_id="ada", protocols=some_protocols("range")),
    "sync": SyncGroupRequest(group_id="g", generation_id=1, member_id="ada", api_version=4),
    "heartbeat": HeartbeatRequest(group_id="g", generation_id=1, member_id="ada"),
    "leave": LeaveGroupRequest(group_id="g", members=(MemberIdentity(member_id="ada"),)),
    "commit": COMMIT,
}


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_a_dead_group_sends_its_callers_to_look_for_another_coordinator(request_of):
    broker = a_broker()
    a_stable_group(broker, "ada")
    broker.group().move_to(DEAD, broker.now_ms)

    call = broker.asks(request_of)

    assert call.errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_a_dead_group_cannot_be_deleted_for_it_is_not_there():
    broker = a_broker()
    a_stable_group(broker, "ada")
    broker.group().move_to(DEAD, broker.now_ms)

    call = broker.asks(DeleteGroupsRequest(groups_names=("g",)))

    assert call.errors == [ErrorCode.GROUP_ID_NOT_FOUND]
