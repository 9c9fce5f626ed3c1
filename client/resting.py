"""A consumer at rest: its application waits in a poll that has found all in order.

A heartbeat or an automatic commit that falls due then, and the good answer to one, move a few
deadlines and nothing else; so does the sending of a look at metadata, if not its answer. An answer
to a fetch moves positions, is handed out if it has records, and the broker is asked again; if the
application handles records at once, its next poll then waits as this one did. Kafka's two loops
come to that by several passes over the network; here it is written down at once. Wherever anything
else is due, or has come, the passes are made.
"""

from __future__ import annotations

from contextlib import suppress

from attrs import define

from client.commits import is_all_committed
from client.futures import Told
from client.in_flight import ClientRequest
from client.messages import FetchResponse
from client.network import MAX_IN_FLIGHT_PER_CONNECTION
from client.outputs import RequestSent
from client.pulse import Errand
from client.rest_notes import RestNotes
from client.timers import LONG_AGO, NEVER, Wait
from coordinator.errors import ErrorCode
from coordinator.protocol import (
    HeartbeatResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    Request,
)

_NONE = ErrorCode.NONE
#: What may be due: a heartbeat, a commit, a look at metadata.
_A_BEAT, _A_COMMIT, _A_REFRESH = (True, False, False), (False, True, False), (False, False, True)


