"""FindCoordinator: which broker leads the partition of the offsets topic that a key hashes to."""

from __future__ import annotations

from coordinator.cluster import ClusterView
from coordinator.errors import ErrorCode
from coordinator.java_order import partition_for
from coordinator.protocol import (
    Coordinator,
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

_BATCHED_SINCE = 4
_SHARE_SINCE = 6


def find_coordinator(
    request: FindCoordinatorRequest, view: ClusterView, partitions: int, *, is_active: bool
) -> FindCoordinatorResponse:
    """One entry per key, each found on its own; below version 4 the only one is also on top."""
    if not _knows_type(request):
        return refuse_all(request, ErrorCode.INVALID_REQUEST)
    if not is_active:
        return refuse_all(request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    is_batched = request.api_version >= _BATCHED_SINCE
    keys = request.coordinator_keys if is_batched else request.coordinator_keys[:1]
    found = tuple(_coordinator_of(key, request, view, partitions) for key in keys)
    on_top = ErrorCode.NONE if is_batched or not found else found[0].error_code
    return FindCoordinatorResponse(error_code=on_top, coordinators=found)


def refuse_all(request: FindCoordinatorRequest, error: ErrorCode) -> FindCoordinatorResponse:
    """The whole request is refused."""
    return FindCoordinatorResponse(
        error_code=error,
        coordinators=tuple(
            Coordinator(key=key, error_code=error) for key in request.coordinator_keys
        ),
    )


def _knows_type(request: FindCoordinatorRequest) -> bool:
    if request.key_type == CoordinatorType.SHARE:
        return request.api_version >= _SHARE_SINCE
    return request.key_type in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION)


def _coordinator_of(
    key: str, request: FindCoordinatorRequest, view: ClusterView, partitions: int
) -> Coordinator:
    node = None
    if request.key_type == CoordinatorType.GROUP:  # nobody coordinates the other kinds here
        node = view.offsets_leaders.get(partition_for(key, partitions))
    if node is None:
        return Coordinator(key=key, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    says_none = 1 <= request.api_version < _BATCHED_SINCE
    return Coordinator(
        key=key,
        node_id=node.node_id,
        host=node.host,
        port=node.port,
        error_message="NONE" if says_none else "",
    )
