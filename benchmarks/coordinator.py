"""How fast the coordinator is, as ratios against a bare loop in the same run.

The bare loop keeps the same books with no protocol: members in a dictionary, deadlines in a
dictionary and a heap, each sign of life pushing a new deadline and dropping the stale ones. Run
it with `make bench`, or alone: `python -m benchmarks.coordinator`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from heapq import heapify, heappush

from coordinator import GroupConfig, GroupCoordinator, Outcome, SeededIds, TimerQueue
from coordinator.protocol import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Request,
    Response,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)

SESSION_MS = 45_000
PROTOCOLS = (JoinGroupRequestProtocol("range", b""),)
ROUNDS = 9


class Books:
    """What the bare loop keeps."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, int]] = {}
        self.deadlines: dict[tuple[str, str], int] = {}
        self.heap: list[tuple[int, int, tuple[str, str]]] = []
        self.count = 0

    def note(self, group_id: str, member_id: str, generation_id: int, now_ms: int) -> int:
        """A sign of life: check it, set the deadline anew, answer 0."""
        members = self.groups[group_id]
        if members.get(member_id) != generation_id:
            return 25
        key = (group_id, member_id)
        self.count += 1
        self.deadlines[key] = self.count
        heappush(self.heap, (now_ms + SESSION_MS, self.count, key))
        if len(self.heap) > 64 + 2 * len(self.deadlines):
            deadlines = self.deadlines
            self.heap = [entry for entry in self.heap if deadlines.get(entry[2]) == entry[1]]
            heapify(self.heap)
        return 0


class Broker:
    """A machine with its timers; writes are acknowledged at once."""

    def __init__(self) -> None:
        config = GroupConfig(group_initial_rebalance_delay_ms=0, offsets_topic_num_partitions=1)
        self.machine = GroupCoordinator(config, ids=SeededIds())
        self.timers = TimerQueue()
        self.replies: dict[int, Response] = {}
        self.now_ms = 0
        self.carry_out(self.machine.load(0, (), 0))

    def carry_out(self, outcome: Outcome) -> None:
        """Append, answer, wait."""
        self.timers.apply(outcome.timers)
        for reply in outcome.replies:
            self.replies[reply.request_id] = reply.response
        for write in outcome.writes:
            self.carry_out(self.machine.on_append(write, None, self.now_ms))

    def send(self, request: Request) -> None:
        """One request, and the timers that are due at once."""
        self.carry_out(self.machine.on_request(request, self.now_ms))
        while (due := self.timers.pop_due(self.now_ms)) is not None:
            self.carry_out(self.machine.on_timer(due[1], self.now_ms))

    def rebalance(self, members: dict[int, str]) -> dict[int, str]:
        """Everyone joins and syncs; the ids by number, as the answers gave them."""
        for number, member_id in members.items():
            self.send(a_join(number, member_id))
        return self.sync_all(members)

    def sync_all(self, members: dict[int, str]) -> dict[int, str]:
        """The leader's sync, then everyone else's, after a join phase."""
        joined = {number: self.replies.pop(number) for number in members}
        for number, answer in joined.items():
            assert isinstance(answer, JoinGroupResponse)
            if answer.leader == answer.member_id:
                self.send(a_sync(number, answer))
        for number, answer in joined.items():
            assert isinstance(answer, JoinGroupResponse)
            if answer.leader != answer.member_id:
                self.send(a_sync(number, answer))
            members[number] = answer.member_id
        return members


def a_join(number: int, member_id: str) -> JoinGroupRequest:
    """A member's join; without an id the coordinator gives it one (version 3)."""
    return JoinGroupRequest(
        request_id=number,
        api_version=9 if member_id else 3,
        client_id="bench",
        group_id="group",
        member_id=member_id,
        session_timeout_ms=SESSION_MS,
        protocols=PROTOCOLS,
    )


def a_sync(number: int, joined: JoinGroupResponse) -> SyncGroupRequest:
    """A member's sync; the leader's carries the plan."""
    return SyncGroupRequest(
        request_id=number,
        api_version=4,
        group_id="group",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        assignments=tuple(
            SyncGroupRequestAssignment(each.member_id, b"p") for each in joined.members
        ),
    )


def a_stable_broker(size: int) -> tuple[Broker, dict[int, str]]:
    """A broker with one Stable group of `size` members, all in one generation."""
    broker = Broker()
    members = {1: ""}
    broker.rebalance(members)
    for number in range(2, size + 1):
        broker.send(a_join(number, ""))
        members[number] = ""
    # The first member calls everybody together; newcomers are parked already.
    broker.send(a_join(1, members[1]))
    answers = {number: broker.replies.pop(number) for number in members}
    leader = next(
        (number, each)
        for number, each in answers.items()
        if isinstance(each, JoinGroupResponse) and each.leader == each.member_id
    )
    broker.send(a_sync(*leader))
    for number, each in answers.items():
        assert isinstance(each, JoinGroupResponse)
        members[number] = each.member_id
        if number != leader[0]:
            broker.send(a_sync(number, each))
    return broker, members


def cpu_seconds(machine: Callable[[], None], bare: Callable[[], None]) -> tuple[float, float]:
    """The least CPU time of each, turn by turn, so that both meet the same noise."""
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for which, work in enumerate((machine, bare)):
            start = time.process_time()
            work()
            best[which] = min(best[which], time.process_time() - start)
    return best[0], best[1]