@define(eq=False, repr=False)
class Rest(RestNotes):
    """What a member of a group does while its poll is at rest.

    Most steps are heartbeats and their answers. What they change is kept here, and written down
    where it belongs before anybody else acts or looks (`write_down`). From one good answer on, as
    long as nothing else comes, they are the threads' `Pulse`, and not even known here.
    """

    def __attrs_post_init__(self) -> None:
        """Be there when a pulse ends."""
        self.threads.pulse.write_down = self._take_over_pulse

    def look(self, now_ms: int) -> tuple[object, ...] | None:
        """Do the one thing that is due now, if it is of those done at rest; None if it is not.

        What is returned comes after all that was told through `Consumer.tell`.
        """
        pulse = self.threads.pulse
        for errand in (pulse.beats, pulse.commits):
            if pulse.leave(errand, now_ms) is not None:
                self.threads.clock.now_ms = now_ms
                request, is_beat = errand.request, errand is pulse.beats
                assert request is not None
                sent = RequestSent(now_ms, pulse.connection, request, is_beat, lost=False)
                return (sent,)
        pulse.end()
        wait = self.threads.application_wait
        if wait is None or wait.deadline_ms != now_ms:
            return None
        if now_ms >= self.threads.calm_until_ms and not self._is_calm(wait, now_ms):
            return None
        told = self._do_due(now_ms)
        if told is not None:
            self._wait_on(wait, now_ms)
            self._start_pulse(wait)
        return told

    def _do_due(self, now_ms: int) -> tuple[object, ...] | None:
        """Do the one thing that is due, or nothing; None if it is more, or cannot be done here."""
        due = self._beat_at_ms <= now_ms, self._commit_at_ms <= now_ms, self._ends_ms <= now_ms
        if due == _A_BEAT and self._can_beat():
            self._turn_at_ms = now_ms  # If that was later, the poll that finds it due sees to it.
            return (self._send_beat(now_ms),)
        if due == _A_COMMIT and self._can_commit():
            self._send_commit(now_ms)
        elif due == _A_REFRESH and self.polling.client.network.can_refresh:
            self._refresh(now_ms)
        elif any(due):
            return None
        return ()

    def hear(self, connection: str, reply: object, to: Request | None, now_ms: int) -> bool:
        """Take an answer, if it is the good one to what was sent at rest; whether it was."""
        threads = self.threads
        pulse = threads.pulse
        errand: Errand | None = None
        if type(reply) is HeartbeatResponse:
            is_good, errand = reply.error_code is _NONE, pulse.beats
        elif type(reply) is OffsetCommitResponse:
            is_good, errand = is_all_committed(reply), pulse.commits
        else:
            is_good = type(reply) is FetchResponse
        if not is_good:
            return False
        if errand is not None and self._hear_in_pulse(connection, to, now_ms, errand):
            return True
        pulse.end()
        wait = threads.application_wait
        if (
            wait is None
            or not threads.clock.now_ms <= now_ms < wait.deadline_ms
            or (now_ms >= threads.calm_until_ms and not self._is_calm(wait, now_ms))
        ):
            return False
        if type(reply) is HeartbeatResponse:
            is_taken = self._hear_beat(connection, to, now_ms)
        elif type(reply) is FetchResponse:
            is_taken = self._hear_records(connection, reply, to, now_ms)
        else:
            is_taken = self._hear_commit(connection, reply, to, now_ms)
        if is_taken:
            self._wait_on(wait, now_ms)
            if type(reply) is not FetchResponse:
                self._start_pulse(wait)
        return is_taken

    # --- the pulse --------------------------------------------------------------------------------

    def go_on(self, now_ms: int) -> None:
        """Let leave by itself what did before, after an answer that shows the cluster as it was."""
        wait = self.threads.application_wait
        if wait is not None and self._is_calm(wait, now_ms):
            self._start_pulse(wait)

    def _start_pulse(self, wait: Wait) -> None:
        """Let heartbeats and commits leave by themselves, if they are regular and all there is."""
        beat, network = self._answered_beat, self.polling.client.network
        if (
            beat is None
            or not self._is_regular
            or self._in_flight
            or network.in_flight_count == 0  # Then the wait is cut into back-offs.
            or wait.deadline_ms != min(self._beat_at_ms, self._commit_at_ms, self._ends_ms)
        ):
            return
        pulse, every_ms = self.threads.pulse, self.group.commits.config.auto_commit_interval_ms
        pulse.beats.start(beat, self._beat_at_ms, self._interval_ms)
        pulse.commits.start(self._said, self._commit_at_ms, every_ms)
        pulse.connection, pulse.ends_ms = self._connection, self._ends_ms
        pulse.turn_at_ms, pulse.backoff_ms = self._turn_at_ms, self._backoff_ms
        until_ms = min(self._ends_ms, network.overdue_from(NEVER))
        # A commit that is not known yet is none that can leave by itself.
        pulse.until_ms = until_ms if self._said is not None else min(until_ms, self._commit_at_ms)

    def _hear_in_pulse(
        self, connection: str, to: Request | None, now_ms: int, errand: Errand
    ) -> bool:
        """Take a good answer, if it is to what left by itself; whether it was."""
        pulse = self.threads.pulse
        is_of_it = errand.request is not None if to is None else to is errand.request
        if not is_of_it or connection != pulse.connection or not pulse.hear(errand, now_ms):
            return False
        self.threads.clock.now_ms = now_ms
        if errand is pulse.commits:
            self.group.commits.tell_repeated()
        return True

    def _take_over_pulse(self) -> None:
        """Know what has become of what left by itself, as if each had been a step here."""
        pulse, wait = self.threads.pulse, self.threads.application_wait
        beats, commits, stepped_ms = pulse.beats, pulse.commits, pulse.stepped_ms
        assert wait is not None
        pulse.stepped_ms = LONG_AGO
        wait.deadline_ms, self._turn_at_ms = pulse.wakes_ms, pulse.turn_at_ms
        if beats.sent_ms is not None:
            self._take_over_beats(beats, beats.sent_ms)
        if commits.sent_ms is not None:
            self._take_over_commits(commits, commits.sent_ms)
        self.steps += 1
        self._stepped_ms = self.threads.clock.now_ms = stepped_ms

    def _take_over_beats(self, beats: Errand, sent_ms: int) -> None:
        self._beat_sent_ms, self._beat_at_ms = sent_ms, beats.at_ms
        if beats.heard_ms is not None:
            self._beat_heard_ms = beats.heard_ms
        if beats.is_out:
            self._beat, self._answered_beat = self._answered_beat, None
            self.threads.expect_by(sent_ms + self._timeout_ms + 1)
        beats.sent_ms = beats.heard_ms = None

    def _take_over_commits(self, commits: Errand, sent_ms: int) -> None:
        self._has_looked = True
        if commits.heard_ms is not None:
            self.polling.client.ended += 1
        self.threads.clock.now_ms = sent_ms
        if commits.is_out:
            self._put_beat_in_flight()  # If it is out, too, it left before.
            self._commit = commit = self._begin_commit(sent_ms, self._said)
            commit.sent_ms = sent_ms
            self.polling.client.network.put_in_flight(commit)
            self.threads.expect_by(sent_ms + commit.timeout_ms + 1)
        else:
            self.group.commits.begin_interval(sent_ms)
        self._commit_at_ms = commits.at_ms
        commits.sent_ms = commits.heard_ms = None

    # --- answers ----------------------------------------------------------------------------------

    def _hear_beat(self, connection: str, to: Request | None, now_ms: int) -> bool:
        beat = self._beat
        if beat is not None and not self._in_flight:
            if connection != self._connection or (to is not None and to is not beat):
                return False
            self._beat, self._answered_beat = None, beat
        else:
            sent, network = self._sent_beat, self.polling.client.network
            if sent is None or (to is not None and to is not sent.request):
                return False
            if network.next_to_end(connection) is not sent:
                return False
            network.end_answered(connection)
            self._sent_beat = None
        self._beat_heard_ms = now_ms
        return True

    def _hear_commit(self, connection: str, reply: object, to: Request | None, now_ms: int) -> bool:
        sent, network = self._commit, self.polling.client.network
        if sent is None or (to is not None and to is not sent.request):
            return False
        if network.next_to_end(connection) is not sent:
            return False
        self.threads.clock.now_ms = now_ms
        network.end_answered(connection)
        self.polling.client.ended += 1
        self._commit, self._has_looked = None, True
        _run(sent.on_reply(reply))
        self.group.commits.tell_committed()
        return True

    def _hear_records(
        self, connection: str, reply: FetchResponse, to: Request | None, now_ms: int
    ) -> bool:
        """Take an answer, if it has no records, or all are handled now; whether it was such."""
        polling, client = self.polling, self.polling.client
        network, hand_out = client.network, polling.handles_at_once
        sent = network.next_to_end(connection)
        if sent is None or (to is not None and to is not sent.request):
            return False
        plain = polling.fetcher.plain_answer(sent.node, reply)
        if plain is None:
            return False
        records = plain.records
        if records and hand_out is None:
            return False
        if plain.found:
            self._said = None  # Positions may move.
        self.threads.clock.now_ms = now_ms
        network.end_answered(connection)
        client.fetched += 1
        self._send(polling.fetcher.take_plain(sent.node, reply, plain), now_ms)
        if records and hand_out is not None:
            hand_out(records)
        self._has_looked = True  # After records, the next poll does: it waits on in this one.
        return True

    # --- what it does there -----------------------------------------------------------------------

    def _can_beat(self) -> bool:
        """Whether the coordinator has not left too much unanswered."""
        if self._beat is not None:
            self._put_beat_in_flight()
        return len(self._in_flight) < MAX_IN_FLIGHT_PER_CONNECTION

    def _send_beat(self, now_ms: int) -> RequestSent:
        self._beat_sent_ms = now_ms
        self._beat_at_ms = now_ms + self._interval_ms
        beat, threads = self._answered_beat, self.threads
        if beat is None:
            beat = self.group.membership.requests.heartbeat()
        self._beat, self._answered_beat = beat, None
        threads.expect_by(now_ms + self._timeout_ms + 1)
        # A tuple with names, without the call of its class.
        return tuple.__new__(RequestSent, (now_ms, self._connection, beat, True, False))

    def _can_commit(self) -> bool:
        """Whether a commit has something to say, and can be sent."""
        self._put_beat_in_flight()
        coordinator = self.group.membership.discovery.coordinator
        return (
            coordinator is not None
            and not self.group.commits.has_news
            and len(self.polling.subscriptions.assigned_partitions) > 0
            and self.polling.client.network.can_send(coordinator.connection)
        )

    def _send_commit(self, now_ms: int) -> None:
        self.threads.clock.now_ms = now_ms
        # One that is not answered is not sent once more.
        said = self._said if self._commit is None else None
        self._commit = self._begin_commit(now_ms, said)
        self._send(self._commit, now_ms)
        self._has_looked = True
        self._commit_at_ms = self.group.commits.auto_commit_timer.deadline_ms
        self._ends_ms = self._wait_ends_ms()

    def _begin_commit(self, now_ms: int, said: OffsetCommitRequest | None) -> ClientRequest:
        """Make a commit that leaves now, or has left; `said` is what it says, if that is known."""
        client = self.polling.client
        channels = client.network.channels
        is_woken = channels.is_woken
        self.group.commits.begin_auto_commit(now_ms, said)
        channels.is_woken = is_woken  # It is on its way; no pass has to be made for it.
        commit = client.next_at_rest()
        assert isinstance(commit.request, OffsetCommitRequest)
        self._said = commit.request
        return commit

    def _refresh(self, now_ms: int) -> None:
        """Look at metadata, which no poll that ends is in the way of: that would not be calm."""
        self.threads.clock.now_ms = now_ms
        self.polling.client.network.refresh(now_ms)
        self.threads.expect_by(now_ms + self._timeout_ms + 1)
        self._ends_ms = self._wait_ends_ms()

    def _send(self, request: ClientRequest, now_ms: int) -> None:
        network, threads = self.polling.client.network, self.threads
        network.send(request, now_ms)
        network.channels.receive()  # The pass that put it on the wire finds nothing there.
        threads.expect_by(now_ms + request.timeout_ms + 1)


def _run(told: Told) -> None:
    """Do to the end what has nothing to wait for: no code of a user's has a part in it."""
    if told is None:
        return
    with suppress(StopIteration):
        told.__await__().send(None)
        raise AssertionError("an automatic commit waits for nobody")
