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


class UnknownServerException(ApiException):
    """The broker failed in a way that has no code of its own."""


class UnknownTopicOrPartitionException(InvalidMetadataException):
    """That broker knows no such topic or partition."""


class InvalidFetchSizeException(ApiException):
    """A fetch asked for an impossible size."""


class LeaderNotAvailableException(InvalidMetadataException):
    """The partition has no leader right now."""


class RecordTooLargeException(ApiException):
    """A record is larger than it may be."""


class OffsetMetadataTooLarge(ApiException):
    """The text committed with an offset is too long."""


class NetworkException(InvalidMetadataException):
    """The connection went away while the broker answered."""


class RecordBatchTooLargeException(InvalidConfigurationException):
    """A batch is larger than a log segment."""


class NotEnoughReplicasException(RetriableException):
    """Too few replicas are in sync."""


class InvalidSessionTimeoutException(ApiException):
    """The session timeout is outside the broker's limits."""


class InvalidCommitOffsetSizeException(ApiException):
    """The offsets to commit do not fit into a record."""


class UnsupportedVersionException(InvalidConfigurationException):
    """The broker does not speak this version."""


class InvalidRequestException(ApiException):
    """The request contradicts itself."""


class KafkaStorageException(InvalidMetadataException):
    """The broker's disk failed."""


class GroupNotEmptyException(ApiException):
    """The group still has members."""


class GroupIdNotFoundException(ApiException):
    """There is no such group."""


class FencedLeaderEpochException(InvalidMetadataException):
    """The leader epoch that was sent is older than the present one."""


class UnknownLeaderEpochException(RetriableException):
    """The leader epoch that was sent is newer than the broker knows."""


class GroupSubscribedToTopicException(ApiException):
    """Members of the group subscribe to the topic."""


class UnknownTopicIdException(InvalidMetadataException):
    """That broker knows no topic of this id."""


class InconsistentTopicIdException(InvalidMetadataException):
    """The topic's id is not the one in the log."""


class FencedMemberEpochException(ApiException):
    """The member epoch is over (KIP-848)."""


class UnreleasedInstanceIdException(ApiException):
    """The instance id is still held by another member (KIP-848)."""


class UnsupportedAssignorException(ApiException):
    """The group has no such assignor (KIP-848)."""


class StaleMemberEpochException(ApiException):
    """The member epoch is not the present one (KIP-848)."""


class TransactionAbortableException(ApiException):
    """The transaction must be aborted."""


class InvalidRegularExpression(ApiException):
    """The pattern cannot be read."""


class CorruptRecordException(RetriableException):
    """A record does not match its checksum."""


class BrokerNotAvailableException(ApiException):
    """The broker is not available."""


class ReplicaNotAvailableException(InvalidMetadataException):
    """That broker has no replica to read from."""


class NotEnoughReplicasAfterAppendException(RetriableException):
    """Too few replicas were in sync once the record was written."""


class ClusterAuthorizationException(AuthorizationException):
    """The cluster may not be used like this."""


class UnsupportedForMessageFormatException(InvalidConfigurationException):
    """The log is too old to be asked this."""


class TransactionalIdAuthorizationException(AuthorizationException):
    """The transactional id may not be used."""


class FetchSessionIdNotFoundException(RetriableException):
    """The broker has forgotten the fetch session."""


class InvalidFetchSessionEpochException(RetriableException):
    """The fetch session is at another request."""


class ListenerNotFoundException(InvalidMetadataException):
    """The leader has no address for us."""


class OffsetNotAvailableException(RetriableException):
    """The leader cannot say yet; it has just been elected."""


class ThrottlingQuotaExceededException(RetriableException):
    """Too much was asked in too short a time."""


class FetchSessionTopicIdException(RetriableException):
    """The fetch session mixes topics with and without ids."""


class OffsetMovedToTieredStorageException(ApiException):
    """The offset lies in remote storage."""


class RebootstrapRequiredException(ApiException):
    """The broker wants the client to begin from its bootstrap addresses."""