def generation_of(broker: Broker) -> int:
    """The group's generation."""
    shard = broker.machine.slots[0].shard
    assert shard is not None
    return shard.groups["group"].generation_id


def bench_heartbeats(size: int, beats: int) -> tuple[float, float]:
    """Beats per second of the machine and of the bare loop, at one group size."""
    broker, members = a_stable_broker(size)
    generation = generation_of(broker)
    rounds = max(1, beats // size)
    requests = [
        HeartbeatRequest(group_id="group", generation_id=generation, member_id=member_id)
        for member_id in members.values()
    ]

    def machine() -> None:
        on_request, apply = broker.machine.on_request, broker.timers.apply
        for now_ms in range(rounds):
            for request in requests:
                apply(on_request(request, now_ms).timers)

    books = Books()
    books.groups["group"] = dict.fromkeys(members.values(), generation)
    calls = [("group", member_id, generation) for member_id in members.values()]

    def bare() -> None:
        note = books.note
        for now_ms in range(rounds):
            for group_id, member_id, generation_id in calls:
                note(group_id, member_id, generation_id, now_ms)

    ours, theirs = cpu_seconds(machine, bare)
    return rounds * size / ours, rounds * size / theirs


def bench_commits(size: int, commits: int) -> tuple[float, float]:
    """Commits per second, each of one partition, with its write acknowledged at once."""
    broker, members = a_stable_broker(size)
    generation = generation_of(broker)
    rounds = max(1, commits // size)
    topic = OffsetCommitRequestTopic(
        name="orders",
        partitions=(OffsetCommitRequestPartition(partition_index=0, committed_offset=7),),
    )
    requests = [
        OffsetCommitRequest(
            group_id="group", generation_id=generation, member_id=member_id, topics=(topic,)
        )
        for member_id in members.values()
    ]

    def machine() -> None:
        for _ in range(rounds):
            for request in requests:
                broker.carry_out(broker.machine.on_request(request, 0))

    books = Books()
    books.groups["group"] = dict.fromkeys(members.values(), generation)
    offsets: dict[tuple[str, str, int], int] = {}
    log: list[tuple[str, str, int, int]] = []

    def bare() -> None:
        log.clear()
        for _ in range(rounds):
            for member_id in members.values():
                books.note("group", member_id, generation, 0)
                offsets["group", "orders", 0] = 7
                log.append(("group", "orders", 0, 7))

    ours, theirs = cpu_seconds(machine, bare)
    return rounds * size / ours, rounds * size / theirs


def bench_joins(size: int) -> tuple[float, float]:
    """Joins per second: everyone rejoins a Stable group, and the last one ends the join phase."""
    broker, members = a_stable_broker(size)
    books = Books()
    books.groups["group"] = dict.fromkeys(members.values(), 0)
    ours = theirs = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for number, member_id in members.items():
            broker.send(a_join(number, member_id))
        ours = min(ours, time.process_time() - start)
        broker.sync_all(members)
        start = time.process_time()
        for member_id in members.values():
            books.note("group", member_id, 0, 0)
        theirs = min(theirs, time.process_time() - start)
    return size / ours, size / theirs


def bench_rebalance(size: int) -> tuple[float, float]:
    """CPU seconds of one whole rebalance (join and sync of everyone), and of the bare loop."""
    broker, members = a_stable_broker(size)
    books = Books()
    books.groups["group"] = dict.fromkeys(members.values(), 0)

    def machine() -> None:
        broker.rebalance(members)

    def bare() -> None:
        for member_id in members.values():
            books.note("group", member_id, 0, 0)
        for member_id in members.values():
            books.note("group", member_id, 0, 0)

    return cpu_seconds(machine, bare)


def print_rates(
    title: str, sizes: tuple[int, ...], bench: Callable[[int], tuple[float, float]]
) -> None:
    """A table of rates by the size of the group."""
    print(f"{title}, per CPU second")
    print(f"{'members':>8} {'machine':>10} {'bare loop':>10} {'ratio':>6} {'us each':>8}")
    for size in sizes:
        fast, bare = bench(size)
        print(f"{size:>8} {fast:>10,.0f} {bare:>10,.0f} {fast / bare:>6.2f} {1e6 / fast:>8.2f}")
    print()


def main() -> None:
    """Print all figures."""
    print_rates("heartbeats", (10, 100, 1_000, 10_000), lambda size: bench_heartbeats(size, 50_000))
    print_rates("joins, in a rebalance of all", (100, 1_000, 10_000), bench_joins)
    print_rates(
        "commits of one partition, written and acknowledged",
        (100,),
        lambda size: bench_commits(size, 10_000),
    )
    print("one rebalance of N members (join and sync of each), in CPU milliseconds")
    print(f"{'members':>8} {'machine':>10} {'bare loop':>10} {'ratio':>6} {'us/member':>10}")
    for size in (100, 1_000, 10_000):
        slow, bare = bench_rebalance(size)
        print(
            f"{size:>8} {slow * 1e3:>10,.1f} {bare * 1e3:>10,.2f} {bare / slow:>6.3f}"
            f" {slow / size * 1e6:>10.1f}"
        )


if __name__ == "__main__":
    main()
