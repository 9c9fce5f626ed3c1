"""DescribeGroups, ListGroups, DeleteGroups: what an administrator asks."""

from __future__ import annotations

from attrs import field, frozen

from coordinator.errors import ErrorCode
from coordinator.protocol.common import Request, Response, names, tuple_of


@frozen(kw_only=True)
class DescribeGroupsRequest(Request):
    """What do these groups look like?"""

    API_KEY = 15
    VERSIONS = range(7)

    groups: tuple[str | None, ...] = field(validator=names)


@frozen(kw_only=True)
class DescribedGroupMember:
    """One member of a described group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes = b""
    member_assignment: bytes = b""


@frozen(kw_only=True)
class DescribedGroup:
    """A group as an administrator sees it."""

    group_id: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedGroupMember, ...] = ()
    authorized_operations: int = -2_147_483_648


@frozen(kw_only=True)
class DescribeGroupsResponse(Response):
    """One entry per group; errors stand in the entries."""

    groups: tuple[DescribedGroup, ...] = ()


@frozen(kw_only=True)
class ListGroupsRequest(Request):
    """Which groups are there? Empty filters let everything through."""

    API_KEY = 16
    VERSIONS = range(6)

    states_filter: tuple[str, ...] = field(default=(), validator=tuple_of(str))
    types_filter: tuple[str, ...] = field(default=(), validator=tuple_of(str))


@frozen(kw_only=True)
class ListedGroup:
    """One line of the list."""

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str = "classic"


@frozen(kw_only=True)
class ListGroupsResponse(Response):
    """The groups of all shards that this broker serves."""

    groups: tuple[ListedGroup, ...] = ()


@frozen(kw_only=True)
class DeleteGroupsRequest(Request):
    """Remove these groups and their offsets."""

    API_KEY = 42
    VERSIONS = range(3)

    groups_names: tuple[str | None, ...] = field(validator=names)


@frozen(kw_only=True)
class DeletableGroupResult:
    """Whether one group is gone."""

    group_id: str | None
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class DeleteGroupsResponse(Response):
    """One row per group; errors stand in the rows."""

    results: tuple[DeletableGroupResult, ...] = ()
