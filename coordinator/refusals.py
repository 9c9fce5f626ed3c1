"""How each API says no, and what is checked before a shard is asked.

Kafka's router and service look at a request first; then its runtime says whether the shard is
here and loaded. Only what passes both reaches the handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from coordinator.config import GroupConfig
from coordinator.errors import ErrorCode
from coordinator.find import refuse_all
from coordinator.leave import nobody_known
from coordinator.offsets import commit_refused
from coordinator.protocol import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)
from coordinator.states import WRITE_ERRORS

_PROTOCOL_REQUIRED_SINCE = 5
_GROUP_ERROR_SINCE = 2
_MANY_GROUPS_SINCE = 8


def _heartbeat(_: HeartbeatRequest, error: ErrorCode) -> HeartbeatResponse:
    """A beat during a load is taken blindly: nobody shall lose its session over it."""
    is_loading = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error)


def _leave(request: LeaveGroupRequest, error: ErrorCode) -> LeaveGroupResponse:
    if error is ErrorCode.UNKNOWN_MEMBER_ID:
        return nobody_known(request)
    return LeaveGroupResponse(error_code=error)


def _describe(request: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=tuple(
            DescribedGroup(group_id=name or "", error_code=error) for name in request.groups
        )
    )


def _delete(request: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=tuple(
            DeletableGroupResult(group_id=name, error_code=error) for name in request.groups_names
        )
    )


def _fetch(request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    groups = tuple(fetch_refused(group, error, request.api_version) for group in request.groups)
    return fetch_answer(request, groups)


def fetch_refused(
    group: OffsetFetchRequestGroup, error: ErrorCode, api_version: int
) -> OffsetFetchResponseGroup:
    """One group's error; version 1 knows errors of partitions only."""
    if api_version >= _GROUP_ERROR_SINCE:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error)
    topics = tuple(
        OffsetFetchResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=tuple(
                OffsetFetchResponsePartition(partition_index=each, error_code=error)
                for each in topic.partition_indexes
            ),
        )
        for topic in group.topics or ()
    )
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def fetch_answer(
    request: OffsetFetchRequest, groups: tuple[OffsetFetchResponseGroup, ...]
) -> OffsetFetchResponse:
    """Where there can be only one group, its error stands on top as well."""
    is_single = request.api_version < _MANY_GROUPS_SINCE
    on_top = groups[0].error_code if is_single and groups else ErrorCode.NONE
    return OffsetFetchResponse(error_code=on_top, groups=groups)


#: Requests that name one group each.
OneGroupRequest = JoinGroupRequest | SyncGroupRequest | HeartbeatRequest | LeaveGroupRequest

#: How an error looks in the reply to each kind of request.
REFUSALS: Mapping[type[Request], Callable[..., Response]] = {
    FindCoordinatorRequest: refuse_all,
    JoinGroupRequest: lambda _, error: JoinGroupResponse(error_code=error),
    SyncGroupRequest: lambda _, error: SyncGroupResponse(error_code=error),
    HeartbeatRequest: _heartbeat,
    LeaveGroupRequest: _leave,
    OffsetCommitRequest: commit_refused,
    OffsetFetchRequest: _fetch,
    OffsetDeleteRequest: lambda _, error: OffsetDeleteResponse(error_code=error),
    DescribeGroupsRequest: _describe,
    ListGroupsRequest: lambda _, error: ListGroupsResponse(error_code=error),
    DeleteGroupsRequest: _delete,
}


def refused(request: Request, error: ErrorCode) -> Response:
    """The reply that says no to this request."""
    return REFUSALS[type(request)](request, error)


def write_failed(request: Request, error: ErrorCode) -> Response:
    """The reply when the log, or the wait for it, failed with this error."""
    said = WRITE_ERRORS.get(error, error)
    if error is ErrorCode.NETWORK_EXCEPTION:
        said = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if isinstance(request, OffsetFetchRequest) and said is ErrorCode.COORDINATOR_NOT_AVAILABLE:
        said = ErrorCode.NOT_COORDINATOR  # so that the client looks for another one
    return refused(request, said)


def refused_at_the_door(
    request: OneGroupRequest, config: GroupConfig, *, is_active: bool
) -> Response | None:
    """What router and service refuse before any shard is asked, wherever the group may be."""
    if type(request) is SyncGroupRequest and _lacks_protocol(request):
        return refused(request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    error = None
    if not is_active:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    elif not request.group_id:
        error = ErrorCode.INVALID_GROUP_ID
    elif type(request) is JoinGroupRequest and not (
        config.group_min_session_timeout_ms
        <= request.session_timeout_ms
        <= config.group_max_session_timeout_ms
    ):
        error = ErrorCode.INVALID_SESSION_TIMEOUT
    if error is None:
        return None
    if type(request) is JoinGroupRequest:
        return JoinGroupResponse(error_code=error, member_id=request.member_id)
    return refused(request, error)


def _lacks_protocol(request: SyncGroupRequest) -> bool:
    """From version 5 a sync must name the group's protocol; Kafka's router looks first of all."""
    is_nameless = request.protocol_type is None or request.protocol_name is None
    return is_nameless and request.api_version >= _PROTOCOL_REQUIRED_SINCE
