"""A lull as a value, its arithmetic, and what is asked of a member that may fall into one.

`simulation.quiet` decides who falls into one and wakes them.
"""

from __future__ import annotations

from typing import NamedTuple

from attrs import define, field

from client.consumer import Consumer
from client.group import GroupClient
from client.partitions import TopicPartition
from client.settings import ConsumerConfig
from coordinator.protocol import OffsetCommitRequest
from coordinator.timer_queue import Setting
from coordinator.timers import SessionTimer
from simulation.broker import Broker
from simulation.consumer_host import ConsumerHost
from simulation.kernel import Turn
from simulation.network import Connection, Message
from simulation.recorder import Fold

#: A network wait is never longer than this, so what may take longer to come home is played.
WAIT_MS_MAX = 5_000


class Exchange(NamedTuple):
    """A request of a lull and its answer: when it was sent, handled and heard."""

    sent_ms: int
    handled_ms: int
    heard_ms: int


@define(eq=False)
class Lull:
    """One member's quiet time: when its next commit and look at metadata are due."""

    host: ConsumerHost
    connection: Connection
    broker: Broker
    beat: Message
    interval_ms: int
    #: No answer takes longer.
    round_trip_ms: int
    commit: Message | None
    commit_at_ms: int
    commit_interval_ms: int
    refresh_at_ms: int
    timer: SessionTimer
    #: How that was set, while nobody is to be woken by it.
    session: Setting | None = None
    #: When it ends by itself, if it does.
    end: Turn | None = None
    #: What has become rows already, while the lull went on.
    counted_beats: int = 0
    counted_commits: int = 0
    #: The folds that were closed meanwhile, and when; what came before belongs to them. The first
    #: that is left stands for those that are forgotten.
    closed: list[tuple[int, Fold]] = field(factory=list)

    def fold_at(self, at_ms: int) -> Fold | None:
        """The fold that was open at that time, if it has been closed."""
        return next((fold for closed_ms, fold in self.closed if at_ms <= closed_ms), None)

    def close_fold(self, now_ms: int, fold: Fold) -> None:
        """A fold is closed now; those that nothing can belong to any more are forgotten."""
        longest_ms = max(self.interval_ms, self.commit_interval_ms) + self.round_trip_ms
        self.closed = [each for each in self.closed if each[0] >= now_ms - 2 * longest_ms]
        self.closed.append((now_ms, fold))


@define(eq=False)
class Jump:
    """Where a lull is resumed: right after the last pass before a clean moment."""

    clean_ms: int
    beats: int
    commits: int
    exchanges: list[Exchange]
    last_beat: Exchange
    last_commit: Exchange | None
    refreshes: list[Exchange]

    @property
    def pass_times(self) -> list[int]:
        """When the consumer last looked around, in order."""
        times = [self.last_beat.heard_ms]
        for each in (*self.exchanges, *self.refreshes[-1:]):
            times += [each.sent_ms, each.heard_ms]
        return sorted(time for time in times if self.last_beat.sent_ms <= time < self.clean_ms)


def due_before(before_ms: int, first_ms: int, every_ms: int) -> int:
    """How many times something was due that is due first then and again each so often."""
    if every_ms == 0 or before_ms <= first_ms:
        return 0
    return (before_ms - 1 - first_ms) // every_ms + 1


