"""What a broker answers from its partition logs: ListOffsets, OffsetForLeaderEpoch, Fetch."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from client.errors import AnyError, DataErrorCode
from client.messages import (
    FINAL_SESSION_EPOCH,
    INITIAL_SESSION_EPOCH,
    NO_SESSION_ID,
    DataResponse,
    EpochEndOffset,
    FetchPartition,
    FetchPartitionResponse,
    FetchRequest,
    FetchResponse,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    LogEdge,
    MetadataRequest,
    MetadataResponseBroker,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    fetch_response,
    fetched_partition,
)
from coordinator import ErrorCode
from coordinator.protocol import NO_PARTITION_LEADER_EPOCH, ZERO_TOPIC_ID, Request
from simulation.cluster import PORT, SimulatedCluster, SimulatedTopic, host_of
from simulation.logs import PartitionLog

#: The kinds of requests that `DataAnswers.answer` answers.
ABOUT_DATA = frozenset({"Metadata", "ListOffsets", "OffsetForLeaderEpoch"})
#: The size of every record; what a fetch may carry is given in bytes.
RECORD_BYTES = 100
#: What a broker says of partitions that it does not look for; it waits for the others meanwhile.
_UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


@define(eq=False)
class DataAnswers:
    """One broker's dealings with records; fetch sessions are all that it remembers."""

    broker: int
    cluster: SimulatedCluster
    _sessions: dict[int, int] = field(factory=dict, init=False)
    _last_session: int = field(default=0, init=False)
    #: How many partitions of the fetch it looked at last nobody here has heard of.
    unknown: int = field(default=0, init=False)

    def answer(self, request: Request, now_ms: int) -> DataResponse:
        """The answer to a request about data that never waits."""
        if isinstance(request, MetadataRequest):
            return self.cluster.metadata(request)
        if isinstance(request, ListOffsetsRequest):
            found = tuple(self._offset(wanted, now_ms) for wanted in request.partitions)
            return ListOffsetsResponse(partitions=found)
        assert isinstance(request, OffsetForLeaderEpochRequest)
        ends = tuple(self._end_of_epoch(wanted, now_ms) for wanted in request.partitions)
        return OffsetForLeaderEpochResponse(partitions=ends)

    # --- Fetch ---

    def open_fetch(self, request: FetchRequest) -> FetchResponse | None:
        """Look at the session of a fetch; an answer if there is nothing to wait for."""
        epoch = request.session_epoch
        if epoch == FINAL_SESSION_EPOCH:
            self._sessions.pop(request.session_id, None)
            return FetchResponse()
        if epoch == INITIAL_SESSION_EPOCH:
            self._sessions.pop(request.session_id, None)
            return None
        expected = self._sessions.get(request.session_id)
        if expected is None:
            return FetchResponse(error_code=DataErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if expected != epoch:
            return FetchResponse(error_code=DataErrorCode.INVALID_FETCH_SESSION_EPOCH)
        return None

    def fetch(
        self,
        request: FetchRequest,
        wanted: Sequence[FetchPartition],
        now_ms: int,
        *,
        at_last: bool,
        unknown_before: int,
    ) -> FetchResponse | None:
        """Records or errors; None while there is too little to answer and time to wait.

        Partitions that are unknown keep the others from waiting only if they are more than before.
        """
        room = request.max_bytes // RECORD_BYTES
        is_full = request.session_epoch == INITIAL_SESSION_EPOCH
        found: list[FetchPartitionResponse] = []
        records = unknown = 0
        is_over = False
        for each in wanted:
            log = self._log_of(each)
            if log is None:
                _, error = self._find(each)
                is_unknown = error in _UNKNOWN
                unknown += is_unknown
                is_over = is_over or not is_unknown
                found.append(self._refusal(each, error))
                continue
            first = each.fetch_offset
            start, end = log.edges_at(now_ms)
            if first == end >= start and not is_full:
                continue  # An answer within a session leaves out what has no news.
            if start <= first <= end:
                last = end
                if end > first + 1:  # There is always room for one.
                    most = min(max(room - records, 1), each.partition_max_bytes // RECORD_BYTES)
                    last = min(end, first + max(1, most))
                records += last - first
                batches = log.batches(first, last)
                found.append(
                    fetched_partition(each.topic, each.partition, batches, end, end, start)
                )
            else:
                is_over = True
                found.append(_out_of_range(each, start))
        self.unknown = unknown
        if wanted and not (found or at_last):
            return None
        is_enough = records * RECORD_BYTES >= max(request.min_bytes, 1)
        is_over = is_over or unknown > unknown_before or unknown == len(wanted)
        if not (is_enough or is_over or at_last):
            return None
        session_id, endpoints = self._next_session(request), self._endpoints() if is_over else ()
        return fetch_response(session_id, tuple(found), endpoints)

    def _next_session(self, request: FetchRequest) -> int:
        if request.session_epoch == INITIAL_SESSION_EPOCH:
            self._last_session += 1
            self._sessions[self._last_session] = 1
            return self._last_session
        if request.session_id == NO_SESSION_ID:
            return NO_SESSION_ID
        self._sessions[request.session_id] = request.session_epoch + 1
        return request.session_id

    def _refusal(self, wanted: FetchPartition, error: AnyError) -> FetchPartitionResponse:
        leader, epoch = self._leader(wanted.topic, wanted.partition)
        return FetchPartitionResponse(
            topic=wanted.topic,
            partition_index=wanted.partition,
            error_code=error,
            current_leader_id=leader,
            current_leader_epoch=epoch,
        )

    def _endpoints(self) -> tuple[MetadataResponseBroker, ...]:
        return tuple(
            MetadataResponseBroker(node_id=broker, host=host_of(broker), port=PORT)
            for broker in sorted(self.cluster.up)
        )

    # --- offsets ---

    def _offset(self, wanted: ListOffsetsPartition, now_ms: int) -> ListOffsetsPartitionResponse:
        topic, partition = wanted.topic, wanted.partition_index
        found = self.cluster.topics.get(topic)
        log, error = self._led(found, partition, wanted.current_leader_epoch)
        if log is None:
            return ListOffsetsPartitionResponse(
                topic=topic, partition_index=partition, error_code=error
            )
        timestamp = None
        if wanted.timestamp is LogEdge.EARLIEST:
            offset = log.start_at(now_ms)
        elif wanted.timestamp is LogEdge.LATEST:
            offset = log.end_at(now_ms)
        else:
            assert isinstance(wanted.timestamp, int)
            offset = max(log.start_at(now_ms), log.end_at(max(wanted.timestamp - 1, 0)))
            timestamp = log.written_ms(offset)
            if offset >= log.end_at(now_ms):
                offset, timestamp = -1, None
        return ListOffsetsPartitionResponse(
            topic=topic,
            partition_index=partition,
            offset=offset,
            timestamp=timestamp,
            leader_epoch=log.epoch,
        )

    def _end_of_epoch(self, wanted: OffsetForLeaderPartition, now_ms: int) -> EpochEndOffset:
        topic = self.cluster.topics.get(wanted.topic)
        log, error = self._led(topic, wanted.partition, wanted.current_leader_epoch)
        if log is None:
            return EpochEndOffset(topic=wanted.topic, partition=wanted.partition, error_code=error)
        epoch, end = log.end_of_epoch(wanted.leader_epoch, now_ms)
        return EpochEndOffset(
            topic=wanted.topic, partition=wanted.partition, leader_epoch=epoch, end_offset=end
        )

    # --- leadership ---

    def _log_of(self, wanted: FetchPartition) -> PartitionLog | None:
        """The log that a fetch is about, if nothing is wrong with it: `_find` in one call."""
        topic, partition = self.cluster.topics.get(wanted.topic), wanted.partition
        if (
            topic is None
            or not 0 <= partition < len(topic.logs)
            or topic.leaders[partition] != self.broker
            or wanted.topic_id not in (topic.topic_id, ZERO_TOPIC_ID)
        ):
            return None
        log = topic.logs[partition]
        epoch = wanted.current_leader_epoch
        return log if epoch in (log.epoch, NO_PARTITION_LEADER_EPOCH) else None

    def _find(self, wanted: FetchPartition) -> tuple[PartitionLog | None, AnyError]:
        """The log that a fetch is about; a topic that was deleted and is back is another one."""
        topic = self.cluster.topics.get(wanted.topic)
        if topic is not None and wanted.topic_id not in (ZERO_TOPIC_ID, topic.topic_id):
            return None, ErrorCode.UNKNOWN_TOPIC_ID
        return self._led(topic, wanted.partition, wanted.current_leader_epoch)

    def _led(
        self, topic: SimulatedTopic | None, partition: int, epoch: int
    ) -> tuple[PartitionLog | None, AnyError]:
        """The log, if this broker leads it in the epoch that the client knows of; else why not."""
        if topic is None or not 0 <= partition < len(topic.logs):
            return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic.leaders[partition] != self.broker:
            return None, ErrorCode.NOT_LEADER_OR_FOLLOWER
        log = topic.logs[partition]
        if epoch not in (log.epoch, NO_PARTITION_LEADER_EPOCH):
            is_old = epoch < log.epoch
            return None, (
                ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
        return log, ErrorCode.NONE

    def _leader(self, topic: str, partition: int) -> tuple[int, int]:
        log = self.cluster.log((topic, partition))
        leader = None if log is None else self.cluster.topics[topic].leaders[partition]
        return (-1, -1) if log is None or leader is None else (leader, log.epoch)


def _out_of_range(wanted: FetchPartition, start: int) -> FetchPartitionResponse:
    return FetchPartitionResponse(
        topic=wanted.topic,
        partition_index=wanted.partition,
        error_code=ErrorCode.OFFSET_OUT_OF_RANGE,
        log_start_offset=start,
    )
