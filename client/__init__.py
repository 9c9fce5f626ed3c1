"""The consumer side of a group: membership, heartbeats, fetching, commits, without I/O or clock.

Read `consumer.py` for the machine and its doors, `calls.py` for what an application may call, then
`group.py` for one turn of a poll and `heartbeats.py` for the thread beside it. The tables are in
`states.py` and `actions.py`.

PYTEST_DONT_REWRITE: what is asserted here is for us to read, and pytest may come after an import.
"""

from client.applications import CommitMode, PollLoop, ResultStore, RunningLoop, Stall
from client.backoff import Chance, NoChance
from client.calls import AsyncConsumer
from client.connections import Link
from client.consumer import Consumer, UnknownRequest
from client.listeners import ConsumerInterceptor, RebalanceListener
from client.membership import CloseOperation
from client.outputs import ConnectionAttempted, ConnectionClosed, RequestSent
from client.partitions import OffsetAndMetadata, TopicPartition
from client.records import ConsumerRecord, ConsumerRecords, RecordRange
from client.settings import ConsumerConfig, consumer_config
from client.workloads import ConstantTime, DrawnTime, SlowRecord

__all__ = [
    "AsyncConsumer",
    "Chance",
    "CloseOperation",
    "CommitMode",
    "ConnectionAttempted",
    "ConnectionClosed",
    "ConstantTime",
    "Consumer",
    "ConsumerConfig",
    "ConsumerInterceptor",
    "ConsumerRecord",
    "ConsumerRecords",
    "DrawnTime",
    "Link",
    "NoChance",
    "OffsetAndMetadata",
    "PollLoop",
    "RebalanceListener",
    "RecordRange",
    "RequestSent",
    "ResultStore",
    "RunningLoop",
    "SlowRecord",
    "Stall",
    "TopicPartition",
    "UnknownRequest",
    "consumer_config",
]
