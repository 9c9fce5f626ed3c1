"""The few field types that consumers' own bytes are made of, big-endian as on Kafka's wire."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import repeat

from attrs import define

from client.assignors.interface import TopicPartition

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_unpack_int16, _unpack_int32 = _INT16.unpack_from, _INT32.unpack_from

#: A signed number of 16 bits, and one of 32.
int16_field: Callable[[int], bytes] = _INT16.pack
int32_field: Callable[[int], bytes] = _INT32.pack


class SchemaError(ValueError):
    """Bytes end too early or hold an impossible length; whoever sent them is at fault."""


def text_field(text: str | None) -> bytes:
    """A string with its length; null has length -1."""
    if text is None:
        return int16_field(-1)
    encoded = text.encode()
    return int16_field(len(encoded)) + encoded


def texts_field(texts: Collection[str]) -> bytes:
    """An array of strings."""
    return int32_field(len(texts)) + b"".join(map(text_field, texts))


def bytes_field(data: bytes | None) -> bytes:
    """Bytes with their length; null has length -1."""
    return int32_field(-1) if data is None else int32_field(len(data)) + data


def partitions_field(by_topic: Iterable[tuple[str, Sequence[int]]]) -> bytes:
    """An array of topics, each with an array of its partitions."""
    topics = [
        text_field(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for topic, numbers in by_topic
    ]
    return int32_field(len(topics)) + b"".join(topics)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partitions gathered under their topics, both in order of first appearance."""
    gathered: dict[str, list[int]] = {}
    for topic, number in partitions:
        if topic not in gathered:
            gathered[topic] = []
        gathered[topic].append(number)
    return gathered


@define
class ByteReader:
    """Reads one field after the other; what does not fit is a `SchemaError`."""

    data: bytes
    place: int = 0

    def int16(self) -> int:
        """The next signed 16-bit number."""
        place = self.place
        try:
            number: int = _unpack_int16(self.data, place)[0]
        except struct.error as error:
            raise self._no_number() from error
        self.place = place + 2
        return number

    def int32(self) -> int:
        """The next signed 32-bit number."""
        place = self.place
        try:
            number: int = _unpack_int32(self.data, place)[0]
        except struct.error as error:
            raise self._no_number() from error
        self.place = place + 4
        return number

    def text(self) -> str:
        """The next string, which must not be null."""
        return self._take(self.int16()).decode("utf-8", "replace")

    def nullable_text(self) -> str | None:
        """The next string, or None for null."""
        length = self.int16()
        return None if length < 0 else self._take(length).decode("utf-8", "replace")

    def texts(self) -> tuple[str, ...]:
        """The next array of strings."""
        return tuple([self.text() for _ in range(self._count())])

    def nullable_bytes(self) -> bytes | None:
        """The next bytes, or None for null."""
        length = self.int32()
        return None if length < 0 else self._take(length)

    def partitions(self) -> tuple[TopicPartition, ...]:
        """The next array of topics with their partitions, as one flat list."""
        found: list[TopicPartition] = []
        for _ in range(self._count()):
            topic = self.text()
            count = self._count()
            numbers = struct.unpack(f">{count}i", self._take(4 * count))
            found.extend(zip(repeat(topic), numbers))
        return tuple(found)

    def _count(self) -> int:
        count = self.int32()
        if not 0 <= count <= len(self.data) - self.place:
            raise SchemaError(f"an array of {count} entries at byte {self.place - 4}")
        return count

    def _no_number(self) -> SchemaError:
        return SchemaError(f"no number at byte {self.place} of {len(self.data)}")

    def _take(self, length: int) -> bytes:
        start, self.place = self.place, self.place + length
        if length < 0 or self.place > len(self.data):
            raise SchemaError(f"{length} bytes wanted at byte {start} of {len(self.data)}")
        return self.data[start : self.place]
