from __future__ import annotations

from pathlib import Path
from zlib import crc32

from coordinator import EventKind
from simulation.events import COLUMNS, KINDS, SCHEMA_VERSION, Facts, WorldEventKind
from simulation.events_page import renewed

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


def test_every_kind_has_its_row_in_the_table():
    assert list(KINDS) == [*WorldEventKind, *EventKind]


def test_no_word_stands_for_two_kinds():
    words = [kind.value for kind in KINDS]

    assert sorted(words) == sorted(set(words))


def test_other_words_are_a_new_version_of_the_schema():
    columns = [f"{column.name} {column.type.value}" for column in COLUMNS]
    kinds = [f"{kind.value}: {meaning}" for kind, meaning in KINDS.items()]

    words = crc32("\n".join([*columns, *kinds]).encode())

    # Where a text was only put better, the number here changes and the version stays.
    assert (SCHEMA_VERSION, words) == (3, 211732911)


def test_the_columns_are_these_in_this_order():
    names = [column.name for column in COLUMNS]

    assert names == [
        "seq",
        "at_ms",
        "kind",
        "cause",
        "run",
        "group",
        "broker",
        "client",
        "member",
        "instance",
        "generation",
        "state",
        "protocol",
        "topic",
        "partition",
        "offset",
        "end_offset",
        "request",
        "request_id",
        "connection",
        "error",
        "duration_ms",
        "count",
        "set_by",
        "detail",
    ]


def test_every_event_says_where_when_and_what_and_anything_else_if_it_applies():
    always = [column.name for column in COLUMNS if not column.is_optional]

    assert always == ["seq", "at_ms", "kind", "run"]


def test_what_an_event_may_add_are_the_columns_after_the_run():
    names = [column.name for column in COLUMNS]

    assert list(Facts.__annotations__) == names[names.index("run") + 1 :]


def test_the_page_of_events_is_up_to_date():
    page = PAGE.read_text(encoding="utf-8")

    assert page == renewed(page), "python -m simulation.events_page docs/events.md renews it"
