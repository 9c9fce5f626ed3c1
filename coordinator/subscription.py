"""Which topics a member of a consumer group wants, read from the bytes it joined with.

The coordinator looks into a member's metadata for this one reason: offsets of subscribed topics
neither expire nor may be deleted. It reads them by version 0 whatever version they claim to have.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from coordinator.errors import InternalFault


@lru_cache(maxsize=4_096)
def topics_of(metadata: bytes) -> tuple[str, ...] | None:
    """The topics of a subscription, or None where Kafka finds it unreadable.

    Kafka expects only that the bytes end too early where a number should stand; any other damage
    escapes its handling (`ClassicGroup#computeSubscribedTopics`), which is an `InternalFault`.
    """
    try:
        (count,) = struct.unpack_from(">i", metadata, 2)
        place = 6
        if count < 0 or count > len(metadata) - place:
            raise InternalFault(f"a subscription of {count} topics in {len(metadata)} bytes")
        topics = []
        for _ in range(count):
            (length,) = struct.unpack_from(">h", metadata, place)
            place += 2
            if length < 0 or length > len(metadata) - place:
                raise InternalFault(f"a topic name of {length} bytes in a subscription")
            topics.append(metadata[place : place + length].decode("utf-8", "replace"))
            place += length
        (user_data_length,) = struct.unpack_from(">i", metadata, place)
        if user_data_length > len(metadata) - place - 4:
            raise InternalFault(f"user data of {user_data_length} bytes in a subscription")
    except struct.error:
        return None
    return tuple(topics)


def subscription_to(*topics: str) -> bytes:
    """The smallest metadata that subscribes to these topics (version 0, no user data)."""
    names = (topic.encode() for topic in topics)
    body = b"".join(struct.pack(">h", len(name)) + name for name in names)
    return struct.pack(">hi", 0, len(topics)) + body + struct.pack(">i", -1)
