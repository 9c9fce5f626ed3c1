"""The short ways of consumers and brokers, and what makes them go the long one instead."""

from __future__ import annotations

from client.dispatch import ConsumerNetworkClient
from client.following import Following
from client.group import GroupClient
from client.heartbeats import HeartbeatThread
from client.polling import PollLoop
from client.resting import Rest
from coordinator import GroupCoordinator
from simulation.beats import BeatWay, CommitWay

#: The part, the question it asks before it goes the short way, and the answer that forbids it.
ShortWay = tuple[object, str, object]

#: Those of a consumer.
SHORT_WAYS: list[ShortWay] = [
    (Rest, "_is_calm", False),
    (Rest, "_start_pulse", None),
    (Rest, "go_on", None),
    (Following, "_can_begin", False),
    (PollLoop, "_is_still_in_order", False),
    (PollLoop, "_pending_ms", 0),
    (GroupClient, "takes_pending_turn", False),
    (ConsumerNetworkClient, "_only_sends", False),
    (HeartbeatThread, "idle_until_ms", None),
]

#: Those of a broker, and between the two.
SHORT_WAYS_OF_BROKERS: list[ShortWay] = [
    (BeatWay, "leave", False),
    (CommitWay, "leave", False),
    (GroupCoordinator, "commit_at_once", None),
    (GroupCoordinator, "commit_again", None),
    (GroupCoordinator, "beat_at_once", None),
]
