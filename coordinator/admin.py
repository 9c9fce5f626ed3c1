"""DescribeGroups, ListGroups and DeleteGroups: what an administrator sees and may remove."""

from __future__ import annotations

from collections.abc import Callable

from coordinator.errors import ErrorCode, InternalFault
from coordinator.expiry import remove_group
from coordinator.group import Group
from coordinator.member import Member
from coordinator.offsets import forget
from coordinator.protocol import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
)
from coordinator.shard import Shard
from coordinator.states import DEAD, DELETE_ANSWERS, STABLE
from coordinator.step import Step

_GROUP_ID_NOT_FOUND_SINCE = 6
_GROUP_TYPE = "classic"


def describe_groups(
    request: DescribeGroupsRequest, shard_for: Callable[[str], Shard | ErrorCode]
) -> DescribeGroupsResponse:
    """Each group by its own shard. If one makes Kafka fail inside, all of its shard do."""
    described: dict[int, DescribedGroup] = {}
    by_shard: dict[int, list[int]] = {}
    for place, name in enumerate(request.groups):
        if name is None:
            described[place] = DescribedGroup(group_id="", error_code=ErrorCode.INVALID_GROUP_ID)
            continue
        shard = shard_for(name)
        if isinstance(shard, ErrorCode):
            described[place] = DescribedGroup(group_id=name, error_code=shard)
        else:
            by_shard.setdefault(shard.index, []).append(place)
    for places in by_shard.values():
        names = [request.groups[place] or "" for place in places]
        described |= zip(places, _describe_shard(names, request, shard_for), strict=True)
    return DescribeGroupsResponse(groups=tuple(described[place] for place in sorted(described)))


def _describe_shard(
    names: list[str],
    request: DescribeGroupsRequest,
    shard_for: Callable[[str], Shard | ErrorCode],
) -> list[DescribedGroup]:
    shard = shard_for(names[0])
    assert isinstance(shard, Shard)
    try:
        return [describe_group(shard, name, request.api_version) for name in names]
    except InternalFault:
        error = ErrorCode.UNKNOWN_SERVER_ERROR
        return [DescribedGroup(group_id=name, error_code=error) for name in names]


def describe_group(shard: Shard, group_id: str, api_version: int) -> DescribedGroup:
    """A group as it is; metadata only while it is Stable, for only then a protocol holds."""
    group = shard.committed_group(group_id)
    if group is None:
        if api_version < _GROUP_ID_NOT_FOUND_SINCE:
            return DescribedGroup(group_id=group_id, group_state=DEAD.value)
        return DescribedGroup(
            group_id=group_id,
            group_state=DEAD.value,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id} not found.",
        )
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if group.state is STABLE else "",
        members=tuple(_described(group, member) for member in group.members.values()),
    )


def _described(group: Group, member: Member) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol_name) if group.state is STABLE else b"",
        member_assignment=member.assignment,
    )


def list_groups(shard: Shard, request: ListGroupsRequest) -> tuple[ListedGroup, ...]:
    """The shard's groups that pass the filters; an unknown word in a filter matches nothing."""
    states = {state.lower().strip() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    if types and _GROUP_TYPE not in types:
        return ()
    return tuple(
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=_GROUP_TYPE,
        )
        for group in shard.committed_groups()
        if not states or group.state.value.lower() in states
    )


def delete_groups(shard: Shard, request: DeleteGroupsRequest, step: Step) -> DeleteGroupsResponse:
    """Remove Empty groups with their offsets; ids that were handed out do not stand in the way."""
    results = []
    for group_id in request.groups_names:
        assert group_id is not None
        group = shard.groups.get(group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else DELETE_ANSWERS[group.state]
        if group is not None and error is ErrorCode.NONE:
            for place in sorted(shard.offsets_of(group_id, committed=False)):
                forget(group_id, place, "its group was deleted", step)
            remove_group(group, "it was deleted", step)
        results.append(DeletableGroupResult(group_id=group_id, error_code=error))
    return DeleteGroupsResponse(results=tuple(results))
