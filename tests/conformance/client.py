"""Plays recorded conversations of Kafka's own consumer with ours, step by step.

Everything is compared strictly: heartbeats at their exact times, connections, reasons and user
data too. Within one instant only the order inside each line counts: the application's line with
the coordinator's requests, one line per broker, and one for each kind of background work.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, field

from client.connections import Channels, Link, Received
from client.consumer import Consumer
from client.errors import IllegalStateException
from client.listeners import ConsumerInterceptor
from client.outputs import ConnectionAttempted, ConnectionClosed, RequestSent
from client.settings import ConsumerConfig, consumer_config
from coordinator.protocol import Request
from tests.conformance.client_application import Application, ScriptedInterceptor
from tests.conformance.client_replies import reply_to
from tests.conformance.client_requests import api_of, fields_of
from tests.conformance.client_words import Fields
from tests.conformance.results import CaseResult

#: Everything that FORMAT_CLIENT lists as optional in its section 9.
ABILITIES = frozenset(
    {
        "close_operation",
        "connections",
        "fetch_sessions",
        "interceptor",
        "leader_epochs",
        "racks",
        "second_thread",
        "thread_order",
        "zero_poll",
    }
)

_BACKGROUND = frozenset({"Heartbeat", "LeaveGroup", "FindCoordinator"})
_MAIN_LINE = "application"
#: Steps shown before the one that differs.
_SHOWN_BEFORE = 4


class Difference(Exception):
    """Ours and Kafka's conversation part here."""


def is_mine(cases: list[dict[str, Any]]) -> bool:
    """Whether these are conversations of a consumer."""
    return all("steps" in case and "listener" in case for case in cases)


def play(cases: list[dict[str, Any]]) -> Iterator[CaseResult]:
    """Play every case; one that needs what we cannot do is skipped."""
    for case in cases:
        missing = set(case.get("needs", ())) - ABILITIES
        if missing:
            yield CaseResult(case["id"], "skipped", f"needs {', '.join(sorted(missing))}")
            continue
        conversation = Conversation(case)
        try:
            conversation.play()
        except Difference as difference:
            yield CaseResult(case["id"], "failed", f"{difference}\n{conversation.shown()}")
        except Exception as error:  # noqa: BLE001 (a case that breaks us has failed)
            message = f"{type(error).__name__}: {error}\n{conversation.shown()}"
            yield CaseResult(case["id"], "failed", message)
        else:
            yield CaseResult(case["id"], "passed")