def times_from(first_ms: int, since_ms: int, until_ms: int, every_ms: int) -> range:
    """The times in this stretch of something that comes each so often, first at `first_ms`."""
    skipped = max(0, -((first_ms - since_ms) // every_ms))
    return range(first_ms + skipped * every_ms, until_ms + 1, every_ms)


def played(connection: Connection, sent: list[int]) -> list[Exchange]:
    """What becomes of requests sent at these times: order is kept, answers come at once."""
    exchanges = []
    arrived_ms = home_ms = 0
    law = connection.link.present_law
    there, back = connection.out_stream, connection.in_stream
    for sent_ms in sent:
        arrived_ms = max(arrived_ms, sent_ms + law.drawn(there, sent_ms))
        home_ms = max(home_ms, arrived_ms + law.drawn(back, arrived_ms))
        exchanges.append(Exchange(sent_ms, arrived_ms, home_ms))
    return exchanges


def times_until(since_ms: int, until_ms: int, last_ms: int, every_ms: int) -> range:
    """The times in this stretch of something that comes each so often, last at `last_ms`."""
    latest_ms = last_ms - max(0, -((until_ms - last_ms) // every_ms)) * every_ms
    return range(latest_ms, since_ms - 1, -every_ms)


def latency_out(connection: Connection, sent_ms: int) -> int:
    """How long a request takes that is sent at that time."""
    return connection.link.present_law.drawn(connection.out_stream, sent_ms)


def latency_in(connection: Connection, sent_ms: int) -> int:
    """How long an answer takes."""
    return connection.link.present_law.drawn(connection.in_stream, sent_ms)


def has_time_between(config: ConsumerConfig, round_trip_ms: int) -> bool:
    """Whether every answer is home long before the next request of its kind, or a time-out.

    Looks at metadata must be held apart by its age alone: a back-off is drawn anew when asked.
    """
    interval_ms = config.heartbeat_interval_ms
    return (
        round_trip_ms < min(interval_ms, WAIT_MS_MAX)
        and interval_ms <= config.request_timeout_ms
        and interval_ms + round_trip_ms < config.session_timeout_ms
        and not (config.enable_auto_commit and config.auto_commit_interval_ms <= round_trip_ms)
        and config.metadata_max_age_ms > max(config.retry_backoff_ms, config.retry_backoff_max_ms)
    )


def hears_in_time(host: ConsumerHost) -> bool:
    """Whether metadata comes before its time-out from any broker, even behind a fetch that waits.

    A look at metadata goes to any broker, not to the coordinator alone.
    """
    config = host.role.config
    links = [connection.link for connection in host.connections.values()]
    longest_ms = max((link.present_law.longest_ms for link in links), default=0)
    patience_ms = config.request_timeout_ms
    if config.rebootstraps:
        patience_ms = min(patience_ms, config.metadata_recovery_rebootstrap_trigger_ms)
    return 2 * longest_ms + config.fetch_max_wait_ms < patience_ms


def is_all(commit: Message, machine: Consumer, owned: int) -> bool:
    """Whether a commit of all its positions would say what this one says."""
    request, state_of = commit.request, machine.calls.subscriptions.state_or_none
    assert isinstance(request, OffsetCommitRequest)
    said = 0
    for topic in request.topics:
        for each in topic.partitions:
            state = state_of(TopicPartition(topic.name, each.partition_index))
            position = None if state is None else state.position
            if position is None or position.offset != each.committed_offset:
                return False
            said += 1
    return said == owned


def is_latest(beat: Message, group: GroupClient, machine: Consumer) -> bool:
    """Whether the next beat is still to come, an interval after this one, and a poll awaits it.

    One that has just come back from a user's callback goes by an old time, and may wait longer.
    """
    now_ms, interval_ms = machine.clock.now_ms, machine.config.heartbeat_interval_ms
    due_ms = now_ms + group.membership.heartbeat.time_to_next_ms(now_ms)
    wait, ends_ms = machine.threads.application_wait, due_ms
    if machine.config.enable_auto_commit:
        ends_ms = min(ends_ms, group.commits.auto_commit_timer.deadline_ms)
    return (
        now_ms < due_ms == beat.sent_ms + interval_ms
        and wait is not None
        and wait.deadline_ms <= ends_ms
    )


def refresh_due_ms(machine: Consumer) -> int:
    """When the next look at metadata is due."""
    metadata = machine.calls.metadata
    return metadata.last_successful_refresh_ms + metadata.metadata_max_age_ms


def is_blocked(host: ConsumerHost, machine: Consumer, connection: Connection) -> bool:
    """Whether the application waits in a poll of which it hears only when there are records.

    While a position is looked for, its poll asks again and again.
    """
    is_undisturbed = connection.is_open and not host.is_paused and not host.is_stopping
    return (
        is_undisturbed
        and machine.is_blocked_in_poll
        and machine.swallows_empty_polls
        and machine.calls.subscriptions.has_all_fetch_positions
    )


def has_a_broker_to_ask(host: ConsumerHost) -> bool:
    """Whether metadata can be asked for without opening a connection."""
    assert host.machine is not None
    network = host.machine.calls.client.network
    node = network.least_loaded_node(host.machine.clock.now_ms)
    return node is not None and node.connection in host.connections
