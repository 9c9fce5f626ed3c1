"""The short ways of a consumer, and what makes it go the long one instead."""

from __future__ import annotations

from client.heartbeats import HeartbeatThread
from client.polling import PollLoop
from client.resting import Rest

#: The part, the question it asks before it goes the short way, and the answer that forbids it.
SHORT_WAYS = [
    (Rest, "_is_calm", False),
    (PollLoop, "_is_still_in_order", False),
    (HeartbeatThread, "idle_until_ms", None),
]
