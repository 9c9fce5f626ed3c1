"""The player for scripted cases and recorded walks of the coordinator (FORMAT.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, evolve, field

from coordinator import ErrorCode, GroupConfig, GroupCoordinator, ListedIds, SeededIds
from coordinator.invariants import Watch, check_all
from tests.conformance.matching import difference
from tests.conformance.results import CaseResult
from tests.conformance.words import REQUESTS, Metadata, Words, words_of
from tests.support.host import Host

ABILITIES = frozenset(
    {
        "load",
        "append_failure",
        "skip_assignment",
        "legacy_static_rejoin",
        "api_version",
        "retention_time",
        "subscription_parsing",
        "group_types",
        "empty_group_id",
        "null_group_id",
        "member_ids",
        "map_order",
        "shards",
    }
)

#: A case's words for settings, where they differ from ours.
_CONFIG_NAMES = {
    "offset_metadata_max_size": "offset_metadata_max_bytes",
    "offsets_topic_partitions": "offsets_topic_num_partitions",
}
_DEFAULTS = {
    "group_min_session_timeout_ms": 10,
    "group_max_session_timeout_ms": 600_000,
    "offsets_topic_num_partitions": 1,
}


class Mismatch(Exception):
    """The coordinator did not do what was recorded."""


def is_mine(cases: list[Words]) -> bool:
    """Cases of the coordinator say where they come from, and their steps begin with its verbs."""
    known = set(REQUESTS) | {"advance", "expect_state", "load", "unload", "fail_next_append"}
    return bool(cases) and all(
        {"steps", "config"} <= set(case) and case["steps"][0]["do"] in known for case in cases
    )


def play(cases: list[Words], trace: Callable[[str], None] | None = None) -> Iterator[CaseResult]:
    """Play each case on a machine of its own."""
    for case in cases:
        missing = sorted(set(case.get("needs", [])) - ABILITIES)
        if missing:
            yield CaseResult(case["id"], "skipped", f"needs {', '.join(missing)}")
            continue
        player = Player(case, trace)
        try:
            player.play()
        except Mismatch as mismatch:
            yield CaseResult(case["id"], "failed", str(mismatch))
        except Exception as error:  # noqa: BLE001 (a crash of ours is a failed case, not the end)
            message = f"step {player.place}: {type(error).__name__}: {error}"
            yield CaseResult(case["id"], "failed", message)
        else:
            yield CaseResult(case["id"], "passed")


def config_of(case_config: Words) -> GroupConfig:
    """The settings of a case on top of the format's defaults."""
    settings = dict(_DEFAULTS)
    for name, value in case_config.items():
        if value is not None:
            settings[_CONFIG_NAMES.get(name, name)] = value
    return GroupConfig.from_properties(settings)


