"""What takes a script longer than a moment: rolling restarts, scaling in steps, an autoscaler.

Each is a generator that yields what it waits for: a length of time, or something that must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import define, frozen

from coordinator.java_order import partition_for
from simulation.events import EventKind, Row, WorldEventKind
from simulation.scenarios.actions import Autoscale, RollingRestart, Scale, Wait
from simulation.scenarios.company import Company
from simulation.world import Simulation

#: After rows of these kinds a group may have come to rest, or a consumer may be gone.
_TELLING = frozenset(
    {
        EventKind.STATE_CHANGED.value,
        WorldEventKind.CONSUMER_STOPPED.value,
        WorldEventKind.CONSUMER_CRASHED.value,
    }
)


@frozen
class Until:
    """Something to wait for; looked at now, and whenever something happens that may matter."""

    holds: Callable[[], bool]


Process = Iterator[int | Until]


@define(eq=False)
class Processes:
    """Runs processes in the time of a run."""

    sim: Simulation
    company: Company

    def go(self, process: Process) -> None:
        """Let a process go on until it waits again."""
        wanted = next(process, None)
        if isinstance(wanted, Until):
            self._wait(process, wanted)
        elif wanted is not None:
            self.sim.after(wanted, lambda: self.go(process))

    def _wait(self, process: Process, until: Until) -> None:
        if until.holds():
            self.go(process)
        else:
            self.sim.when(_may_matter, lambda: self._wait(process, until))

    # --- restarts ---

    def rolling_restart(self, action: RollingRestart) -> Process:
        """Replace the members who run now, some at a time."""
        names = self.company.running(action.group)
        step = action.surge or action.unavailable
        replace = self._replace_after if action.surge else self._replace_in_place
        for first in range(0, len(names), step):
            yield from replace(action, names[first : first + step])
            if action.wait is Wait.STABLE:
                yield Until(lambda: self.sim.is_stable(action.group))
            if action.pause:
                yield action.pause

    def _replace_in_place(self, action: RollingRestart, names: list[str]) -> Process:
        company = self.company
        for name in names:
            company.change(name, action.settings, action.app)
            company.end(name, action.stop, action.close)
        yield Until(lambda: company.are_gone(names))
        if action.down:
            yield action.down
        for name in names:
            company.start(name)

    def _replace_after(self, action: RollingRestart, names: list[str]) -> Process:
        company = self.company
        for name in names:
            twin = company.new_name(f"{name}-v", range(2, 1_000_000))
            company.hire(company.people[name].named(twin).changed(action.settings, action.app))
            company.start(twin)
        if action.down:
            yield action.down
        for name in names:
            company.end(name, action.stop, action.close)

    # --- scaling ---

    def scale(self, action: Scale) -> Process:
        """Start or stop members, one after the other, until so many run."""
        names = self.company.running(action.group)
        leaving = list(reversed(names[action.to :]))
        for n in range(action.to - len(names)):
            if n and action.stagger:
                yield action.stagger
            self._add_one(action.group)
        for n, name in enumerate(leaving):
            if n and action.stagger:
                yield action.stagger
            self.company.end(name, action.stop)

    def _add_one(self, group: str) -> None:
        """Start one who is not running, or a new one like the last."""
        company = self.company
        free = company.idle(group)
        if free:
            company.start(free[0])
            return
        last = [person for person in company.people.values() if person.group == group][-1]
        name = company.new_name(f"{group}-", range(1, 1_000_000))
        company.hire(last.named(name))
        company.start(name)

    # --- an autoscaler ---

    def autoscale(self, action: Autoscale) -> Process:
        """Look at the lag every so often, and scale by it."""
        seen: list[tuple[int, int]] = []
        while True:
            yield action.every
            now_ms = self.sim.now_ms
            if action.until is not None and now_ms > action.until:
                return
            wanted = self._wanted(action)
            seen.append((now_ms, wanted))
            seen = [each for each in seen if each[0] > now_ms - action.cooldown] or seen[-1:]
            running = len(self.company.running(action.group))
            # More at once; fewer only if nobody has wanted more for a while.
            target = wanted if wanted > running else min(running, max(n for _, n in seen))
            if target != running:
                self.go(self.scale(Scale(group=action.group, to=target, stop=action.stop)))

    def _wanted(self, action: Autoscale) -> int:
        lag = committed_lag(self.sim, action.group)
        return min(action.most, max(action.least, -(-lag // action.lag_per_member)))


def committed_lag(sim: Simulation, group: str) -> int:
    """How many records lie behind what a group has committed; what it never read is not counted."""
    stage = sim.stage
    broker = stage.coordinator_of(group)
    shards = stage.group_config.offsets_topic_num_partitions
    slot = None if broker is None else broker.machine.slots.get(partition_for(group, shards))
    if slot is None or slot.shard is None:
        return 0
    lag = 0
    for (topic, partition), committed in slot.shard.offsets.get(group, {}).items():
        log = stage.cluster.log((topic, partition))
        if log is not None:
            lag += max(0, log.end_at(sim.now_ms) - committed.committed_offset)
    return lag


def _may_matter(row: Row) -> bool:
    is_synced = row.kind == WorldEventKind.REPLY_RECEIVED.value and row.request == "SyncGroup"
    return is_synced or row.kind in _TELLING
