"""The application of a recorded conversation: its calls, its listener, its interceptor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from attrs import define, field

from client.assignors import AssignmentError, ConsumerGroupMetadata
from client.calls import AsyncConsumer
from client.consumer import Consumer
from client.errors import IllegalArgumentException, KafkaException, WakeupException
from client.listeners import (
    ConsumerInterceptor,
    Offsets,
    Partitions,
    RebalanceListener,
)
from client.partitions import OffsetAndMetadata
from client.records import ConsumerRecords
from tests.conformance.client_words import Fields, offset_of, partition_of

_OF_PARTITIONS = frozenset(
    {
        "assign",
        "beginning_offsets",
        "committed",
        "end_offsets",
        "pause",
        "resume",
        "seek_to_beginning",
        "seek_to_end",
    }
)
_OF_A_PARTITION = frozenset({"position", "seek"})
_PLAIN = ("topics", "pattern", "offset", "leader_epoch", "reason", "operation")


@define(eq=False)
class Application:
    """Makes the calls of one case and records what comes of them."""

    acts: list[Fields]
    consumer: Consumer = field(init=False)
    _seen: Counter[str] = field(factory=Counter)

    @property
    def calls(self) -> AsyncConsumer:
        """What the application calls."""
        return self.consumer.calls

    def out(self, **fields: Any) -> None:
        """Record an output at the present time."""
        self.consumer.tell({"at": self.consumer.clock.now_ms, **fields})

    async def call(self, what: str, step: Fields) -> None:
        """Make one call; whatever it comes to is recorded."""
        call = step["call"]
        try:
            value = await self._perform(what, step, call)
        except Exception as error:  # noqa: BLE001 (what it is, is what is recorded)
            self.out(out="raise", call=call, **_raised(error))
            return
        if isinstance(value, dict) and "records" in value:
            self.out(out="return", call=call, **value)
        elif value is None:
            self.out(out="return", call=call)
        else:
            self.out(out="return", call=call, value=value)

    async def callback(self, name: str, partitions: Partitions, label: str | None) -> None:
        """Run a rebalance callback and the actions that the case has for it."""
        named = {} if label is None else {"listener_name": label}
        self.out(out="callback", name=name, partitions=list(map(str, partitions)), **named)
        self._seen[name] += 1
        nth = self._seen[name]
        for act in self.acts:
            if act["on"] != name or act["nth"] != nth:
                continue
            failure: Exception | None = None
            for action in act["act"]:
                if action["do"] == "raise":
                    failure = _failure(action["error"])
                else:
                    await self._act(action, f"{name}{nth}")
            self.out(out="callback_end", name=name)
            if failure is not None:
                raise failure

    async def _act(self, action: Fields, call: str) -> None:
        what = action["do"]
        if what == "sleep":
            await self.calls.sleep(action["ms"])
        elif what == "wakeup":
            self.calls.wakeup()
        else:
            try:
                value = await self._perform(what, action, call)
            except Exception as error:  # noqa: BLE001 (what it is, is what is recorded)
                self.out(out="nested_raise", call=call, do=what, **_raised(error))
                return
            returned = {} if value is None else {"value": value}
            self.out(out="nested_return", call=call, do=what, **returned)

    async def _perform(self, what: str, args: Fields, call: str) -> Any:
        """Make a call of FORMAT_CLIENT's section 3; what it returns, in that section's words."""
        calls = self.calls
        given = {"timeout_ms": args["timeout_ms"]} if "timeout_ms" in args else {}
        if what in _OF_PARTITIONS:
            given["partitions"] = [partition_of(name) for name in args["partitions"]]
        if what in _OF_A_PARTITION:
            given["partition"] = partition_of(args["partition"])
        if what in ("commit_sync", "commit_async"):
            given["offsets"] = _offsets(args)
        if what in ("subscribe", "subscribe_pattern"):
            given["listener"] = self._listener(args)
        if what == "commit_async":
            given["callback"] = self._commit_callback(args, call)
        given |= {name: args[name] for name in _PLAIN if name in args}
        if what == "subscribe" and not args["topics"]:
            calls.group_metadata()  # Without a group, this raises what `subscribe` would.
            what, given = "unsubscribe", {}
        value = getattr(calls, what)(**given)
        if isawaitable(value):
            value = await value
        return _in_words(value)

    def _listener(self, args: Fields) -> RebalanceListener | None:
        if args.get("listener") is False:
            return None
        return _ScriptedListener(self, args.get("listener_name"))

    def _commit_callback(self, args: Fields, call: str) -> Any:
        if args.get("callback") is False:
            return None

        def on_end(offsets: Offsets, error: Exception | None) -> None:
            name = None if error is None else type(error).__name__
            self.out(
                out="callback", name="commit", call=call, offsets=_by_name(offsets), error=name
            )
            if "callback_wakeup" in args:
                self.calls.wakeup()
            if "callback_raises" in args:
                raise IllegalArgumentException("callback")

        return on_end


@define(eq=False)
class _ScriptedListener(RebalanceListener):
    application: Application
    label: str | None

    async def on_partitions_assigned(self, partitions: Partitions) -> None:
        await self.application.callback("assigned", partitions, self.label)

    async def on_partitions_revoked(self, partitions: Partitions) -> None:
        await self.application.callback("revoked", partitions, self.label)

    async def on_partitions_lost(self, partitions: Partitions) -> None:
        await self.application.callback("lost", partitions, self.label)


@define(eq=False)
class ScriptedInterceptor(ConsumerInterceptor):
    """Records what interceptors are told."""

    application: Application

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """Record how many."""
        self.application.out(out="callback", name="on_consume", count=len(records))
        return records

    def on_commit(self, offsets: Offsets) -> None:
        """Record which."""
        self.application.out(out="callback", name="on_commit", offsets=_by_name(offsets))


def _offsets(args: Fields) -> Offsets | None:
    if "offsets" not in args:
        return None
    return {partition_of(name): offset_of(value) for name, value in args["offsets"].items()}


def _in_words(value: Any) -> Any:
    """What a call returned, as it would have been recorded."""
    if isinstance(value, ConsumerRecords):
        return {"records": _ranges(value)}
    if isinstance(value, ConsumerGroupMetadata):
        return {
            "generation": value.generation_id,
            "member_id": value.member_id,
            "group_instance_id": value.group_instance_id,
        }
    if isinstance(value, dict):
        return _by_name(value)
    if isinstance(value, frozenset):
        return [str(each) for each in sorted(value)]
    return value


def _by_name(offsets: Mapping[Any, OffsetAndMetadata | int | None]) -> Fields:
    return {
        str(partition): known.offset if isinstance(known, OffsetAndMetadata) else known
        for partition, known in offsets.items()
    }


def _ranges(records: ConsumerRecords) -> Fields:
    return {
        str(partition): [records.of(partition)[0].first, records.of(partition)[-1].end]
        for partition in records.partitions
    }


def _raised(error: Exception) -> Fields:
    fields = {"error": _name_of(error)}
    if error.__cause__ is not None and not isinstance(error, AssignmentError):
        fields["cause"] = _name_of(error.__cause__)
    return fields


def _name_of(error: BaseException) -> str:
    if isinstance(error, AssignmentError):
        return error.java_class.rpartition(".")[2]
    return type(error).__name__


def _failure(name: str) -> Exception:
    if name == "WakeupException":
        return WakeupException()
    if name == "KafkaException":
        return KafkaException("listener")
    return IllegalArgumentException("listener")
