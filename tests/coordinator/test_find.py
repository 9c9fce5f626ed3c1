"""FindCoordinator: who coordinates a key."""

from __future__ import annotations

import pytest

from coordinator import ClusterView, ErrorCode, GroupConfig, GroupCoordinator
from coordinator.protocol import (
    Coordinator,
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    Node,
)
from tests.support.verbs import Broker

ONE = Node(node_id=1, host="one", port=9092)
TWO = Node(node_id=2, host="two", port=9093)


def a_broker_that_knows(leaders, partitions=50):
    config = GroupConfig(offsets_topic_num_partitions=partitions)
    return Broker(GroupCoordinator(config, view=ClusterView(offsets_leaders=leaders)))


def found_at(node, key, message=""):
    return Coordinator(
        key=key, node_id=node.node_id, host=node.host, port=node.port, error_message=message
    )


def not_found(key, error=ErrorCode.COORDINATOR_NOT_AVAILABLE):
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error)


def test_the_leader_of_a_groups_partition_coordinates_it():
    broker = a_broker_that_knows({12: ONE, 47: TWO})

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("my-group",)))

    assert call.response == FindCoordinatorResponse(coordinators=(found_at(ONE, "my-group"),))


def test_each_key_of_a_batch_is_found_on_its_own_in_the_order_of_the_request():
    broker = a_broker_that_knows({12: ONE, 47: TWO})

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("a", "payments", "my-group", "a")))

    assert call.response == FindCoordinatorResponse(
        coordinators=(
            found_at(TWO, "a"),
            not_found("payments"),
            found_at(ONE, "my-group"),
            found_at(TWO, "a"),
        )
    )


def test_a_partition_without_a_leader_has_no_coordinator():
    broker = a_broker_that_knows({})

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("g",)))

    assert call.response.coordinators == (not_found("g"),)


@pytest.mark.parametrize(("version", "message"), [(0, ""), (1, "NONE"), (3, "NONE"), (4, "")])
def test_success_is_spelled_out_in_some_versions(version, message):
    broker = a_broker_that_knows({12: ONE})

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("my-group",), api_version=version))

    assert call.response.coordinators == (found_at(ONE, "my-group", message),)


@pytest.mark.parametrize(
    ("version", "on_top"), [(3, ErrorCode.COORDINATOR_NOT_AVAILABLE), (4, ErrorCode.NONE)]
)
def test_an_error_stands_on_top_only_where_there_is_one_key(version, on_top):
    broker = a_broker_that_knows({})

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("g",), api_version=version))

    assert call.error is on_top


def test_an_empty_group_id_has_a_coordinator_too():
    broker = a_broker_that_knows({0: ONE})

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("",)))

    assert call.response.coordinators == (found_at(ONE, ""),)


def test_an_empty_batch_finds_nothing():
    broker = a_broker_that_knows({0: ONE})

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=()))

    assert call.response == FindCoordinatorResponse()


@pytest.mark.parametrize(("key_type", "version"), [(3, 6), (-1, 6), (99, 0), (2, 5)])
def test_a_kind_of_key_that_is_not_known_is_an_invalid_request(key_type, version):
    broker = a_broker_that_knows({0: ONE})

    call = broker.asks(
        FindCoordinatorRequest(coordinator_keys=("g",), key_type=key_type, api_version=version)
    )

    assert call.error is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("key_type", [CoordinatorType.TRANSACTION, CoordinatorType.SHARE])
def test_nobody_here_coordinates_other_kinds_of_keys(key_type):
    broker = a_broker_that_knows(dict.fromkeys(range(50), ONE))

    call = broker.asks(
        FindCoordinatorRequest(coordinator_keys=("g",), key_type=int(key_type), api_version=6)
    )

    assert call.response.coordinators == (not_found("g"),)


def test_the_number_of_partitions_decides_where_a_group_lives():
    broker = a_broker_that_knows({12: ONE, 0: TWO}, partitions=3)

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("my-group",)))

    assert 1_906_497_762 % 3 == 0
    assert call.response.coordinators == (found_at(TWO, "my-group"),)


def test_a_broker_that_shuts_down_finds_nobody():
    broker = a_broker_that_knows({12: ONE})
    broker.machine.stop()

    call = broker.asks(FindCoordinatorRequest(coordinator_keys=("my-group",)))

    assert call.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
