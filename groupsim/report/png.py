"""PNG files made smaller, pixel for pixel the same.

vl-convert writes them in haste; flat colours without transparency take an eighth of that.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import accumulate

__all__ = ["smaller"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = ">IIBBBBB"
_RGB, _RGBA = 2, 6
#: A byte's eight bits, all of them set: an opaque pixel.
_DEPTH, _OPAQUE = 8, 255
#: How a row is told: as it is, or each pixel by its difference from the one on its left.
_AS_IT_IS, _BY_DIFFERENCE = 0, 1


def smaller(png: bytes) -> bytes:
    """The same picture; one of another kind than vl-convert's comes back as it is."""
    chunks = list(_chunks(png))
    width, height, depth, colours, *rest = struct.unpack(_HEADER, dict(chunks)[b"IHDR"])
    raw = zlib.decompress(b"".join(content for name, content in chunks if name == b"IDAT"))
    stride = 4 * width + 1
    rows = [raw[start : start + stride] for start in range(0, height * stride, stride)]
    if (depth, colours) != (_DEPTH, _RGBA) or any(row[0] > _BY_DIFFERENCE for row in rows):
        return png
    planes = [[_plane(row, channel) for channel in range(4)] for row in rows]
    if any(plane[3].strip(bytes([_OPAQUE])) for plane in planes):
        return png
    pixels = b"".join(bytes([_AS_IT_IS]) + _woven(plane[:3]) for plane in planes)
    header = struct.pack(_HEADER, width, height, depth, _RGB, *rest)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, content) for name, content in parts)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)


def _plane(row: bytes, channel: int) -> bytes:
    """One colour of a row, pixel by pixel."""
    told = row[1 + channel :: 4]
    return told if row[0] == _AS_IT_IS else bytes(sum_ & 0xFF for sum_ in accumulate(told))


def _woven(planes: list[bytes]) -> bytes:
    row = bytearray(sum(map(len, planes)))
    for channel, plane in enumerate(planes):
        row[channel :: len(planes)] = plane
    return bytes(row)
