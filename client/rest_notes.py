"""What is known of a consumer at rest, and written down elsewhere only when somebody looks.

`client.resting` has what such a consumer does, `client.calm` when it is one.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from attrs import define, field

from client.calm import calm_until_ms, is_found_at_rest, is_regular
from client.group import GroupClient
from client.in_flight import ClientRequest
from client.membership import Generation
from client.partitions import BrokerNode
from client.polling import PollLoop
from client.threads import HeartbeatTurns, Threads
from client.timers import LONG_AGO, NEVER, Wait
from coordinator.protocol import HeartbeatRequest, OffsetCommitRequest


@define(eq=False, repr=False)
class RestNotes:
    """When what is due, what was sent and heard, and how all that is written down."""

    threads: Threads
    polling: PollLoop
    group: GroupClient
    #: The wait in which the consumer was found to be at rest; whatever disturbs it ends this wait.
    _wait: Wait | None = field(default=None, init=False)
    #: The turns of the heartbeat thread, as found.
    _turns: HeartbeatTurns | None = field(default=None, init=False)
    #: What was sent last at rest and is not answered: a heartbeat that nobody else knows of yet,
    #: one that is in flight like any request, and a commit.
    _beat: HeartbeatRequest | None = field(default=None, init=False)
    _sent_beat: ClientRequest | None = field(default=None, init=False)
    #: The last heartbeat that was answered: the next may say the same, its number is free again.
    _answered_beat: HeartbeatRequest | None = field(default=None, init=False)
    _commit: ClientRequest | None = field(default=None, init=False)
    #: What the last commit said, as long as the positions are the same: the next says it again.
    _said: OffsetCommitRequest | None = field(default=None, init=False)
    #: As whom it speaks.
    _generation: Generation | None = field(default=None, init=False)
    #: The coordinator, and what is in flight to it.
    _coordinator: BrokerNode | None = field(default=None, init=False)
    _connection: str = field(default="", init=False)
    _in_flight: deque[ClientRequest] = field(factory=deque, init=False)
    #: When a heartbeat is due, a commit, and the next turn of the heartbeat thread; when the wait
    #: ends at the latest, whatever comes.
    _beat_at_ms: int = field(default=NEVER, init=False)
    _commit_at_ms: int = field(default=NEVER, init=False)
    _turn_at_ms: int = field(default=NEVER, init=False)
    _ends_ms: int = field(default=NEVER, init=False)
    #: How long a wait is if nothing is due, with something in flight and without; how long it is
    #: between two heartbeats, and how long one may take.
    _patience_ms: int = field(default=0, init=False)
    _backoff_ms: int = field(default=0, init=False)
    _interval_ms: int = field(default=0, init=False)
    _timeout_ms: int = field(default=0, init=False)
    #: Whether each heartbeat is over before the next is due, and nothing else is by then.
    _is_regular: bool = field(default=False, init=False)
    #: How many steps are not written down, when the last was made, a heartbeat sent and answered.
    steps: int = field(default=0, init=False)
    _stepped_ms: int = field(default=0, init=False)
    _beat_sent_ms: int | None = field(default=None, init=False)
    _beat_heard_ms: int | None = field(default=None, init=False)
    #: Whether one of them looked round.
    _has_looked: bool = field(default=False, init=False)

    def write_down(self) -> None:
        """Leave everything as the passes would have left it that were not made."""
        self.threads.pulse.end()
        steps = self.steps
        if not steps:
            return
        self.steps = 0
        client, threads, turns = self.polling.client, self.threads, self._turns
        heartbeat = self.group.membership.heartbeat
        assert turns is not None
        client.passes += steps
        if self._turn_at_ms != turns.deadline_ms or turns.is_notified:
            threads.take_turn(turns, self._turn_at_ms)
        sent_ms, heard_ms = self._beat_sent_ms, self._beat_heard_ms
        self._beat_sent_ms = self._beat_heard_ms = None
        if heard_ms is not None and sent_ms is not None and heard_ms < sent_ms:
            heartbeat.received(heard_ms)  # That was the answer to the one before.
            heard_ms = None
        if sent_ms is not None:
            heartbeat.sent(sent_ms)
        if heard_ms is not None:
            heartbeat.received(heard_ms)
        heartbeat.polled(self._stepped_ms)
        self.group.commits.auto_commit_timer.update(self._stepped_ms)
        if self._has_looked:
            self._has_looked = False
            self.polling.note_look(self._stepped_ms)
        self._put_beat_in_flight()

    def _is_calm(self, wait: Wait, now_ms: int) -> bool:
        """Whether it is at rest in this wait, and only what is done there can be due.

        If so, that is remembered, and until when it is so if nothing disturbs it.
        """
        self.write_down()
        if wait is not self._wait and not is_found_at_rest(self.threads, self.polling, self.group):
            return False
        membership, polling = self.group.membership, self.polling
        if self.threads.stalls or membership.rejoin_needed:
            return False
        until_ms = calm_until_ms(polling, self.group, now_ms)
        if now_ms >= until_ms or polling.client.network.channels.is_woken:
            return False  # As by a wakeup() that nobody has noticed yet.
        self.threads.calm_until_ms = until_ms
        self._take_note(wait)
        return True

    def _take_note(self, wait: Wait) -> None:
        """Look at all that only steps at rest can change from now on."""
        membership, commits, client = self.group.membership, self.group.commits, self.polling.client
        thread, config = membership.heartbeat_thread, membership.config
        assert thread is not None
        assert thread.turns is not None
        self._wait, self._turns = wait, thread.turns
        self._forget_what_is_not_said_again()
        self._turn_at_ms = LONG_AGO if thread.turns.is_notified else thread.turns.deadline_ms
        self._beat_at_ms = membership.heartbeat.beat_at_ms
        self._commit_at_ms = NEVER
        if config.enable_auto_commit:
            self._commit_at_ms = commits.auto_commit_timer.deadline_ms
        self._ends_ms = self._wait_ends_ms()
        self._patience_ms, self._backoff_ms = client.patience_ms, config.retry_backoff_ms
        self._interval_ms = config.heartbeat_interval_ms
        self._timeout_ms = config.request_timeout_ms
        self._is_regular = is_regular(config, self._patience_ms)
        assert self._coordinator is not None
        self._connection = self._coordinator.connection
        self._in_flight = client.network.queue_to(self._connection)

    def _forget_what_is_not_said_again(self) -> None:
        """Look whether what was said last, and answered, still says what there is to say."""
        membership, said = self.group.membership, self._said
        generation, coordinator = membership.generation, membership.discovery.coordinator
        if generation is not self._generation or coordinator is not self._coordinator:
            self._answered_beat = self._said = None
            self._generation, self._coordinator = generation, coordinator
        elif said is not None and not self.group.commits.is_to_be_said(said):
            self._said = None

    def _wait_ends_ms(self) -> int:
        polling = self.polling
        return min(polling.client.network.refresh_at_ms, polling.ends_ms)

    def _wait_on(self, wait: Wait, now_ms: int) -> None:
        """Go on waiting as after a pass and a look round that find nothing more to do."""
        self.steps += 1
        self._stepped_ms = self.threads.clock.now_ms = now_ms
        if self._turn_at_ms <= now_ms:
            self._turn_at_ms = now_ms + self._backoff_ms
        until_ms = now_ms + self._patience_ms
        if self._beat is None and self.polling.client.network.in_flight_count == 0:
            until_ms = min(until_ms, now_ms + self._backoff_ms)
        if self._beat_at_ms < until_ms:
            until_ms = self._beat_at_ms
        if self._commit_at_ms < until_ms:
            until_ms = self._commit_at_ms
        if self._ends_ms < until_ms:
            until_ms = self._ends_ms
        wait.deadline_ms = until_ms

    def _put_beat_in_flight(self) -> None:
        """Let the last heartbeat, if it is not answered, be in flight like any request."""
        beat, coordinator = self._beat, self._coordinator
        if beat is None:
            return
        assert coordinator is not None
        membership = self.group.membership
        thread = membership.heartbeat_thread
        assert thread is not None
        sent_ms, timeout_ms = self._beat_at_ms - self._interval_ms, self._timeout_ms
        on_reply = partial(thread.hear, membership.generation)
        sent = ClientRequest(coordinator, beat, sent_ms, timeout_ms, on_reply, thread.lose, sent_ms)
        self.polling.client.network.put_in_flight(sent)
        self._beat, self._sent_beat = None, sent
