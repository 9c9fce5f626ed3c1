"""Simulation: a cluster, its consumers and what happens to them, in virtual time.

The one object that a script holds. It says who is there (`topic`, `consumers`, `raw_member`), what
goes wrong and when (`crash` ... `restart`, `at`, `when`), lets time pass (`run_for`, `run_until`,
`run_until_stable`) and shows what came of it (`events`, `rebalances`).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal

from attrs import define, field

from simulation.events import Row
from simulation.recorder import MemorySink, Sink

#: A time or a length of time: milliseconds, or a text such as "500ms", "45s", "2m", "1h".
Duration = int | str
#: What a user writes: an async function that is given the consumer's calls.
Application = Callable[[Any], Coroutine[Any, Any, Any]]
#: Something to do at a time or on an event.
Action = Callable[[], object]
Quiet = Literal["skip", "play"]


@define(eq=False, kw_only=True)
class Simulation:
    """A world; the same calls with the same seed give the same rows."""

    seed: int = 0
    brokers: int = 3
    quiet: Quiet = "skip"
    title: str = ""
    sink: Sink = field(factory=MemorySink)

    # --- who and what is there ---

    def topic(self, name: str, *, partitions: int = 1, records_per_s: int = 0) -> None:
        """Create a topic whose partitions share so many records a second."""
        raise NotImplementedError

    def consumers(
        self,
        group: str,
        *names: str,
        topics: Sequence[str] = (),
        settings: Mapping[str, object] | None = None,
        app: Application | None = None,
        static: bool = False,
    ) -> None:
        """Start consumers of one group, alike but for their names."""
        raise NotImplementedError

    def raw_member(self, name: str, group: str) -> object:
        """A client that sends single requests by script, for ghosts and protocol abuse."""
        raise NotImplementedError

    # --- when ---

    def at(self, time: Duration, action: Action) -> None:
        """Do this at that time."""
        raise NotImplementedError

    def when(self, happens: Callable[[Row], bool], action: Action) -> None:
        """Do this once, right after the first row of which this holds."""
        raise NotImplementedError

    # --- what goes wrong, and right again ---

    def crash(self, client: str) -> None:
        """Let a consumer die without a word."""
        raise NotImplementedError

    def restart(self, client: str) -> None:
        """Start a consumer again that crashed or stopped, under its old name."""
        raise NotImplementedError

    def stop(self, client: str) -> None:
        """Close a consumer as an orderly application does."""
        raise NotImplementedError

    def pause(self, client: str) -> None:
        """Let a consumer's whole process stand still."""
        raise NotImplementedError

    def resume(self, client: str) -> None:
        """Let it go on."""
        raise NotImplementedError

    def partition(self, client: str, *brokers: int) -> None:
        """Let the links between a client and these brokers go silent; no brokers means all."""
        raise NotImplementedError

    def repair(self, client: str, *brokers: int) -> None:
        """Let them speak again."""
        raise NotImplementedError

    def crash_broker(self, broker: int) -> None:
        """Let a broker die; others take over what it led."""
        raise NotImplementedError

    def restart_broker(self, broker: int) -> None:
        """Bring a broker back."""
        raise NotImplementedError

    def move_coordinator(self, group: str, to: int, *, load: Duration = 0) -> None:
        """Let another broker coordinate a group, after reading its log for so long."""
        raise NotImplementedError

    # --- letting time pass ---

    @property
    def now_ms(self) -> int:
        """The present."""
        raise NotImplementedError

    def run_for(self, duration: Duration) -> None:
        """Let so much time pass."""
        raise NotImplementedError

    def run_until(self, holds: Callable[[], bool], *, within: Duration = "1h") -> None:
        """Let time pass until this holds; not within that time: `TimeoutError`."""
        raise NotImplementedError

    def run_until_stable(self, *groups: str, within: Duration = "1h") -> None:
        """Let time pass until these groups are Stable and their members own what they should."""
        raise NotImplementedError

    # --- what came of it ---

    @property
    def events(self) -> Sequence[Row]:
        """The rows so far."""
        raise NotImplementedError

    def rebalances(self, group: str) -> Iterable[Any]:
        """The group's rebalances so far, in order."""
        raise NotImplementedError
