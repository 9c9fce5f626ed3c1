"""A consumer in conversation with a friendly cluster, for tests that want one thing to go wrong.

`Talk` drives our consumer; brokers 0 (the coordinator) and 1 answer at once unless a test holds an
API back or gives it another answer. What happened is a list of outputs in FORMAT_CLIENT's words.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field

from client.backoff import Chance
from client.connections import ChannelState, Link
from client.consumer import Consumer
from client.membership import Membership
from client.messages import FetchRequest
from client.outputs import ConnectionClosed, RequestSent
from client.settings import consumer_config
from coordinator.protocol import Request
from tests.conformance.client_application import Application, ScriptedInterceptor
from tests.conformance.client_replies import reply_to
from tests.conformance.client_requests import api_of, fields_of
from tests.conformance.client_words import Fields

RANGE = {"partition.assignment.strategy": ["range"]}
COOPERATIVE = {"partition.assignment.strategy": ["cooperative-sticky"]}
BY_HAND = {"enable.auto.commit": False}


@define(eq=False, kw_only=True)
class Talk:
    """A conversation under way."""

    settings: Fields = field(factory=dict)
    acts: list[Fields] = field(factory=list)
    topics: dict[str, list[int]] = field(factory=lambda: {"t": [1, 1]})
    epochs: dict[str, list[int]] = field(factory=dict)
    logs: dict[str, list[int]] = field(factory=dict)
    committed: dict[str, Any] = field(factory=dict)
    assignment: list[str] = field(factory=lambda: ["t-0", "t-1"])
    is_leader: bool = False
    has_interceptor: bool = False
    chance: Chance | None = None
    #: APIs that are not answered until `release`.
    held: set[str] = field(factory=set)
    #: Answers to give next, per API, in place of the friendly ones.
    answers: dict[str, list[Fields]] = field(factory=dict)
    generation: int = 0
    outputs: list[Fields] = field(factory=list)
    #: Everything that the consumer told, as it told it.
    facts: list[object] = field(factory=list)
    consumer: Consumer = field(init=False)
    _application: Application = field(init=False)
    _calls: int = 0
    _open: list[tuple[str, Request, int]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._application = Application(self.acts)
        interceptors = (ScriptedInterceptor(self._application),) if self.has_interceptor else ()
        config = consumer_config({"group.id": "g", **RANGE, **self.settings})
        self.consumer = Consumer(config, interceptors=interceptors, chance=self.chance)
        self._application.consumer = self.consumer

    # --- what a test does -------------------------------------------------------------------------

    @property
    def now_ms(self) -> int:
        return self.consumer.clock.now_ms

    def call(self, what: str, **args: Any) -> Any:
        """Make a call; its value if it returns at once, the name of what it raises, or `...`."""
        self._calls += 1
        step = {"call": f"c{self._calls}", **args}
        self._take(self.consumer.start(self._application.call(what, step), self.now_ms))
        return self.outcome()

    def outcome(self) -> Any:
        """How the last call ended: a value, the name of an exception, or `...` if it goes on."""
        for output in reversed(self.outputs):
            if output.get("call") == f"c{self._calls}" and output["out"] in ("return", "raise"):
                return output.get("error") or output.get("records") or output.get("value")
        return ...

    def poll(self, timeout_ms: int = 0) -> Any:
        return self.call("poll", timeout_ms=timeout_ms)

    def polls(self) -> Any:
        """Poll once without a time-out of its own, and let pass what time it takes all the same."""
        self.poll()
        while self.outcome() is ...:
            self.advance(100)
        return self.outcome()

    def advance(self, by_ms: int) -> None:
        """Let time pass; a fetch that waits for records is answered when its wait is over."""
        target = self.now_ms + by_ms
        while True:
            waits = [
                sent_ms + request.max_wait_ms
                for _, request, sent_ms in self._open
                if isinstance(request, FetchRequest) and "Fetch" not in self.held
            ]
            due = [at for at in [*waits, self.consumer.next_wakeup_ms] if at > self.now_ms]
            self._take(self.consumer.on_time(min([target, *due])))
            if self.now_ms >= target:
                return

    def reply(self, api: str, **fields: Any) -> None:
        """Answer the oldest open request of an API."""
        connection, request, _ = next(each for each in self._open if api_of(each[1]) == api)
        self._answer(connection, request, fields)

    def reply_with(self, api: str, message: object) -> None:
        """Answer the oldest open request of an API with a message of one's own."""
        connection, request, _ = next(each for each in self._open if api_of(each[1]) == api)
        self._open = [each for each in self._open if each[1] is not request]
        self._take(self.consumer.on_reply(connection, message, self.now_ms))

    def release(self, *apis: str) -> None:
        """Answer what was held back, and go on answering."""
        self.held -= set(apis)
        self._pump()

    def produce(self, partition: str, count: int) -> None:
        """Append records; a fetch that waits for them is answered."""
        self.logs.setdefault(partition, [0, 0])[1] += count
        self._pump()

    def disconnect(self, connection: str) -> None:
        self._open = [each for each in self._open if each[0] != connection]
        self._take(self.consumer.on_disconnect(connection, self.now_ms))

    def link(self, connection: str, mode: str) -> None:
        self._take(self.consumer.set_link(connection, Link(mode), self.now_ms))

    def wakeup(self) -> None:
        self._take(self.consumer.wakeup(self.now_ms))

    def joins(self, *topics: str) -> Talk:
        """Subscribe and poll until the member is stable and reads; then forget how it came so."""
        self.call("subscribe", topics=list(topics or self.topics))
        for _ in range(10):
            self.polls()
        self.forget()
        return self

    def rebalances(self) -> None:
        """The next heartbeat says that the group rebalances; it is sent and answered."""
        self.answers["Heartbeat"] = [{"error": "REBALANCE_IN_PROGRESS"}]
        self.advance(3_100)

    # --- what a test looks at ---------------------------------------------------------------------

    def forget(self) -> None:
        """Only what happens from now on is of interest."""
        self.outputs.clear()

    def sent(self, *apis: str) -> list[Fields]:
        """The requests since `forget`, of these APIs or of all but heartbeats and metadata."""
        quiet = {"Heartbeat", "Metadata", "Fetch"}
        return [
            output
            for output in self.outputs
            if output["out"] == "request"
            and (output["api"] in apis if apis else output["api"] not in quiet)
        ]

    def sent_apis(self) -> list[str]:
        """The kinds of `sent()`."""
        return [request["api"] for request in self.sent()]

    @property
    def callbacks(self) -> list[tuple[str, Any]]:
        """The callbacks since `forget`: name and partitions, or how a commit ended."""
        return [
            (output["name"], output.get("partitions", output.get("error")))
            for output in self.outputs
            if output["out"] == "callback"
        ]

    @property
    def nested(self) -> list[Any]:
        """How calls inside callbacks ended."""
        return [
            output.get("error") or output.get("value")
            for output in self.outputs
            if output["out"].startswith("nested")
        ]

    @property
    def order(self) -> list[str]:
        """Callbacks and requests since `forget`, by name, in the order in which they came."""
        quiet = {"Heartbeat", "Metadata", "Fetch"}
        names = [output.get("api") or output.get("name") or "" for output in self.outputs]
        return [name for name in names if name and name not in quiet]

    @property
    def membership(self) -> Membership:
        self.consumer.write_down()
        group = self.consumer.calls.group
        assert group is not None
        return group.membership

    @property
    def assigned(self) -> list[str]:
        return sorted(map(str, self.consumer.calls.subscriptions.assigned_partitions))

    @property
    def positions(self) -> Fields:
        known = self.consumer.calls.subscriptions
        valid = {tp: known.state(tp) for tp in known.assigned_partitions}
        return {
            str(tp): state.position.offset if state.has_valid_position and state.position else None
            for tp, state in valid.items()
        }

    # --- the cluster ------------------------------------------------------------------------------

    def _take(self, told: tuple[object, ...]) -> None:
        self.facts += told
        for fact in told:
            if isinstance(fact, dict):
                self.outputs.append(fact)
            elif isinstance(fact, RequestSent):
                output = {
                    "at": fact.at_ms,
                    "out": "request",
                    "api": api_of(fact.request),
                    "to": fact.connection,
                    **fields_of(fact.request),
                }
                self.outputs.append(output)
                if not fact.lost:
                    self._open.append((fact.connection, fact.request, fact.at_ms))
            elif isinstance(fact, ConnectionClosed):
                self._open = [each for each in self._open if each[0] != fact.connection]
        self._pump()

    def _pump(self) -> None:
        blocked: set[str] = set()
        for connection, request, sent_ms in list(self._open):
            api = api_of(request)
            if connection in blocked or not self._is_open(connection):
                continue
            answer = None if api in self.held else self._friendly(api, request, sent_ms)
            if answer is None:
                blocked.add(connection)
                continue
            self._answer(connection, request, answer)
            return

    def _is_open(self, connection: str) -> bool:
        channel = self.consumer.calls.client.network.channels.get(connection)
        return channel is not None and channel.state is ChannelState.OPEN

    def _answer(self, connection: str, request: Request, fields: Fields) -> None:
        self._open = [each for each in self._open if each[1] is not request]
        reply = reply_to(request, fields)
        self._take(self.consumer.on_reply(connection, reply, self.now_ms))

    def _friendly(self, api: str, request: Request, sent_ms: int) -> Fields | None:
        if self.answers.get(api):
            return self.answers[api].pop(0)
        answer: Fields | None = getattr(self, f"_{api}")(fields_of(request), sent_ms)
        return answer

    def _Metadata(self, asked: Fields, _: int) -> Fields:  # noqa: N802
        wanted = sorted(self.topics) if asked["topics"] is None else asked["topics"]
        return {
            "brokers": [0, 1],
            "topics": {topic: self.topics.get(topic) for topic in wanted},
            "epochs": {topic: known for topic, known in self.epochs.items() if topic in wanted},
        }

    def _FindCoordinator(self, _asked: Fields, _: int) -> Fields:  # noqa: N802
        return {"error": "NONE", "node": 0}

    def _JoinGroup(self, asked: Fields, _: int) -> Fields:  # noqa: N802
        if not asked["member_id"] and "group_instance_id" not in asked:
            return {"error": "MEMBER_ID_REQUIRED", "member_id": f"m{self.generation + 1}"}
        self.generation += 1
        member = asked["member_id"] or f"m{self.generation}"
        protocol = asked["protocols"][0]
        joined = {
            "error": "NONE",
            "member_id": member,
            "generation": self.generation,
            "protocol": protocol["name"],
            "leader": member if self.is_leader else "another",
        }
        if self.is_leader:
            joined["members"] = [{"member_id": member, **protocol}]
        return joined

    def _SyncGroup(self, asked: Fields, _: int) -> Fields:  # noqa: N802
        decided = asked["assignments"].get(asked["member_id"])
        return {"error": "NONE", "assignment": self.assignment if decided is None else decided}

    def _OffsetFetch(self, asked: Fields, _: int) -> Fields:  # noqa: N802
        wanted = asked["partitions"]
        known = {name: offset for name, offset in self.committed.items() if name in wanted}
        return {"error": "NONE", "offsets": known}

    def _OffsetCommit(self, asked: Fields, _: int) -> Fields:  # noqa: N802
        self.committed |= asked["offsets"]
        return {"error": "NONE"}

    def _ListOffsets(self, asked: Fields, _: int) -> Fields:  # noqa: N802
        ends = {name: self.logs.get(name, [0, 0]) for name in asked["partitions"]}
        places = asked["partitions"].items()
        return {"offsets": {n: ends[n][1 if place == "latest" else 0] for n, place in places}}

    def _OffsetForLeaderEpoch(self, asked: Fields, _: int) -> Fields:  # noqa: N802
        return {
            "ends": {
                name: {"leader_epoch": wanted["leader_epoch"], "end_offset": 1_000}
                for name, wanted in asked["partitions"].items()
            }
        }

    def _Fetch(self, asked: Fields, sent_ms: int) -> Fields | None:  # noqa: N802
        found: Fields = {}
        for name, offset in asked["partitions"].items():
            first, end = self.logs.get(name, [0, 0])
            if offset < first or (offset > max(end, 0) and name in self.logs):
                found[name] = {"error": "OFFSET_OUT_OF_RANGE"}
            elif offset < end:
                found[name] = {"records": [offset, end], "high_watermark": end}
        max_wait_ms = self.consumer.config.fetch_max_wait_ms
        is_over = self.now_ms >= sent_ms + max_wait_ms or not asked["partitions"]
        return {"partitions": found} if found or is_over else None

    def _Heartbeat(self, _asked: Fields, _: int) -> Fields:  # noqa: N802
        return {"error": "NONE"}

    def _LeaveGroup(self, _asked: Fields, _: int) -> Fields:  # noqa: N802
        return {"error": "NONE"}