#: The exception that a code stands for.
EXCEPTIONS: Mapping[AnyError, type[KafkaException]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: UnknownServerException,
    ErrorCode.OFFSET_OUT_OF_RANGE: OffsetOutOfRangeException,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicOrPartitionException,
    ErrorCode.INVALID_FETCH_SIZE: InvalidFetchSizeException,
    ErrorCode.LEADER_NOT_AVAILABLE: LeaderNotAvailableException,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: NotLeaderOrFollowerException,
    ErrorCode.REQUEST_TIMED_OUT: TimeoutException,
    ErrorCode.MESSAGE_TOO_LARGE: RecordTooLargeException,
    ErrorCode.OFFSET_METADATA_TOO_LARGE: OffsetMetadataTooLarge,
    ErrorCode.NETWORK_EXCEPTION: NetworkException,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: CoordinatorLoadInProgressException,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: CoordinatorNotAvailableException,
    ErrorCode.NOT_COORDINATOR: NotCoordinatorException,
    ErrorCode.INVALID_TOPIC_EXCEPTION: InvalidTopicException,
    ErrorCode.RECORD_LIST_TOO_LARGE: RecordBatchTooLargeException,
    ErrorCode.NOT_ENOUGH_REPLICAS: NotEnoughReplicasException,
    ErrorCode.ILLEGAL_GENERATION: IllegalGenerationException,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: InconsistentGroupProtocolException,
    ErrorCode.INVALID_GROUP_ID: InvalidGroupIdException,
    ErrorCode.UNKNOWN_MEMBER_ID: UnknownMemberIdException,
    ErrorCode.INVALID_SESSION_TIMEOUT: InvalidSessionTimeoutException,
    ErrorCode.REBALANCE_IN_PROGRESS: RebalanceInProgressException,
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE: InvalidCommitOffsetSizeException,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationException,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationException,
    ErrorCode.UNSUPPORTED_VERSION: UnsupportedVersionException,
    ErrorCode.INVALID_REQUEST: InvalidRequestException,
    ErrorCode.KAFKA_STORAGE_ERROR: KafkaStorageException,
    ErrorCode.NON_EMPTY_GROUP: GroupNotEmptyException,
    ErrorCode.GROUP_ID_NOT_FOUND: GroupIdNotFoundException,
    ErrorCode.FENCED_LEADER_EPOCH: FencedLeaderEpochException,
    ErrorCode.UNKNOWN_LEADER_EPOCH: UnknownLeaderEpochException,
    ErrorCode.MEMBER_ID_REQUIRED: MemberIdRequiredException,
    ErrorCode.GROUP_MAX_SIZE_REACHED: GroupMaxSizeReachedException,
    ErrorCode.FENCED_INSTANCE_ID: FencedInstanceIdException,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: GroupSubscribedToTopicException,
    ErrorCode.UNSTABLE_OFFSET_COMMIT: UnstableOffsetCommitException,
    ErrorCode.UNKNOWN_TOPIC_ID: UnknownTopicIdException,
    ErrorCode.INCONSISTENT_TOPIC_ID: InconsistentTopicIdException,
    ErrorCode.FENCED_MEMBER_EPOCH: FencedMemberEpochException,
    ErrorCode.UNRELEASED_INSTANCE_ID: UnreleasedInstanceIdException,
    ErrorCode.UNSUPPORTED_ASSIGNOR: UnsupportedAssignorException,
    ErrorCode.STALE_MEMBER_EPOCH: StaleMemberEpochException,
    ErrorCode.TRANSACTION_ABORTABLE: TransactionAbortableException,
    ErrorCode.INVALID_REGULAR_EXPRESSION: InvalidRegularExpression,
    DataErrorCode.CORRUPT_MESSAGE: CorruptRecordException,
    DataErrorCode.BROKER_NOT_AVAILABLE: BrokerNotAvailableException,
    DataErrorCode.REPLICA_NOT_AVAILABLE: ReplicaNotAvailableException,
    DataErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: NotEnoughReplicasAfterAppendException,
    DataErrorCode.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationException,
    DataErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: UnsupportedForMessageFormatException,
    DataErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: TransactionalIdAuthorizationException,
    DataErrorCode.FETCH_SESSION_ID_NOT_FOUND: FetchSessionIdNotFoundException,
    DataErrorCode.INVALID_FETCH_SESSION_EPOCH: InvalidFetchSessionEpochException,
    DataErrorCode.LISTENER_NOT_FOUND: ListenerNotFoundException,
    DataErrorCode.OFFSET_NOT_AVAILABLE: OffsetNotAvailableException,
    DataErrorCode.THROTTLING_QUOTA_EXCEEDED: ThrottlingQuotaExceededException,
    DataErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: FetchSessionTopicIdException,
    DataErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE: OffsetMovedToTieredStorageException,
    DataErrorCode.REBOOTSTRAP_REQUIRED: RebootstrapRequiredException,
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
