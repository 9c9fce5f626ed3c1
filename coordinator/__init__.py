"""Kafka's group coordinator, pure: no clock, no I/O, no randomness.

Read machine.py (the doors), then states.py (the tables), then the handler you came for: join.py,
rebalance.py, sync.py, heartbeat.py, leave.py, offsets.py, expiry.py, admin.py. `LocalCoordinator`
in local.py is the whole of it in one object, by the wall clock, for unit tests.

PYTEST_DONT_REWRITE: what is asserted here is for us to read, and pytest may come after an import.
"""

from coordinator.cluster import ClusterView, Topic
from coordinator.config import GroupConfig
from coordinator.errors import CoordinatorError, ErrorCode
from coordinator.events import Event, EventKind
from coordinator.ids import IdSource, ListedIds, SeededIds
from coordinator.local import LocalCoordinator, LocalMember
from coordinator.machine import GroupCoordinator
from coordinator.outcome import Outcome, Reply, Write
from coordinator.shard import ShardStatus
from coordinator.states import GroupState
from coordinator.timer_queue import TimerQueue

__all__ = [
    "ClusterView",
    "CoordinatorError",
    "ErrorCode",
    "Event",
    "EventKind",
    "GroupConfig",
    "GroupCoordinator",
    "GroupState",
    "IdSource",
    "ListedIds",
    "LocalCoordinator",
    "LocalMember",
    "Outcome",
    "Reply",
    "SeededIds",
    "ShardStatus",
    "TimerQueue",
    "Topic",
    "Write",
]