@define(eq=False)
class Player:
    """One case being played."""

    case: Words
    trace: Callable[[str], None] | None = None
    host: Host = field(init=False)
    watch: Watch = field(factory=Watch)
    metadata: Metadata = field(factory=Metadata)
    names: dict[str, Words] = field(factory=dict)
    parked: dict[str, tuple[int, str | None]] = field(factory=dict)
    asserted: set[int] = field(factory=set)
    seen_ids: set[str] = field(factory=set)
    place: int = 0

    def __attrs_post_init__(self) -> None:
        """A fresh, empty, loaded coordinator at time 0."""
        config = config_of(self.case.get("config", {}))
        listed = self.case.get("member_ids")
        ids = SeededIds() if listed is None else ListedIds(tuple(listed))
        self.host = Host(GroupCoordinator(config, ids=ids))
        for shard in range(config.offsets_topic_num_partitions):
            self.host.load(shard)
        for index, member_id in enumerate(listed or ()):
            self.names[f"m{index}"] = {"member_id": member_id}

    def play(self) -> None:
        """All steps, in order."""
        self._say(f"case {self.case['id']}")
        for self.place, step in enumerate(self.case["steps"]):  # noqa: B020 (told when it fails)
            if step["at"] != self.host.now_ms:
                raise self._mismatch(f"the clock reads {self.host.now_ms}, not {step['at']}")
            if not step["do"].startswith("expect"):
                self._check_nothing_unasserted()
            self._say(f"  {self.host.now_ms:>8} {step['do']} {_told(step)}")
            if step["do"] in REQUESTS:
                self._request(step)
            else:
                _CONTROLS[step["do"]](self, step)
            self.watch.see(self.host.events, self.host.machine)
            check_all(self.host.machine, had_fault=self.watch.had_fault)
            self.host.events.clear()
            if self.trace is not None and not step["do"].startswith("expect"):
                for line in _states(self.host.machine):
                    self._say(f"{'':>11}{line}")
        ids = self.host.machine.ids
        if isinstance(ids, ListedIds) and ids.taken != len(ids.ids):
            raise self._mismatch(f"{len(ids.ids) - ids.taken} member ids were not used")

    # --- steps ---

    def _request(self, step: Words) -> None:
        request = REQUESTS[step["do"]](self._resolved(step["args"]), self.metadata)
        number = self.host.send(request)
        self.host.advance_to(self.host.now_ms)
        if step["expect"] == "pending":
            if number in self.host.replies:
                raise self._mismatch(f"expected to be parked, got {self._words(number)}")
            self.parked[step["tag"]] = (number, step.get("as"))
            self._say(f"{'':>11}parked")
            return
        if number not in self.host.replies:
            raise self._mismatch(f"expected {step['expect']}, got no answer")
        rows = self._words(number).get("partitions")
        if (
            step["do"] == "commit"
            and rows is not None
            and len(rows) != len(step["args"]["offsets"])
        ):
            raise self._mismatch(f"{len(step['args']['offsets'])} offsets, {len(rows)} rows")
        self._assert_answer(number, step, step.get("as"), step.get("tag"))

    def _expect_response(self, step: Words) -> None:
        number, member = self.parked[step["tag"]]
        if number not in self.host.replies:
            raise self._mismatch(f"{step['tag']} has no answer yet, expected {step['expect']}")
        self._assert_answer(number, step, member, step["tag"])

    def _expect_no_response(self, step: Words) -> None:
        number, _ = self.parked[step["tag"]]
        if number in self.host.replies:
            raise self._mismatch(f"{step['tag']} was answered: {self._words(number)}")

    def _expect_state(self, step: Words) -> None:
        got = self._state(self._resolved(step["group_id"]))
        self._compare(step["expect"], got)

    def _advance(self, step: Words) -> None:
        self.host.advance_to(step["to"])

    def _unload(self, step: Words) -> None:
        self.host.unload(self._shard_of(step))
        self.host.advance_to(self.host.now_ms)

    def _load(self, step: Words) -> None:
        host, shard = self.host, self._shard_of(step)
        for name, value in step.get("config", {}).items():
            setting = {_CONFIG_NAMES.get(name, name): value}
            if value is None:
                setting = {name: getattr(GroupConfig(), name)}
            host.machine.config = evolve(host.machine.config, **setting)
        phase = step.get("phase")
        if phase != "finish":
            host.carry_out(host.machine.start_loading(shard))
        if phase != "start":
            log = host.logs.get(shard, [])
            host.carry_out(host.machine.finish_loading(shard, log, host.now_ms))
        host.advance_to(host.now_ms)

    def _expiry_pass(self, step: Words) -> None:
        """The periodic cleanup runs by its own timer."""

    def _fail_next_append(self, step: Words) -> None:
        self.host.next_errors.clear()  # a later word replaces an earlier one
        self.host.next_errors.append(ErrorCode[step["error"]])

    # --- answers ---

    def _assert_answer(self, number: int, step: Words, member: str | None, tag: str | None) -> None:
        got = self._words(number)
        self.asserted.add(number)
        self._say(f"{'':>11}{got}")
        if member is not None and got["error"] in ("NONE", "MEMBER_ID_REQUIRED"):
            self.names[member] = {"member_id": got["member_id"]}
        if tag is not None:
            self.names[tag] = got
        self._compare(step["expect"], got)
        self._compare(step.get("wire", {}), got)
        if isinstance(got.get("member_id"), str):
            self.seen_ids.add(got["member_id"])

    def _compare(self, expected: Words, got: Words) -> None:
        found = difference(self._resolved(expected), got, self.seen_ids)
        if found is not None:
            raise self._mismatch(found)

    def _check_nothing_unasserted(self) -> None:
        if "member_ids" not in self.case:
            return  # only walks assert every answer at once
        for tag, (number, _) in self.parked.items():
            if number in self.host.replies and number not in self.asserted:
                raise self._mismatch(f"{tag} was answered unexpectedly: {self._words(number)}")

    def _words(self, number: int) -> Words:
        return words_of(self.host.replies[number], self.metadata)

    def _state(self, group_id: str) -> Words:
        machine = self.host.machine
        slot = machine.slots.get(machine.shard_of(group_id))
        group = None if slot is None or slot.shard is None else slot.shard.groups.get(group_id)
        if group is None:
            return {"state": "Dead"}
        return {
            "state": group.state.value,
            "generation": group.generation_id,
            "members": len(group.members),
            "member_ids": list(group.members),
            "leader": group.leader_id,
            "protocol_name": group.protocol_name,
        }

    def _shard_of(self, step: Words) -> int:
        return self.host.machine.shard_of(self._resolved(step["group_id"]))

    def _resolved(self, value: Any) -> Any:
        """A value with its references replaced."""
        if isinstance(value, str) and value.startswith("$") and "." in value:
            name, _, key = value[1:].partition(".")
            return self.names[name][key]
        if isinstance(value, list):
            return [self._resolved(each) for each in value]
        if isinstance(value, dict):
            return {key: self._resolved(each) for key, each in value.items()}
        return value

    def _mismatch(self, what: str) -> Mismatch:
        return Mismatch(f"step {self.place} ({self.case['steps'][self.place]['do']}): {what}")

    def _say(self, line: str) -> None:
        if self.trace is not None:
            self.trace(line)


def _states(machine: GroupCoordinator) -> Iterator[str]:
    """Each group in a line."""
    for slot in machine.slots.values():
        for group in slot.shard.groups.values() if slot.shard is not None else ():
            members = [
                f"{member_id}{' (joining)' if member.awaiting_join else ''}"
                f"{' (syncing)' if member.awaiting_sync else ''}"
                for member_id, member in group.members.items()
            ]
            yield (
                f"[{group.group_id}] {group.state.value} generation {group.generation_id}"
                f" leader {group.leader_id} pending {list(group.pending_joins)}"
                f" members {', '.join(members) or 'none'}"
            )


def _told(step: Words) -> str:
    told = {key: value for key, value in step.items() if key not in ("at", "do", "expect", "wire")}
    return " ".join(f"{key}={value}" for key, value in told.items())


_CONTROLS: dict[str, Callable[[Player, Words], None]] = {
    "advance": Player._advance,
    "expect_response": Player._expect_response,
    "expect_no_response": Player._expect_no_response,
    "expect_state": Player._expect_state,
    "unload": Player._unload,
    "load": Player._load,
    "expiry_pass": Player._expiry_pass,
    "fail_next_append": Player._fail_next_append,
}