@define(eq=False)
class Conversation:
    """One case while it is played."""

    case: dict[str, Any]
    _number: int = 0
    _actual: list[Fields] = field(factory=list)
    _bound: dict[str, tuple[str, Request]] = field(factory=dict)
    _sent: dict[int, tuple[str, Request]] = field(factory=dict)
    _state: Fields = field(factory=dict)
    _consumer: Consumer = field(init=False)
    _application: Application = field(init=False)

    def play(self) -> None:
        """Play every step and compare what follows from it."""
        self._application = Application(self.case.get("listener", []))
        settings = {"group.id": "g", **self.case["config"]}
        interceptors: tuple[ConsumerInterceptor, ...] = ()
        if settings.pop("interceptor", False):
            interceptors = (ScriptedInterceptor(self._application),)
        self._consumer = _consumer_as_recorded(consumer_config(settings), interceptors)
        self._application.consumer = self._consumer
        for number, step in enumerate(self.case["steps"]):
            self._number = number
            self._actual = [
                fields for fields in map(self._recorded, self._do(step)) if fields is not None
            ]
            self._compare_lines(step["then"])
            self._compare_state(step)

    def shown(self) -> str:
        """The conversation around the present step: what was expected and what came."""
        steps = self.case["steps"]
        lines = []
        for number in range(max(0, self._number - _SHOWN_BEFORE), self._number + 1):
            step = {key: value for key, value in steps[number].items() if key != "then"}
            lines.append(f"  step {number}: {json.dumps(step)}")
            if number < self._number:
                lines += [f"      {json.dumps(output)}" for output in steps[number]["then"]]
        lines += [f"    Kafka {json.dumps(output)}" for output in steps[self._number]["then"]]
        lines += [f"    ours  {json.dumps(_public(output))}" for output in self._actual]
        return "\n".join(lines)

    # --- stimuli ----------------------------------------------------------------------------------

    def _do(self, step: Fields) -> tuple[object, ...]:
        at_ms, what = step["at"], step["do"]
        consumer = self._consumer
        if consumer.clock.now_ms != at_ms:
            raise Difference(f"the clock is at {consumer.clock.now_ms}, not {at_ms}")
        match what:
            case "advance":
                return consumer.on_time(step["to"])
            case "reply":
                connection, request = self._bound[step["req"]]
                return consumer.on_reply(connection, reply_to(request, step), at_ms)
            case "disconnect":
                return consumer.on_disconnect(step["connection"], at_ms)
            case "link":
                return consumer.set_link(step["connection"], Link(step["mode"]), at_ms)
            case "wakeup":
                return consumer.wakeup(at_ms)
        return consumer.start(self._application.call(what, step), at_ms)

    def _recorded(self, fact: object) -> Fields | None:
        """A fact as it would have been recorded; None if it would not."""
        if isinstance(fact, dict):
            return fact
        if isinstance(fact, RequestSent):
            api = api_of(fact.request)
            self._sent[fact.request.request_id] = (fact.connection, fact.request)
            fields = {
                "at": fact.at_ms,
                "out": "request",
                "req": fact.request.request_id,
                "api": api,
                "to": fact.connection,
                **fields_of(fact.request),
            }
            if api == "Heartbeat" or (fact.by_heartbeat and api in _BACKGROUND):
                fields["bg"] = True
            if fact.lost:
                fields["lost"] = True
            return fields
        if isinstance(fact, ConnectionAttempted) and fact.link is not Link.ACCEPT:
            return {"at": fact.at_ms, "out": "connect", "to": fact.connection}
        if isinstance(fact, ConnectionClosed) and fact.unanswered > 0:
            return {"at": fact.at_ms, "out": "close_connection", "to": fact.connection}
        return None

    # --- comparison -------------------------------------------------------------------------------

    def _compare_lines(self, expected: list[Fields]) -> None:
        theirs, ours = _by_line(expected), _by_line(self._actual)
        for line in sorted(theirs.keys() | ours.keys()):
            pairs = zip(theirs.get(line, ()), ours.get(line, ()), strict=False)
            for one, other in pairs:
                if _comparable(one) != _comparable(other):
                    raise Difference(
                        f"step {self._number}, {line}: Kafka {json.dumps(one)}, "
                        f"ours {json.dumps(_public(other))}"
                    )
                if one["out"] == "request":
                    self._bound[one["req"]] = self._sent[other["req"]]
            missing = len(theirs.get(line, ())) - len(ours.get(line, ()))
            if missing > 0:
                first = theirs[line][-missing]
                raise Difference(f"step {self._number}, {line}: missing {json.dumps(first)}")
            if missing < 0:
                first = ours[line][missing]
                raise Difference(
                    f"step {self._number}, {line}: too much {json.dumps(_public(first))}"
                )

    def _compare_state(self, step: Fields) -> None:
        subscriptions = self._consumer.calls.subscriptions
        positions: Fields = {}
        for partition in subscriptions.assigned_partitions:
            known = subscriptions.state(partition)
            position = known.position if known.has_valid_position else None
            positions[str(partition)] = None if position is None else position.offset
        paused = sorted(map(str, subscriptions.where(lambda known: known.is_paused)))
        ours = {"positions": positions, "paused": paused}
        if "state" in step:
            told = step["state"]
            self._state = {
                "positions": told["positions"],
                "paused": sorted(told.get("paused", ())),
            }
        if ours != self._state:
            raise Difference(
                f"step {self._number}: Kafka's state {json.dumps(self._state)}, "
                f"ours {json.dumps(ours)}"
            )


@define(eq=False)
class _RecordedChannels(Channels):
    """The recorder's stand-in for Kafka's socket selector, which differs from it in one thing.

    It reports a request as written even if its connection was closed before it could be, and
    Kafka's client, which has forgotten that request, then fails.
    """

    has_in_flight: Callable[[str], bool] = field(kw_only=True)
    _written: list[str] = field(factory=list)

    def sent(self, connection: str) -> bool:
        self._written.append(connection)
        return super().sent(connection)

    def receive(self) -> Received | None:
        written, self._written = self._written, []
        received = super().receive()
        for connection in written:
            if not self.has_in_flight(connection):
                raise IllegalStateException(f"there are no in-flight requests for {connection}")
        return received


def _consumer_as_recorded(
    config: ConsumerConfig, interceptors: tuple[ConsumerInterceptor, ...]
) -> Consumer:
    """Our consumer in the recorder's surroundings.

    The recorder also lets a failed heartbeat's notification pass unheard, if the application's
    thread handled the answer.
    """
    consumer = Consumer(config, interceptors=interceptors)
    network = consumer.calls.client.network
    network.channels = _RecordedChannels(has_in_flight=network.has_in_flight)
    consumer.threads.after_failed_beat = lambda: None
    return consumer


def _line_of(output: Fields) -> str:
    if output["out"] in ("connect", "close_connection"):
        return f"connections, {output['to']}"
    if output["out"] != "request":
        return _MAIN_LINE
    api, to = str(output["api"]), str(output["to"])
    if api in ("Metadata", "FindCoordinator"):
        return api
    if output.get("bg"):
        return "background"
    return _MAIN_LINE if to.startswith("c") else to


def _by_line(outputs: list[Fields]) -> dict[str, list[Fields]]:
    lines: dict[str, list[Fields]] = {}
    for output in outputs:
        lines.setdefault(_line_of(output), []).append(output)
    return lines


def _comparable(output: Fields) -> Fields:
    """What of an output counts: not the name of a request, nor whom a lookup asked."""
    dropped = {"req"}
    if output.get("api") in ("Metadata", "FindCoordinator"):
        dropped |= {"to", "bg"}
    return {key: value for key, value in output.items() if key not in dropped}


def _public(output: Fields) -> Fields:
    return {key: value for key, value in output.items() if key != "req"}
