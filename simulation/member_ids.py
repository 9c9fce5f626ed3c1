"""Member ids that follow from the run's seed, each client's apart from all others'."""

from __future__ import annotations

from attrs import define, field

from coordinator import SeededIds
from simulation.chance import stream_key


@define
class IdsByClient:
    """A client's k-th id is a function of the seed, its name and k: who else joins shifts none."""

    seed: int = 0
    taken: int = 0
    _by_client: dict[str, int] = field(factory=dict)

    def next_id(self, prefix: str, /) -> str:
        """The next id of this client id or group instance id."""
        k = self._by_client.get(prefix, 0)
        self._by_client[prefix] = k + 1
        self.taken += 1
        return SeededIds(stream_key(self.seed, f"ids/{prefix}"), k).next_id(prefix)

    def copy(self) -> IdsByClient:
        """The same seed at the same place."""
        return IdsByClient(self.seed, self.taken, dict(self._by_client))
