"""A consumer at rest: its application waits in a poll that has found all in order.

A heartbeat or an automatic commit that falls due then, and the good answer to one, move a few
deadlines and nothing else. An answer to a fetch moves positions, is handed out if it has records,
and the broker is asked again; if the application handles records at once, its next poll then waits
as this one did. Kafka's two loops come to that by several passes over the network; here it is
written down at once. Wherever anything else is due, or has come, the passes are made.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from attrs import define, field

from client.futures import Told
from client.group import GroupClient
from client.messages import FetchResponse
from client.network import ClientRequest
from client.polling import PollLoop
from client.states import MemberState
from client.threads import HeartbeatTurns, Threads
from client.timers import Wait
from coordinator.errors import ErrorCode
from coordinator.protocol import HeartbeatResponse, OffsetCommitResponse, Request


@define(eq=False, kw_only=True, repr=False)
class Rest:
    """What a member of a group does while its poll is at rest."""

    threads: Threads
    polling: PollLoop
    group: GroupClient
    #: The wait in which the consumer was found to be at rest; whatever disturbs it ends this wait.
    _wait: Wait | None = field(default=None, init=False)
    #: The turns of the heartbeat thread, as found.
    _turns: HeartbeatTurns | None = field(default=None, init=False)
    #: The heartbeat and the commit that were last sent at rest.
    _beat: ClientRequest | None = field(default=None, init=False)
    _commit: ClientRequest | None = field(default=None, init=False)

    def look(self, now_ms: int) -> bool:
        """Do what is due now, if it is a heartbeat or a commit at most; whether that was all."""
        wait = self.threads.application_wait
        if wait is None or wait.deadline_ms != now_ms or not self._is_calm(wait, now_ms):
            return False
        is_beat_due = self.group.membership.heartbeat.beat_at_ms <= now_ms
        if self.group.commits.is_due(now_ms):
            if is_beat_due or not self._can_commit:
                return False
            self._send_commit(now_ms)
        elif is_beat_due:
            turns = self._turns
            assert turns is not None
            if not (turns.is_notified or turns.deadline_ms <= now_ms) or not self._can_beat:
                return False  # It leaves with a turn of the heartbeat thread, after a pass.
            self._send_beat(now_ms)
        self._wait_on(wait, now_ms)
        return True

    def hear(self, connection: str, reply: object, to: Request | None, now_ms: int) -> bool:
        """Take an answer, if it is the good one to what was sent at rest; whether it was."""
        if type(reply) is FetchResponse:
            return self._hear_records(connection, reply, to, now_ms)
        sent = self._answered_by(reply)
        if sent is None or (to is not None and to is not sent.request):
            return False
        threads, network = self.threads, self.polling.client.network
        wait = threads.application_wait
        if wait is None or not threads.clock.now_ms <= now_ms < wait.deadline_ms:
            return False
        if network.next_to_end(connection) is not sent or not self._is_calm(wait, now_ms):
            return False
        threads.clock.now_ms = now_ms
        network.end_answered(connection)
        if sent is self._beat:
            self._beat = None
            self.group.membership.heartbeat.received()
        else:
            self._commit = None
            self._take_commit(sent, reply)
        self._wait_on(wait, now_ms)
        return True

    def _hear_records(
        self, connection: str, reply: FetchResponse, to: Request | None, now_ms: int
    ) -> bool:
        """Take an answer, if it has no records, or all are handled now; whether it was such."""
        threads, polling, client = self.threads, self.polling, self.polling.client
        wait, hand_out = threads.application_wait, polling.handles_at_once
        if (
            wait is None
            or not threads.clock.now_ms <= now_ms < wait.deadline_ms
            or not self._is_calm(wait, now_ms)
        ):
            return False
        sent = client.network.next_to_end(connection)
        if sent is None or (to is not None and to is not sent.request):
            return False
        plain = polling.fetcher.plain_answer(sent.node, reply)
        if plain is None:
            return False
        records = tuple([whole.records for whole in plain.found if whole.records is not None])
        if records and hand_out is None:
            return False
        threads.clock.now_ms = now_ms
        client.network.end_answered(connection)
        client.fetched += 1
        client.network.send(polling.fetcher.take_plain(sent.node, reply, plain), now_ms)
        client.network.channels.receive()  # The pass that put it on the wire finds nothing there.
        if records and hand_out is not None:
            hand_out(records)
        polling.note_look(now_ms)  # After records, that of the next poll: it waits on in this one.
        self._wait_on(wait, now_ms)
        return True

    def _answered_by(self, reply: object) -> ClientRequest | None:
        """What was sent at rest and is answered well by such a reply, if anything is."""
        if isinstance(reply, HeartbeatResponse):
            return self._beat if reply.error_code is ErrorCode.NONE else None
        if isinstance(reply, OffsetCommitResponse) and self._commit is not None:
            return self._commit if _is_all_committed(reply) else None
        return None

    # --- whether it is at rest --------------------------------------------------------------------

    def _is_calm(self, wait: Wait, now_ms: int) -> bool:
        """Whether it is at rest in this wait, and only heartbeats and commits can be due."""
        if wait is not self._wait and not self._is_found_at_rest(wait):
            return False
        if self.threads.stalls or self.group.membership.rejoin_needed:
            return False
        heartbeat, polling = self.group.membership.heartbeat, self.polling
        if now_ms >= heartbeat.session_ends_ms or now_ms >= heartbeat.poll_ends_ms:
            return False  # The heartbeat thread acts on that with its next turn.
        network = polling.client.network
        return (
            not network.channels.is_woken  # As by a wakeup() that nobody has noticed yet.
            and network.is_in_time(now_ms)
            and now_ms < polling.ends_ms
        )

    def _is_found_at_rest(self, wait: Wait) -> bool:
        """Whether nothing is left to do in this wait; if so, that is remembered."""
        client, membership = self.polling.client, self.group.membership
        coordinator, thread = membership.discovery.coordinator, membership.heartbeat_thread
        is_at_rest = (
            self.polling.is_at_rest
            and membership.state is MemberState.STABLE
            and not membership.is_rejoin_needed_or_pending
            and not self.group.commits.interceptors  # They are the user's, and may do anything.
            and thread is not None
            and thread.is_beating
            and self.threads.has_only(thread.turns)
            and coordinator is not None
            and client.is_at_rest
            and client.network.can_send(coordinator.connection)
            and client.config.retry_backoff_ms > 0
        )
        if is_at_rest:
            assert thread is not None
            self._wait, self._turns = wait, thread.turns
        return is_at_rest

    # --- what it does there -----------------------------------------------------------------------

    @property
    def _can_beat(self) -> bool:
        """Whether the coordinator has not left too much unanswered."""
        coordinator = self.group.membership.discovery.coordinator
        assert coordinator is not None
        return self.polling.client.network.has_room(coordinator.connection)

    def _send_beat(self, now_ms: int) -> None:
        membership, network = self.group.membership, self.polling.client.network
        coordinator, thread = membership.discovery.coordinator, membership.heartbeat_thread
        assert coordinator is not None
        assert thread is not None
        self.threads.clock.now_ms = now_ms
        membership.heartbeat.sent(now_ms)
        beat = ClientRequest(
            coordinator,
            membership.requests.heartbeat(),
            now_ms,
            membership.config.request_timeout_ms,
            partial(thread.hear, membership.generation),
            thread.lose,
        )
        network.send(beat, now_ms, by_heartbeat=True)
        network.channels.receive()  # The pass that put it on the wire finds nothing there.
        self._beat = beat

    @property
    def _can_commit(self) -> bool:
        """Whether a commit has something to say, and can be sent."""
        coordinator = self.group.membership.discovery.coordinator
        return (
            coordinator is not None
            and not self.group.commits.has_news
            and len(self.polling.subscriptions.assigned_partitions) > 0
            and self.polling.client.network.can_send(coordinator.connection)
        )

    def _send_commit(self, now_ms: int) -> None:
        self.threads.clock.now_ms = now_ms
        self.group.commits.begin_auto_commit(now_ms)
        self._commit = self.polling.client.send_at_rest(now_ms)
        self.polling.note_look(now_ms)

    def _take_commit(self, commit: ClientRequest, reply: object) -> None:
        client, now_ms = self.polling.client, self.threads.clock.now_ms
        client.ended += 1
        _run(commit.on_reply(reply))
        _run(self.group.commits.run_callbacks())
        self.polling.note_look(now_ms)

    def _wait_on(self, wait: Wait, now_ms: int) -> None:
        """Go on waiting as after a pass and a look round that find nothing more to do."""
        membership, threads, turns = self.group.membership, self.threads, self._turns
        heartbeat, config = membership.heartbeat, membership.config
        assert turns is not None
        threads.clock.now_ms = now_ms
        if turns.is_notified or turns.deadline_ms <= now_ms:
            threads.take_turn(turns, now_ms + config.retry_backoff_ms)
        heartbeat.polled(now_ms)
        until_ms = self.polling.client.note_rest(now_ms)
        if heartbeat.beat_at_ms < until_ms:
            until_ms = heartbeat.beat_at_ms
        if config.enable_auto_commit:
            timer = self.group.commits.auto_commit_timer
            timer.update(now_ms)
            if timer.deadline_ms < until_ms:
                until_ms = timer.deadline_ms
        ends_ms = self.polling.ends_ms
        wait.deadline_ms = min(ends_ms, until_ms)


def _is_all_committed(reply: OffsetCommitResponse) -> bool:
    for topic in reply.topics:
        for partition in topic.partitions:
            if partition.error_code is not ErrorCode.NONE:
                return False
    return True


def _run(told: Told) -> None:
    """Do to the end what has nothing to wait for: no code of a user's has a part in it."""
    if told is None:
        return
    with suppress(StopIteration):
        told.__await__().send(None)
        raise AssertionError("an automatic commit waits for nobody")
