"""What all messages share: the header of a request, the error of a reply, checks of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from attrs import Attribute, field, frozen
from attrs.validators import deep_iterable, instance_of, optional

from coordinator.errors import ErrorCode
from coordinator.protocol.making import Look, Usual, in_one_look, quickly_made

R = TypeVar("R", bound="Request")

UNKNOWN_MEMBER_ID = ""
UNKNOWN_GENERATION_ID = -1
NO_LEADER = ""
INVALID_OFFSET = -1
NO_PARTITION_LEADER_EPOCH = -1
ZERO_TOPIC_ID = ""
CONSUMER_PROTOCOL_TYPE = "consumer"

text = in_one_look(instance_of(str), "type({0}) is {1}", str)
optional_text = in_one_look(optional(instance_of(str)), "({0} is None or type({0}) is {1})", str)
number = in_one_look(instance_of(int), "type({0}) is {1}", int)
flag = in_one_look(instance_of(bool), "type({0}) is {1}", bool)
octets = in_one_look(instance_of(bytes), "type({0}) is {1}", bytes)
names = deep_iterable(optional(instance_of(str)), instance_of(tuple))

_ALL_OF_ONE = "type({0}) is tuple and (not {0} or {{*map(type, {0})}} == {1})"


def tuple_of(kind: type) -> Callable[[Any, Attribute[Any], Any], None]:
    """A check for tuples of one kind of value."""
    return in_one_look(deep_iterable(instance_of(kind), instance_of(tuple)), _ALL_OF_ONE, {kind})


def optional_tuple_of(kind: type) -> Callable[[Any, Attribute[Any], Any], None]:
    """A check for tuples of one kind of value, or None."""
    return in_one_look(optional(tuple_of(kind)), f"({{0}} is None or {_ALL_OF_ONE})", {kind})


@frozen(kw_only=True)
class Request:
    """What every request has: an id to answer to, and who sent it in which version.

    The host numbers requests; no two that are under way may have the same number.
    """

    API_KEY: ClassVar[int]
    VERSIONS: ClassVar[range]

    request_id: int = field(default=0, validator=number)
    client_id: str = field(default="", validator=text)
    client_host: str = field(default="/127.0.0.1", validator=text)
    api_version: int = field(default=-1, validator=number)

    def __attrs_post_init__(self) -> None:
        """Give the newest version to a request without one; refuse one that Kafka does not have."""
        if self.api_version == -1:
            object.__setattr__(self, "api_version", self.VERSIONS[-1])
        elif self.api_version not in self.VERSIONS:
            name, known = type(self).__name__, self.VERSIONS
            raise ValueError(
                f"api_version of {name} must be {known[0]} to {known[-1]}, not {self.api_version}"
            )


def request(kind: type[R]) -> type[R]:
    """A kind of request that is quickly made, in the newest version unless told otherwise."""
    known = kind.VERSIONS
    look = Look(f"{known[0]} <= {{0}} <= {known[-1]}", None)
    return quickly_made(kind, Usual("api_version", known[-1], look))


@frozen(kw_only=True)
class Response:
    """What every reply has: one error for all of it."""

    error_code: ErrorCode = ErrorCode.NONE
