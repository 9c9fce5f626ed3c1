"""Scenario files that are wrong, each in its own way: hundreds, from a table and by hand.

Every one of them must be refused with a message that names the place.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import yaml

#: A scenario in which every value below can be replaced by a wrong one.
GOOD: dict[str, Any] = {
    "title": "A pod dies",
    "question": "What does it cost?",
    "seed": 3,
    "cluster": {"brokers": 3, "topics": {"orders": {"partitions": 6, "records": "20/s"}}},
    "groups": {
        "checkout": {
            "members": 2,
            "subscribe": ["orders"],
            "static": False,
            "settings": {"session_timeout_ms": "10s", "partition_assignment_strategy": ["range"]},
            "app": {"process": "1ms per record", "commit": "auto", "poll_timeout": "500ms"},
        }
    },
    "script": [
        {"at": "20s", "crash": "checkout-1"},
        {"at": "40s", "rolling_restart": {"group": "checkout", "down": "5s", "stop": "graceful"}},
    ],
    "run_for": "1m",
    "expect": ["unowned_s < 60", "lost == 0"],
    "variants": {"as_it_is": {}, "static": {"groups.checkout.static": True}},
}

_DURATIONS: list[Any] = ["soon", "-5s", "5 parsecs", "", [], {}, True, "1s2", "٣s", "1e9h", None]
_HUGE: list[Any] = [10**30, -1, 1.5, "many", [], {}, True]
_NOT_TEXT: list[Any] = [[], {}, ["a"], {"a": 1}]
_NOT_A_MAPPING: list[Any] = ["text", 7, [1], True]
_NOT_A_LIST: list[Any] = [{"a": 1}, 7, True]

#: What cannot stand at a path of the good scenario.
WRONG: dict[tuple[str | int, ...], list[Any]] = {
    ("title",): _NOT_TEXT,
    ("question",): _NOT_TEXT,
    ("seed",): ["dice", 1.5, [], {}],
    ("run_for",): [*_DURATIONS, "0s", 0, -1],
    ("cluster",): _NOT_A_MAPPING,
    ("cluster", "brokers"): [*_HUGE, 0],
    ("cluster", "topics"): _NOT_A_MAPPING,
    ("cluster", "topics", "orders"): _NOT_A_MAPPING,
    ("cluster", "topics", "orders", "partitions"): [*_HUGE, 0],
    ("cluster", "topics", "orders", "records"): ["fast", "10/parsec", "-1/s", [], {}, True],
    ("groups",): _NOT_A_MAPPING,
    ("groups", "checkout"): _NOT_A_MAPPING,
    ("groups", "checkout", "members"): [10**30, 0, -1, 1.5, "many", True, None],
    ("groups", "checkout", "subscribe"): [7, {"a": 1}, ["no_such_topic"], [[]], [None]],
    ("groups", "checkout", "static"): ["perhaps", 7, [], {}],
    ("groups", "checkout", "settings"): _NOT_A_MAPPING,
    ("groups", "checkout", "settings", "session_timeout_ms"): ["soon", [], {}, "-5s", 10**30],
    ("groups", "checkout", "settings", "partition_assignment_strategy"): [["rnge"], {}, 7],
    ("groups", "checkout", "app"): _NOT_A_MAPPING,
    ("groups", "checkout", "app", "process"): ["slow", "1ms per moon", [], "-1ms per record"],
    ("groups", "checkout", "app", "commit"): ["never ever", 7, [], {}],
    ("groups", "checkout", "app", "poll_timeout"): _DURATIONS[:5],
    ("script",): _NOT_A_LIST,
    ("script", 0): ["crash", 7, [], {}, {"at": "1s"}, {"crash": "checkout-1"}],
    ("script", 0, "at"): _DURATIONS[:8],
    ("script", 0, "crash"): ["nobody", 7, [], {}, "leader of nothing", "all of nothing"],
    ("script", 1, "rolling_restart"): [7, [], "no_such_group", {"down": "1s"}],
    ("script", 1, "rolling_restart", "stop"): ["gently", 7, []],
    ("script", 1, "rolling_restart", "down"): _DURATIONS[:5],
    ("expect",): [7, {"a": 1}, [7], ["speed < 3"], ["unowned_s <"], ["unowned_s ~ 3"], [[]]],
    ("variants",): ["eager", 7, [1]],
    ("variants", "static"): ["yes", 7, [1], {"no.path": 1}],
}

#: Keys that no file may have, by where they are put.
UNKNOWN_KEYS: list[tuple[tuple[str | int, ...], str]] = [
    ((), "tittle"),
    ((), "__class__"),
    ((), "import"),
    (("cluster",), "broker"),
    (("cluster", "topics", "orders"), "partition"),
    (("groups", "checkout"), "member"),
    (("groups", "checkout", "settings"), "session_timeout"),
    (("groups", "checkout", "settings"), "bootstrap.sevrers"),
    (("groups", "checkout", "app"), "proces"),
    (("script", 0), "crsh"),
    (("script", 1, "rolling_restart"), "dwn"),
]

#: Files that are wrong before any value of theirs is looked at.
BY_HAND: dict[str, bytes] = {
    "empty": b"",
    "only a comment": b"# nothing\n",
    "a list": b"- title\n",
    "a text": b"hello\n",
    "a number": b"7\n",
    "nothing": b"null\n",
    "not closed": b"title: [a, b\n",
    "a tab": b"title:\n\tx: 1\n",
    "bad indentation": b"title: a\n  x: 1\n y: 2\n",
    "two documents": b"title: a\n---\ntitle: b\n",
    "a key twice": b"title: a\ntitle: b\nrun_for: 1m\n",
    "a colon too many": b"title: a: b: c\n",
    "binary": bytes(range(256)),
    "not UTF-8": "title: Grüße\n".encode("latin-1"),
    "UTF-16 without a word": "run_for: 1m\n".encode("utf-16-le"),
    "a null byte": b"title: a\x00b\n",
    "JSON cut short": b'{"title": "a", "run_for"',
    "a Python object": b"title: !!python/object/apply:os.system ['true']\nrun_for: 1m\n",
    "a Python name": b"title: !!python/name:os.system\nrun_for: 1m\n",
    "an unknown tag": b"title: !rocket a\nrun_for: 1m\n",
    "an alias of nothing": b"title: *nobody\n",
    "a list in itself": b"expect: &a [*a]\nrun_for: 1m\n",
    "a mapping in itself": b"groups: &a\n  checkout: *a\nrun_for: 1m\n",
    "a merge of itself": b"cluster: &a\n  <<: *a\nrun_for: 1m\n",
    "a key that is a list": b"? [a, b]\n: 1\nrun_for: 1m\n",
    "a key that is a mapping": b"{a: 1}: 2\nrun_for: 1m\n",
    "a key that is a number": b"7: 8\nrun_for: 1m\n",
    "a key that is nothing": b"~: 8\nrun_for: 1m\n",
    "deeply nested lists": b"title: " + b"[" * 5_000 + b"]" * 5_000 + b"\n",
    "deeply nested mappings": b"".join(b" " * n + b"a:\n" for n in range(500)),
    "a bomb of lists": (
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n".encode()
            for n in range(8)
        )
        + b"run_for: 1m\n"
    ),
    "a bomb of mappings": (
        b"a: &a {x: 1, y: 2}\n"
        + b"".join(
            f"{chr(98 + n)}: &{chr(98 + n)} {{x: *{chr(97 + n)}, y: *{chr(97 + n)}}}\n".encode()
            for n in range(24)
        )
    ),
    "a very long number": b"seed: " + b"9" * 100_000 + b"\nrun_for: 1m\n",
    "a number in base sixty": b"run_for: 190:20:30\n",
    "infinity": b"run_for: .inf\n",
    "not a number": b"run_for: .nan\n",
    "a date": b"run_for: 2026-01-01\n",
    "too long a file": b"# " + b"x" * 1_000_000 + b"\nrun_for: 1m\n",
    "no time to run": b"title: a\nrun_for:\n",
    "no topics": b"groups: {g: {members: 1, subscribe: [orders]}}\nrun_for: 1m\n",
    "too many variants": b"run_for: 1m\nvariants:\n"
    + b"".join(f"  v{n}: {{}}\n".encode() for n in range(200)),
    "a script without end": b"run_for: 1m\nscript:\n"
    + b"".join(b"  - {at: 1s, crash: nobody}\n" for _ in range(1_200)),
}


def malformed() -> Iterator[tuple[str, bytes, str]]:
    """Every wrong file: what is wrong with it, its bytes, and a word that names the place."""
    for name, text in BY_HAND.items():
        yield name, text, ""
    for path, values in WRONG.items():
        for value in values:
            yield f"{_told(path)} = {value!r}"[:80], _with(path, value), str(path[0])
    for path, key in UNKNOWN_KEYS:
        yield f"{_told((*path, key))} is unknown", _with((*path, key), 1), key


def _told(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))


def _with(path: tuple[str | int, ...], value: Any) -> bytes:
    document: Any = copy.deepcopy(GOOD)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True).encode()
