"""Where new member ids come from. Kafka draws random UUIDs; we are given a source.

A source is a value with a place in it: a copied machine goes on with a copied source, so two
copies that are given the same inputs hand out the same ids.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Protocol

from attrs import define


class IdSource(Protocol):
    """Hands out one member id after the other."""

    taken: int

    def next_id(self, prefix: str, /) -> str:
        """A new member id for a client id or group instance id."""

    def copy(self) -> IdSource:
        """A source of its own that goes on from the same place."""


@define
class SeededIds:
    """Ids that follow from a seed: the k-th one is a function of the seed and k alone."""

    seed: int = 0
    taken: int = 0

    def next_id(self, prefix: str, /) -> str:
        """`prefix-uuid`, the uuid shaped like a random one (version 4)."""
        digest = blake2b(f"{self.seed}/{self.taken}".encode(), digest_size=16).hexdigest()
        self.taken += 1
        variant = "89ab"[int(digest[16], 16) & 3]
        uuid = (
            f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:]}"
        )
        return f"{prefix}-{uuid}"

    def copy(self) -> SeededIds:
        """The same seed at the same place."""
        return SeededIds(self.seed, self.taken)


@define
class ListedIds:
    """Ids given as a list, for replays; whole ids, taken in order."""

    ids: tuple[str, ...]
    taken: int = 0

    def next_id(self, _prefix: str, /) -> str:
        """The next id of the list, whatever the prefix."""
        if self.taken == len(self.ids):
            raise ValueError(f"all {len(self.ids)} listed member ids are used; one more was needed")
        self.taken += 1
        return self.ids[self.taken - 1]

    def copy(self) -> ListedIds:
        """The same list at the same place."""
        return ListedIds(self.ids, self.taken)
