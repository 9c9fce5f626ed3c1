"""Expected orders were read off a Java 17 HashMap or HashSet filled in the same way."""

from __future__ import annotations

import pytest

from client.assignors.java_order import (
    HashTable,
    compute_order,
    partition_hash,
    put_order,
    text_hash,
    text_key,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("consumer", -567770122), ("é", 233), ("\U0001f600", 1772899)],
)
def test_the_hash_of_a_string_is_javas(text, expected):
    assert text_hash(text) == expected & 0xFFFFFFFF


def test_the_hash_of_a_partition_is_kafkas():
    assert partition_hash(("t", 3)) == 31 * (31 + 3) + 116


def test_strings_sort_by_utf_16_unit():
    assert sorted(["￮", "\U0001f600", "b", "B", "b-"], key=text_key) == [
        *("B", "b", "b-"),
        *("\U0001f600", "￮"),
    ]


def test_members_come_by_bucket_and_within_one_by_arrival():
    # The buckets of C1 to C4 are 14, 15, 0 and 1; `a` and `q` share one.
    assert put_order(["C1", "C2", "C3", "C4"]) == ["C3", "C4", "C1", "C2"]
    assert put_order(["q", "a"]) == ["q", "a"]
    assert put_order(["a", "q"]) == ["a", "q"]


def test_thirteen_keys_are_spread_over_32_buckets():
    assert put_order("aqbcdefghijk") == [*"aqbcdefghijk"]
    assert put_order("aqbcdefghijkl") == [*"abcdefghijklq"]


def test_a_computed_key_goes_before_the_others_of_its_bucket():
    assert compute_order("aq") == ["q", "a"]


def test_a_key_counts_once():
    assert put_order("aba") == ["a", "b"]
    assert compute_order("aqa") == ["q", "a"]


def test_nine_keys_in_one_of_16_buckets_make_the_table_grow():
    table = HashTable[int](lambda number: number)

    for number in range(0, 16 * 9, 16):
        table.put(number)

    assert list(table) == [0, 32, 64, 96, 128, 16, 48, 80, 112]


def test_a_table_does_not_shrink():
    table = HashTable[int](lambda number: number)
    for number in range(13):
        table.put(number)
    for number in range(13):
        table.remove(number)

    table.put(17)
    table.put(2)

    assert list(table) == [2, 17]
