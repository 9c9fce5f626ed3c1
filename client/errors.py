"""What a consumer raises, named as in Kafka, and which error code stands for which of them.

An application catches these. Java's own exceptions that Kafka's consumer throws for wrong use
(`IllegalStateException`, `IllegalArgumentException`) keep their names too; the second is also a
`ValueError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from coordinator.errors import ErrorCode


class DataErrorCode(Enum):
    """Codes on the wire that group coordination never sends, in the shape of `ErrorCode`."""

    CORRUPT_MESSAGE = (2, True)
    BROKER_NOT_AVAILABLE = (8, False)
    REPLICA_NOT_AVAILABLE = (9, True)
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (20, True)
    CLUSTER_AUTHORIZATION_FAILED = (31, False)
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (43, False)
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (53, False)
    FETCH_SESSION_ID_NOT_FOUND = (70, True)
    INVALID_FETCH_SESSION_EPOCH = (71, True)
    LISTENER_NOT_FOUND = (72, True)
    OFFSET_NOT_AVAILABLE = (78, True)
    THROTTLING_QUOTA_EXCEEDED = (89, True)
    FETCH_SESSION_TOPIC_ID_ERROR = (106, True)
    OFFSET_MOVED_TO_TIERED_STORAGE = (109, False)
    REBOOTSTRAP_REQUIRED = (129, False)

    def __init__(self, code: int, retriable: bool) -> None:  # noqa: FBT001 (an enum's own row)
        self.code = code
        self.retriable = retriable

    def __repr__(self) -> str:
        return f"DataErrorCode.{self.name}"


AnyError = ErrorCode | DataErrorCode


class IllegalStateException(RuntimeError):
    """The consumer was asked for something that its state does not allow."""


class IllegalArgumentException(ValueError):
    """The consumer was given a value that it cannot use."""


class UnsupportedOperationException(RuntimeError):
    """The classic consumer does not do this."""


class KafkaException(Exception):
    """The root of what Kafka's consumer raises; on its own, an unexpected answer."""

    def __init__(self, message: str = "", cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.__cause__ = cause


class ApiException(KafkaException):
    """The broker answered with an error code, or could have."""


class RetriableException(ApiException):
    """It may pass: trying again can help."""


class RefreshRetriableException(RetriableException):
    """It may pass once metadata or the coordinator have been looked up again."""


class InvalidMetadataException(RefreshRetriableException):
    """What the consumer knows of topics and brokers is out of date."""


class InvalidConfigurationException(ApiException):
    """A setting, a right or a version has to be changed first."""


class ApplicationRecoverableException(ApiException):
    """The application has to begin again, as a new member."""


class AuthenticationException(InvalidConfigurationException):
    """The broker does not believe who we are."""


class AuthorizationException(InvalidConfigurationException):
    """The broker knows us and says no."""


class InvalidOffsetException(ApiException):
    """There is no position from which to go on."""


class WakeupException(KafkaException):
    """`wakeup()` was called; not an error."""


class CommitFailedException(KafkaException):
    """The commit cannot succeed: the member is no longer in the group."""


class RetriableCommitFailedException(RetriableException):
    """An asynchronous commit failed in a way that may pass; nobody repeats it."""


class LogTruncationException(InvalidOffsetException):
    """The log was cut below the position, and no reset policy says where to go."""


class NoOffsetForPartitionException(InvalidOffsetException):
    """Nothing is committed, and no reset policy says where to begin."""


class DisconnectException(RetriableException):
    """The connection went away before the answer came."""


class NoAvailableBrokersException(InvalidMetadataException):
    """No broker can be asked right now."""


class StaleMetadataException(InvalidMetadataException):
    """No leader is known for what is asked."""


class UnjoinedGroupException(RetriableException):
    """The join was answered after the member had left; it joins again."""


def _named(name: str, parent: type[KafkaException]) -> type[KafkaException]:
    """An exception that is no more than its name."""
    made = type(name, (parent,), {"__doc__": f"Kafka's `{name}`.", "__module__": __name__})
    globals()[name] = made
    return made


class CoordinatorLoadInProgressException(RetriableException):
    """The coordinator is still reading the group from its log."""


class CoordinatorNotAvailableException(RefreshRetriableException):
    """There is no coordinator right now."""


class NotCoordinatorException(RefreshRetriableException):
    """That broker does not coordinate this group."""


class TimeoutException(RetriableException):
    """Something took longer than it may."""


class UnknownMemberIdException(ApplicationRecoverableException):
    """The group does not know this member."""


class IllegalGenerationException(ApplicationRecoverableException):
    """The group is in another generation."""


class FencedInstanceIdException(ApplicationRecoverableException):
    """Another member joined with the same `group.instance.id`."""


class MemberIdRequiredException(ApiException):
    """A new member must join again with the id it was given."""


class RebalanceInProgressException(ApiException):
    """The group is rebalancing; poll first."""


class GroupAuthorizationException(AuthorizationException):
    """The group may not be used."""


class TopicAuthorizationException(AuthorizationException):
    """Some topic may not be used."""


class InvalidTopicException(InvalidConfigurationException):
    """Some topic's name is not a valid one."""


class InvalidGroupIdException(ApiException):
    """No `group.id`, or one that cannot be used."""


class GroupMaxSizeReachedException(ApiException):
    """The group is full."""


class InconsistentGroupProtocolException(ApiException):
    """The members have no protocol in common, or the answer speaks of another one."""


class OffsetOutOfRangeException(InvalidOffsetException):
    """The log does not reach to this position, and no reset policy says where to go."""


class UnstableOffsetCommitException(RetriableException):
    """Some offset is not decided yet."""


class NotLeaderOrFollowerException(InvalidMetadataException):
    """That broker does not have the partition."""


#: The exception that a code stands for.
EXCEPTIONS: Mapping[AnyError, type[KafkaException]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: _named("UnknownServerException", ApiException),
    ErrorCode.OFFSET_OUT_OF_RANGE: OffsetOutOfRangeException,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: _named(
        "UnknownTopicOrPartitionException", InvalidMetadataException
    ),
    ErrorCode.INVALID_FETCH_SIZE: _named("InvalidFetchSizeException", ApiException),
    ErrorCode.LEADER_NOT_AVAILABLE: _named("LeaderNotAvailableException", InvalidMetadataException),
    ErrorCode.NOT_LEADER_OR_FOLLOWER: NotLeaderOrFollowerException,
    ErrorCode.REQUEST_TIMED_OUT: TimeoutException,
    ErrorCode.MESSAGE_TOO_LARGE: _named("RecordTooLargeException", ApiException),
    ErrorCode.OFFSET_METADATA_TOO_LARGE: _named("OffsetMetadataTooLarge", ApiException),
    ErrorCode.NETWORK_EXCEPTION: _named("NetworkException", InvalidMetadataException),
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: CoordinatorLoadInProgressException,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: CoordinatorNotAvailableException,
    ErrorCode.NOT_COORDINATOR: NotCoordinatorException,
    ErrorCode.INVALID_TOPIC_EXCEPTION: InvalidTopicException,
    ErrorCode.RECORD_LIST_TOO_LARGE: _named(
        "RecordBatchTooLargeException", InvalidConfigurationException
    ),
    ErrorCode.NOT_ENOUGH_REPLICAS: _named("NotEnoughReplicasException", RetriableException),
    ErrorCode.ILLEGAL_GENERATION: IllegalGenerationException,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: InconsistentGroupProtocolException,
    ErrorCode.INVALID_GROUP_ID: InvalidGroupIdException,
    ErrorCode.UNKNOWN_MEMBER_ID: UnknownMemberIdException,
    ErrorCode.INVALID_SESSION_TIMEOUT: _named("InvalidSessionTimeoutException", ApiException),
    ErrorCode.REBALANCE_IN_PROGRESS: RebalanceInProgressException,
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE: _named("InvalidCommitOffsetSizeException", ApiException),
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationException,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationException,
    ErrorCode.UNSUPPORTED_VERSION: _named(
        "UnsupportedVersionException", InvalidConfigurationException
    ),
    ErrorCode.INVALID_REQUEST: _named("InvalidRequestException", ApiException),
    ErrorCode.KAFKA_STORAGE_ERROR: _named("KafkaStorageException", InvalidMetadataException),
    ErrorCode.NON_EMPTY_GROUP: _named("GroupNotEmptyException", ApiException),
    ErrorCode.GROUP_ID_NOT_FOUND: _named("GroupIdNotFoundException", ApiException),
    ErrorCode.FENCED_LEADER_EPOCH: _named("FencedLeaderEpochException", InvalidMetadataException),
    ErrorCode.UNKNOWN_LEADER_EPOCH: _named("UnknownLeaderEpochException", RetriableException),
    ErrorCode.MEMBER_ID_REQUIRED: MemberIdRequiredException,
    ErrorCode.GROUP_MAX_SIZE_REACHED: GroupMaxSizeReachedException,
    ErrorCode.FENCED_INSTANCE_ID: FencedInstanceIdException,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: _named("GroupSubscribedToTopicException", ApiException),
    ErrorCode.UNSTABLE_OFFSET_COMMIT: UnstableOffsetCommitException,
    ErrorCode.UNKNOWN_TOPIC_ID: _named("UnknownTopicIdException", InvalidMetadataException),
    ErrorCode.INCONSISTENT_TOPIC_ID: _named(
        "InconsistentTopicIdException", InvalidMetadataException
    ),
    ErrorCode.FENCED_MEMBER_EPOCH: _named("FencedMemberEpochException", ApiException),
    ErrorCode.UNRELEASED_INSTANCE_ID: _named("UnreleasedInstanceIdException", ApiException),
    ErrorCode.UNSUPPORTED_ASSIGNOR: _named("UnsupportedAssignorException", ApiException),
    ErrorCode.STALE_MEMBER_EPOCH: _named("StaleMemberEpochException", ApiException),
    ErrorCode.TRANSACTION_ABORTABLE: _named("TransactionAbortableException", ApiException),
    ErrorCode.INVALID_REGULAR_EXPRESSION: _named("InvalidRegularExpression", ApiException),
    DataErrorCode.CORRUPT_MESSAGE: _named("CorruptRecordException", RetriableException),
    DataErrorCode.BROKER_NOT_AVAILABLE: _named("BrokerNotAvailableException", ApiException),
    DataErrorCode.REPLICA_NOT_AVAILABLE: _named(
        "ReplicaNotAvailableException", InvalidMetadataException
    ),
    DataErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _named(
        "NotEnoughReplicasAfterAppendException", RetriableException
    ),
    DataErrorCode.CLUSTER_AUTHORIZATION_FAILED: _named(
        "ClusterAuthorizationException", AuthorizationException
    ),
    DataErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: _named(
        "UnsupportedForMessageFormatException", InvalidConfigurationException
    ),
    DataErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _named(
        "TransactionalIdAuthorizationException", AuthorizationException
    ),
    DataErrorCode.FETCH_SESSION_ID_NOT_FOUND: _named(
        "FetchSessionIdNotFoundException", RetriableException
    ),
    DataErrorCode.INVALID_FETCH_SESSION_EPOCH: _named(
        "InvalidFetchSessionEpochException", RetriableException
    ),
    DataErrorCode.LISTENER_NOT_FOUND: _named("ListenerNotFoundException", InvalidMetadataException),
    DataErrorCode.OFFSET_NOT_AVAILABLE: _named("OffsetNotAvailableException", RetriableException),
    DataErrorCode.THROTTLING_QUOTA_EXCEEDED: _named(
        "ThrottlingQuotaExceededException", RetriableException
    ),
    DataErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: _named(
        "FetchSessionTopicIdException", RetriableException
    ),
    DataErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE: _named(
        "OffsetMovedToTieredStorageException", ApiException
    ),
    DataErrorCode.REBOOTSTRAP_REQUIRED: _named("RebootstrapRequiredException", ApiException),
}


def exception_of(error: AnyError) -> KafkaException:
    """A fresh exception for a code."""
    return EXCEPTIONS[error](error.name)


def is_retriable(error: AnyError) -> bool:
    """Whether Kafka's exception for this code is a retriable one."""
    return issubclass(EXCEPTIONS[error], RetriableException)


def is_stale_metadata(error: AnyError) -> bool:
    """Whether this code says that metadata is out of date."""
    return error is not ErrorCode.NONE and issubclass(EXCEPTIONS[error], InvalidMetadataException)
