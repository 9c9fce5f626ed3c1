"""A consumer at rest: its application waits in a poll that has found all in order.

A heartbeat that falls due then, and the good answer to one, move a few deadlines and nothing else.
Kafka's two loops come to that by several passes over the network; here it is written down at once.
Wherever anything else is due, or has come, the passes are made.
"""

from __future__ import annotations

from functools import partial

from attrs import define, field

from client.group import GroupClient
from client.network import ClientRequest
from client.polling import PollLoop
from client.states import MemberState
from client.threads import HeartbeatTurns, Threads
from client.timers import Wait
from coordinator.errors import ErrorCode
from coordinator.protocol import HeartbeatResponse, Request


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
    #: The heartbeat that was last sent at rest.
    _beat: ClientRequest | None = field(default=None, init=False)

    def look(self, now_ms: int) -> bool:
        """Do what is due now, if it is a heartbeat at most; whether that was all."""
        wait = self.threads.application_wait
        if wait is None or wait.deadline_ms != now_ms or not self._is_calm(wait, now_ms):
            return False
        heartbeat, turns = self.group.membership.heartbeat, self._turns
        assert turns is not None
        if heartbeat.beat_at_ms <= now_ms:
            is_turn = turns.is_notified or turns.deadline_ms <= now_ms
            if not is_turn or now_ms >= min(heartbeat.session_ends_ms, heartbeat.poll_ends_ms):
                return False
            self._send_beat(now_ms)
        self._wait_on(wait, turns, now_ms)
        return True

    def hear(self, connection: str, reply: object, to: Request | None, now_ms: int) -> bool:
        """Take an answer, if it is the good one to a heartbeat sent at rest; whether it was."""
        beat, wait = self._beat, self.threads.application_wait
        if beat is None or wait is None or (to is not None and to is not beat.request):
            return False
        if not self.threads.clock.now_ms <= now_ms < wait.deadline_ms:
            return False
        if not isinstance(reply, HeartbeatResponse) or reply.error_code is not ErrorCode.NONE:
            return False
        network = self.polling.client.network
        if not network.is_next_to_end(connection, beat) or not self._is_calm(wait, now_ms):
            return False
        self._beat = None
        self.threads.clock.now_ms = now_ms
        network.end_answered(connection)
        self.group.membership.heartbeat.received()
        assert self._turns is not None
        self._wait_on(wait, self._turns, now_ms)
        return True

    # --- whether it is at rest --------------------------------------------------------------------

    def _is_calm(self, wait: Wait, now_ms: int) -> bool:
        """Whether the consumer is at rest in this wait, and nothing but a heartbeat can be due."""
        if wait is not self._wait and not self._is_found_at_rest(wait):
            return False
        commits, polling = self.group.commits, self.polling
        return (
            now_ms < polling.ends_ms
            and not (commits.is_auto_commit and now_ms >= commits.auto_commit_timer.deadline_ms)
            and not self.group.membership.rejoin_needed
            and not self.threads.has_stalls
            and polling.client.network.is_in_time(now_ms)
        )

    def _is_found_at_rest(self, wait: Wait) -> bool:
        """Whether nothing is left to do in this wait; if so, that is remembered."""
        client, membership = self.polling.client, self.group.membership
        coordinator, thread = membership.discovery.coordinator, membership.heartbeat_thread
        is_at_rest = (
            self.polling.is_at_rest
            and membership.state is MemberState.STABLE
            and not membership.is_rejoin_needed_or_pending
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

    def _wait_on(self, wait: Wait, turns: HeartbeatTurns, now_ms: int) -> None:
        """Go on waiting as after a pass and a look round that find nothing more to do."""
        group, threads = self.group, self.threads
        threads.clock.now_ms = now_ms
        heartbeat, commits = group.membership.heartbeat, group.commits
        if turns.is_notified or turns.deadline_ms <= now_ms:
            threads.take_turn(turns, now_ms + group.membership.config.retry_backoff_ms)
        heartbeat.polled(now_ms)
        until_ms = min(
            heartbeat.beat_at_ms, self.polling.ends_ms, self.polling.client.note_rest(now_ms)
        )
        timer = commits.auto_commit_timer
        timer.update(now_ms)
        if commits.is_auto_commit and timer.deadline_ms < until_ms:
            until_ms = timer.deadline_ms
        wait.deadline_ms = until_ms
