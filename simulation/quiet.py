"""What need not be played while nothing happens: the lulls of members.

A member is in a lull when nothing but heartbeats, commits of unchanged positions and looks at
unchanged metadata would happen to it. It is woken before anything else touches it: counters and
deadlines jump to the last moment at which nothing of its was on the wire, and from there the
ordinary code plays on, aside from everybody else, up to the present. That is exact because every
draw is a function of the moment; `Simulation(quiet="play")` plays every beat and gives the same
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter

from attrs import define, field

from client.consumer import Consumer
from client.group import GroupClient
from client.messages import FetchRequest, MetadataRequest
from client.states import MemberState
from coordinator.states import STABLE
from coordinator.timers import SessionTimer
from simulation.broker import Broker
from simulation.consumer_host import ConsumerHost
from simulation.idle_fetch import IdleFetch
from simulation.kernel import Rank, Turn
from simulation.lull import (
    WAIT_MS_MAX,
    Exchange,
    Jump,
    Lull,
    due_before,
    has_a_broker_to_ask,
    has_time_between,
    hears_in_time,
    is_all,
    is_blocked,
    is_latest,
    latency_in,
    latency_out,
    played,
    refresh_due_ms,
    times_from,
    times_until,
)
from simulation.network import Message
from simulation.recorder import Fold
from simulation.stage import Stage

#: A lull that lasts fewer beats costs more than to play them; and for so many a group must have
#: been stable before a member that had such a short one falls into the next.
_LAPS_TO_PAY = 4
#: So many beats back we look for a clean moment before we play the whole lull.
_LAPS_MAX = 200
_STABLE_MEMBER = MemberState.STABLE


@define(eq=False, repr=False)
class Lulls:
    """Who is in a lull."""

    stage: Stage
    _lulls: dict[str, Lull] = field(factory=dict, init=False)
    _by_group: dict[str, dict[str, None]] = field(factory=dict, init=False)
    #: The members whose last lull was too short, and until when they need not be asked again.
    _restless: dict[str, int] = field(factory=dict, init=False)
    _is_waking: bool = field(default=False, init=False)

    # --- falling into it ---

    def after_step(self, host: ConsumerHost) -> None:
        """See whether a consumer that has just heard of a repetition can be left alone from now."""
        beat = host.last_beat
        if self._is_waking or beat is None:
            return
        if host.name in self._restless:
            # After a short lull the group must show first that the next may be expected to last.
            now_ms = self.stage.kernel.now_ms
            if now_ms < self._restless[host.name]:
                return
            self._restless[host.name] = from_ms = self._calm_from_ms(host)
            if now_ms < from_ms:
                return
        lull = self._lull_of(host, beat)
        if lull is None:
            return
        self._lulls[host.name] = lull
        self.stage.asleep.add(host.name)
        self._by_group.setdefault(host.role.group, {})[host.name] = None
        host.cancel_wake()
        lull.session = lull.broker.timers.forget(lull.timer)
        if not has_a_broker_to_ask(host):
            # The next look at metadata opens a connection, which is an event.
            lull.end = Turn(lull.refresh_at_ms, Rank.TIMER, host.name, "lull")
            self.stage.kernel.at(lull.end, partial(self.wake_client, host.name))

    def _lull_of(self, host: ConsumerHost, beat: Message) -> Lull | None:
        """The lull that a consumer may fall into; asked of every beat, so what is rare comes first.

        Most that may not are between two generations, or have not committed in this one.
        """
        machine, connection, commit = host.machine, beat.connection, host.last_repeat
        group = None if machine is None else machine.calls.group
        if machine is None or group is None or group.membership.rejoin_needed:
            return None
        is_auto_commit, generation = group.commits.is_auto_commit, group.membership.generation
        owned = machine.calls.subscriptions.assigned_partitions
        if not (owned and is_auto_commit):
            commit = None
        elif (
            commit is None
            or commit.facts.get("generation") != generation.generation_id
            or commit.facts.get("member") != generation.member_id
        ):
            return None
        broker = self.stage.brokers[connection.link.broker]
        if not is_blocked(host, machine, connection) or not self._is_settled(host, group, broker):
            return None
        if commit is not None and not (
            is_all(commit, machine, len(owned)) and broker.is_committed(commit.request)
        ):
            return None  # The next commit is news: of this member's own, or to somebody else's.
        round_trip_ms = 2 * connection.link.present_law.longest_ms
        machine.write_down()
        if not (
            has_time_between(host.role.config, round_trip_ms)
            and hears_in_time(host)
            and is_latest(beat, group, machine)
            and self._is_wire_empty(host, machine, beat)
            and self._knows_the_cluster(host, machine, group)
        ):
            return None
        return Lull(
            host=host,
            connection=connection,
            broker=broker,
            beat=beat,
            interval_ms=host.role.config.heartbeat_interval_ms,
            round_trip_ms=round_trip_ms,
            commit=commit,
            commit_at_ms=group.commits.auto_commit_timer.deadline_ms,
            commit_interval_ms=host.role.config.auto_commit_interval_ms if is_auto_commit else 0,
            refresh_at_ms=refresh_due_ms(machine),
            timer=SessionTimer(host.role.group, generation.member_id),
        )

    def _is_settled(self, host: ConsumerHost, group: GroupClient, broker: Broker) -> bool:
        """Asked of who is blocked: who asks if a rejoin is needed makes it so, of other topics."""
        membership, name = group.membership, host.role.group
        if membership.state is not _STABLE_MEMBER or not broker.is_up:
            return False
        stage = self.stage
        shard = stage.shard_of(name)
        slot = broker.machine.slots.get(shard)
        if stage.cluster.offsets_leaders[shard] != broker.id or slot is None or slot.shard is None:
            return False
        found = slot.shard.groups.get(name)
        return (
            found is not None
            and found.state is STABLE
            and membership.generation.generation_id == found.generation_id
            and membership.generation.member_id in found.members
            and not group.rebalancing.is_rejoin_needed_or_pending()
            and broker.writes_at_once(shard, stage.kernel.now_ms)
        )

    def _calm_from_ms(self, host: ConsumerHost) -> int:
        """From when on its group has been stable for so long that a lull may be expected to last.

        While a deployment rolls, a group is stable for a few beats only, again and again.
        """
        group = self.stage.group(host.role.group)
        if group is None:
            return self.stage.kernel.now_ms + 1
        interval_ms = host.role.config.heartbeat_interval_ms
        return (group.state_since_ms or 0) + _LAPS_TO_PAY * interval_ms

    def _is_wire_empty(self, host: ConsumerHost, machine: Consumer, beat: Message) -> bool:
        """Whether nothing is under way but fetches that go round idly, on links that are clear."""
        for connection in host.connections.values():
            link = connection.link
            if not link.is_clear or link.changed_ms >= beat.sent_ms:
                return False
            if connection.handled is not None or connection.waiting:
                return False
        fetched: set[tuple[str, int]] = set()
        for sent in machine.in_flight:
            idle = host.connections[sent.node.connection].idle
            if not isinstance(sent.request, FetchRequest) or not isinstance(idle, IdleFetch):
                return False
            if idle.is_real:
                return False
            if idle.wakes is not None and idle.wakes[0] <= self.stage.kernel.now_ms + WAIT_MS_MAX:
                return False
            fetched.update((each.topic, each.partition) for each in idle.message.wanted)
        # What is not being fetched will be, once its broker can be reached again.
        wanted = machine.calls.subscriptions.fetchable(())
        is_all = fetched.issuperset(partition for partition, _ in wanted)
        return is_all and not machine.calls.client.has_unsent

    def _knows_the_cluster(self, host: ConsumerHost, machine: Consumer, group: GroupClient) -> bool:
        """Whether a look at metadata would bring nothing new."""
        metadata, told = machine.calls.metadata, host.last_metadata
        if told is None or metadata.update_requested:
            return False
        request, response = told
        assert isinstance(request, MetadataRequest)
        return (
            metadata.next_request().topics == request.topics
            and self.stage.cluster.metadata(request) is response
            # One that is overdue waits for a connection.
            and refresh_due_ms(machine) > self.stage.kernel.now_ms
            and group.leading.watches_what_it_saw
        )

    # --- waking ---

    def wake_client(self, client: str) -> None:
        """End a member's lull, if it is in one."""
        if client in self._lulls:
            self._wake([client])

    def wake_group(self, group: str) -> None:
        """End the lulls of a group's members."""
        if self._by_group.get(group):
            self._wake(sorted(self._by_group[group]))

    def wake_all(self) -> None:
        """End every lull."""
        if self._lulls:
            self._wake(sorted(self._lulls))

    def count_client(self, client: str) -> None:
        """Count a member's repetitions up to the present, and leave it in its lull."""
        lull = self._lulls.get(client)
        if lull is not None and self.stage.kernel.is_present_over:
            self._count_until_now(lull)
            fold = self.stage.recorder.fold(client, lull.host.cause)
            lull.close_fold(self.stage.kernel.now_ms, fold)
        else:
            self.wake_client(client)

    def count_all(self) -> None:
        """Count everybody's repetitions up to the present, for who asks between two turns."""
        for client in sorted(self._lulls):
            self.count_client(client)

    def _wake(self, clients: Iterable[str]) -> None:
        resumed = []
        earlier: dict[str, Callable[[int], Fold | None]] = {}
        for client in clients:
            lull = self._lulls.pop(client)
            self.stage.asleep.discard(client)
            del self._by_group[lull.host.role.group][client]
            if lull.end is not None:
                self.stage.kernel.cancel(lull.end)
            lasted_ms = self.stage.kernel.now_ms - lull.beat.sent_ms
            if lasted_ms < _LAPS_TO_PAY * lull.interval_ms:
                self._restless.setdefault(client, 0)
            else:
                self._restless.pop(client, None)
            resumed.append((self._resume(lull), lull.host))
            if lull.closed:
                earlier[client] = lull.fold_at
        recorder = self.stage.recorder
        was_waking, self._is_waking = self._is_waking, True
        before, recorder.earlier = recorder.earlier, {**recorder.earlier, **earlier}
        try:
            self.stage.kernel.play_aside(resumed)
        finally:
            self._is_waking, recorder.earlier = was_waking, before

    def _resume(self, lull: Lull) -> int:
        """Set the member where its last lap begins; say from when it is played on."""
        machine = lull.host.machine
        assert machine is not None
        machine.write_down()
        machine.threads.disturb()
        jump = self._find_jump(lull, machine)
        if jump is None:
            if lull.session is not None:
                lull.broker.restore_timer(lull.timer, lull.session)
            return max(machine.next_wakeup_ms, machine.clock.now_ms)
        self._jump(lull, jump, machine)
        return machine.clock.now_ms

    # --- the closed form ---

    def _find_jump(self, lull: Lull, machine: Consumer) -> Jump | None:
        """The last clean moment before the present, and what has happened until then."""
        now_ms, margin_ms = self.stage.kernel.now_ms, lull.round_trip_ms + 1
        refreshes = self._refreshes(lull, machine, now_ms)
        latest = (now_ms - margin_ms - lull.beat.sent_ms) // lull.interval_ms
        for beats in range(latest, max(0, latest - _LAPS_MAX), -1):
            beat_ms = lull.beat.sent_ms + beats * lull.interval_ms
            clean_ms = beat_ms + margin_ms
            commits = due_before(clean_ms, lull.commit_at_ms, lull.commit_interval_ms)
            last_commit_ms = lull.commit_at_ms + (commits - 1) * lull.commit_interval_ms
            if commits and last_commit_ms > beat_ms:
                # It left right behind the beat, so wait until it is home, too.
                clean_ms = last_commit_ms + margin_ms
            if clean_ms > min(now_ms, beat_ms + lull.interval_ms):
                continue
            if any(each.sent_ms < clean_ms <= each.heard_ms for each in refreshes):
                continue
            return self._jump_to(lull, clean_ms, beats, commits, refreshes)
        return None

    def _jump_to(
        self, lull: Lull, clean_ms: int, beats: int, commits: int, refreshes: list[Exchange]
    ) -> Jump:
        last_ms = lull.beat.sent_ms + beats * lull.interval_ms
        last_commit_ms = lull.commit_at_ms + (commits - 1) * lull.commit_interval_ms
        anchors = [last_ms] if lull.commit is None or not commits else [last_ms, last_commit_ms]
        sent: set[tuple[int, bool]] = set()
        for anchor_ms in anchors:
            # What was sent longer before could not hold this one up.
            since_ms = anchor_ms - 2 * lull.round_trip_ms
            for each in times_until(since_ms, anchor_ms, last_ms, lull.interval_ms):
                sent.add((each, False))
            if len(anchors) > 1:
                every_ms = lull.commit_interval_ms
                for each in times_until(since_ms, anchor_ms, last_commit_ms, every_ms):
                    if each >= lull.commit_at_ms:
                        sent.add((each, True))
        in_order = sorted(sent)
        exchanges = played(lull.connection, [sent_ms for sent_ms, _ in in_order])
        last_beat = last_commit = None
        for (_, is_commit), exchange in zip(in_order, exchanges, strict=True):
            if is_commit:
                last_commit = exchange
            else:
                last_beat = exchange
        assert last_beat is not None
        if lull.commit is None and commits:
            # A member that owns nothing has nothing to send; it only looks around.
            idle_ms = lull.commit_at_ms + (commits - 1) * lull.commit_interval_ms
            exchanges.append(Exchange(idle_ms, idle_ms, idle_ms))
        return Jump(
            clean_ms=clean_ms,
            beats=beats,
            commits=commits,
            exchanges=exchanges,
            last_beat=last_beat,
            last_commit=last_commit,
            refreshes=[each for each in refreshes if each.heard_ms < clean_ms],
        )

    def _refreshes(self, lull: Lull, machine: Consumer, now_ms: int) -> list[Exchange]:
        """The looks at metadata until now, the last one perhaps still under way."""
        found: list[Exchange] = []
        due_ms, kept_ms = lull.refresh_at_ms, machine.clock.now_ms
        while due_ms <= now_ms and lull.end is None:
            machine.clock.now_ms = due_ms  # The choice of a broker belongs to this moment.
            node = machine.calls.client.network.least_loaded_node(due_ms)
            assert node is not None
            connection = lull.host.connections[node.connection]
            handled_ms = due_ms + latency_out(connection, due_ms)
            if isinstance(connection.idle, IdleFetch):
                handled_ms = connection.idle.free_ms(handled_ms)
            heard_ms = handled_ms + latency_in(connection, handled_ms)
            found.append(Exchange(due_ms, handled_ms, heard_ms))
            due_ms = heard_ms + machine.config.metadata_max_age_ms
        machine.clock.now_ms = kept_ms
        return found

    # --- the jump ---

    def _jump(self, lull: Lull, jump: Jump, machine: Consumer) -> None:
        self._count(lull, jump)
        self._tell_coordinator(lull, jump)
        self._move_consumer(lull, jump, machine)

    def _count(self, lull: Lull, jump: Jump) -> None:
        host = lull.host
        self._add_beats(lull, jump.beats, jump.last_beat.heard_ms)
        host.last_beat = lull.beat.again(jump.last_beat.sent_ms)
        if jump.last_commit is not None and lull.commit is not None:
            self._add_commits(lull, jump.commits, jump.last_commit.heard_ms)
            host.last_repeat = lull.commit.again(jump.last_commit.sent_ms)

    def _add_beats(self, lull: Lull, beats: int, heard_ms: int) -> None:
        """Count the beats since the lull began that have not been counted yet."""
        new, host = beats - lull.counted_beats, lull.host
        if new > 0:
            first_ms = lull.beat.sent_ms + (lull.counted_beats + 1) * lull.interval_ms
            fold = self.stage.recorder.fold(host.name, host.cause)
            host.begin_fold(fold, lull.beat)
            fold.beats.add(first_ms, heard_ms, new)
            lull.counted_beats = beats

    def _add_commits(self, lull: Lull, commits: int, heard_ms: int) -> None:
        new, host = commits - lull.counted_commits, lull.host
        if new > 0:
            first_ms = lull.commit_at_ms + lull.counted_commits * lull.commit_interval_ms
            fold = self.stage.recorder.fold(host.name, host.cause)
            host.begin_fold(fold, lull.beat)
            fold.commits.add(first_ms, heard_ms, new)
            lull.counted_commits = commits

    def _count_until_now(self, lull: Lull) -> None:
        now_ms = self.stage.kernel.now_ms
        beats = (now_ms - lull.beat.sent_ms) // lull.interval_ms
        commits = due_before(now_ms + 1, lull.commit_at_ms, lull.commit_interval_ms)
        for back in (0, 1):
            if beats - back > lull.counted_beats:
                sent_ms = lull.beat.sent_ms + (beats - back) * lull.interval_ms
                heard_ms = self._exchange_at(lull, sent_ms).heard_ms
                if heard_ms <= now_ms:
                    self._add_beats(lull, beats - back, heard_ms)
        for back in (0, 1):
            if lull.commit is not None and commits - back > lull.counted_commits:
                last_ms = lull.commit_at_ms + (commits - back - 1) * lull.commit_interval_ms
                heard_ms = self._exchange_at(lull, last_ms).heard_ms
                if heard_ms <= now_ms:
                    self._add_commits(lull, commits - back, heard_ms)

    def _exchange_at(self, lull: Lull, sent_ms: int) -> Exchange:
        """The last exchange of those that are sent at that time or shortly before."""
        since_ms = sent_ms - 2 * lull.round_trip_ms
        first_ms = lull.beat.sent_ms
        sent = set(times_from(first_ms, since_ms, sent_ms, lull.interval_ms))
        if lull.commit is not None:
            sent.update(times_from(lull.commit_at_ms, since_ms, sent_ms, lull.commit_interval_ms))
        return played(lull.connection, sorted(sent))[-1]

    def _tell_coordinator(self, lull: Lull, jump: Jump) -> None:
        """Let the coordinator handle the last beat and the last commit, each at its own time."""
        told = [(jump.last_beat.handled_ms, 0, lull.beat)]
        if jump.last_commit is not None and lull.commit is not None:
            told.append((jump.last_commit.handled_ms, 1, lull.commit))
        for handled_ms, _, message in sorted(told, key=itemgetter(0, 1)):
            cause = lull.fold_at(handled_ms)
            if cause is None:
                cause = self.stage.recorder.fold(lull.host.name, lull.host.cause)
            lull.broker.take_quietly(message.request, handled_ms, cause)
        connection = lull.connection
        connection.last_arrival_ms = max(each.handled_ms for each in jump.exchanges)
        connection.last_homecoming_ms = max(each.heard_ms for each in jump.exchanges)

    def _move_consumer(self, lull: Lull, jump: Jump, machine: Consumer) -> None:
        group = machine.calls.group
        assert group is not None
        clock, heartbeat = machine.clock, group.membership.heartbeat
        passes = jump.pass_times
        last_ms, look_ms = self._last_pass(machine, passes, jump)
        clock.now_ms = jump.last_beat.sent_ms
        heartbeat.sent(jump.last_beat.sent_ms)
        clock.now_ms = jump.last_beat.heard_ms
        heartbeat.received(jump.last_beat.heard_ms)
        if jump.commits:
            timer = group.commits.auto_commit_timer
            timer.update(lull.commit_at_ms + (jump.commits - 1) * lull.commit_interval_ms)
            timer.reset(lull.commit_interval_ms)
        if jump.refreshes:
            self._refresh(lull, jump.refreshes[-1], machine)
        clock.now_ms = last_ms
        heartbeat.polled(last_ms)
        thread = group.membership.heartbeat_thread
        assert thread is not None
        assert thread.turns is not None
        thread.turns.deadline_ms = look_ms
        wait = machine.threads.application_wait
        assert wait is not None
        wait.deadline_ms = last_ms

    def _last_pass(self, machine: Consumer, passes: list[int], jump: Jump) -> tuple[int, int]:
        """When the application last looked at the network, and when the heartbeat thread will."""
        backoff_ms = machine.config.retry_backoff_ms
        last_ms = passes[-1]
        look_ms = jump.last_beat.sent_ms + backoff_ms
        for time_ms in passes:
            if time_ms >= look_ms:
                look_ms = time_ms + backoff_ms
        if not machine.in_flight and backoff_ms > 0:
            # With nothing in flight it looks around after every back-off.
            last_ms += (jump.clean_ms - 1 - last_ms) // backoff_ms * backoff_ms
            if last_ms >= look_ms:
                look_ms = last_ms + backoff_ms
        return last_ms, look_ms

    def _refresh(self, lull: Lull, refresh: Exchange, machine: Consumer) -> None:
        assert lull.host.last_metadata is not None
        metadata = machine.calls.metadata
        metadata.time_to_allow_update_ms(refresh.sent_ms)
        version = metadata.next_request().request_version
        request, _ = lull.host.last_metadata
        assert isinstance(request, MetadataRequest)
        metadata.update(self.stage.cluster.metadata(request), version, refresh.heard_ms)
