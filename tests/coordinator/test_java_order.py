"""Java's string hash and the order of its HashMap; the values come from Java 17 itself."""

from __future__ import annotations

from itertools import product

import pytest

from coordinator.java_order import JavaHashMap, partition_for, string_hash

#: How "member-0", "member-1", ... are ordered, and in how many buckets, once there are this many.
ORDERS = {
    12: (16, "1 2 0 5 6 3 4 9 11 10 7 8"),
    13: (32, "5 6 3 4 12 9 11 10 7 8 1 2 0"),
    24: (32, "19 18 17 16 5 15 6 14 3 13 4 12 23 9 11 22 10 21 7 20 8 1 2 0"),
    25: (64, "19 18 17 16 5 15 6 14 3 13 4 12 9 11 10 7 8 24 23 22 21 20 1 2 0"),
    48: (
        64,
        (
            "19 18 17 39 16 38 5 15 37 6 14 36 3 13 35 4 12 34 9 11 33 10 32 7 31 8 30 29 28 27"
            " 26 25 47 24 46 23 45 22 44 21 43 20 42 41 40 1 2 0"
        ),
    ),
    49: (
        128,
        (
            "39 38 5 37 6 36 3 35 4 34 9 33 32 7 31 8 30 29 28 27 26 25 24 23 22 21 20 19 18 17"
            " 16 15 14 13 12 11 10 48 47 46 45 44 43 42 41 40 1 2 0"
        ),
    ),
}

#: Sixteen names with one hash, so that they share a bucket at any size.
ONE_BUCKET = ["".join(parts) for parts in product(("Aa", "BB"), repeat=4)]


def a_map(*keys):
    made: JavaHashMap[int] = JavaHashMap()
    for number, key in enumerate(keys):
        made[key] = number
    return made


def members(count):
    return [f"member-{number}" for number in range(count)]


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("Aa", 2_112),
        ("BB", 2_112),
        ("group", 98_629_247),
        ("my-group", -1_906_497_762),
        ("consumer-group", -1_738_392_088),
        ("polygenelubricants", -2_147_483_648),
        ("\u00e9", 233),
        ("\U0001f600", 1_772_899),
        ("\ud83d", 55_357),
    ],
)
def test_a_strings_hash_is_javas(text, hashed):
    assert string_hash(text) == hashed


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [
        ("", 0),
        ("a", 47),
        ("group", 47),
        ("my-group", 12),
        ("test-group", 12),
        ("group-1", 49),
        ("consumer-group", 38),
        ("payments", 13),
        ("Aa", 12),
        ("BB", 12),
        ("\u00e9", 33),
        ("\U0001f600", 49),
        ("polygenelubricants", 0),
    ],
)
def test_a_group_lives_in_one_of_fifty_partitions(group_id, partition):
    assert partition_for(group_id, 50) == partition


def test_with_one_partition_everything_lives_there():
    assert {partition_for(f"group-{number}", 1) for number in range(100)} == {0}


@pytest.mark.parametrize("count", ORDERS)
def test_members_come_in_javas_order_when_there_are(count):
    buckets, order = ORDERS[count]

    made = a_map(*members(count))

    assert made.buckets == buckets
    assert list(made) == [f"member-{number}" for number in order.split()]


def test_a_map_never_shrinks():
    made = a_map(*members(13))

    for key in members(12):
        del made[key]

    assert made.buckets == 32
    assert list(made) == ["member-12"]


def test_what_is_put_into_a_map_that_was_large_comes_in_the_large_maps_order():
    made = a_map(*members(13))
    for key in members(12):
        del made[key]

    for key in reversed(members(4)):
        made[key] = 0

    assert list(made) == ["member-3", "member-12", "member-1", "member-2", "member-0"]


def test_keys_of_one_bucket_come_in_the_order_in_which_they_were_put_in():
    assert list(a_map("Aa", "BB")) == ["Aa", "BB"]
    assert list(a_map("BB", "Aa")) == ["BB", "Aa"]


def test_a_key_that_is_taken_out_and_put_back_goes_to_the_end_of_its_bucket():
    made = a_map("Aa", "BB")

    del made["Aa"]
    made["Aa"] = 7

    assert list(made.items()) == [("BB", 1), ("Aa", 7)]


def test_a_key_that_gets_another_value_keeps_its_place():
    made = a_map("Aa", "BB")

    made["Aa"] = 7

    assert list(made.items()) == [("Aa", 7), ("BB", 1)]


@pytest.mark.parametrize(("count", "buckets"), [(8, 16), (9, 32), (10, 64)])
def test_a_small_map_doubles_when_one_bucket_holds_more_than_eight(count, buckets):
    made = a_map(*ONE_BUCKET[:count])

    assert made.buckets == buckets
    assert list(made) == ONE_BUCKET[:count]


def test_protocol_names_come_in_the_order_that_settles_a_tied_vote():
    names = ["range", "roundrobin", "sticky", "cooperative-sticky", "compatible", "eager"]

    assert list(a_map(*names)) == [
        "compatible",
        "eager",
        "sticky",
        "range",
        "roundrobin",
        "cooperative-sticky",
    ]


def test_a_copy_goes_its_own_way_from_the_same_place():
    made = a_map(*members(13))
    twin = made.copy()

    del twin["member-5"]
    twin["more"] = 1

    assert list(made) == [f"member-{number}" for number in ORDERS[13][1].split()]
    assert (twin.buckets, len(made), len(twin)) == (32, 13, 13)


def test_a_map_answers_as_any_mapping_does():
    made = a_map("a", "b")

    assert (made["a"], made.get("c"), made.pop("b"), "b" in made, len(made)) == (
        0,
        None,
        1,
        False,
        1,
    )


def test_a_missing_key_is_missed():
    made = a_map("a")

    with pytest.raises(KeyError, match="absent"):
        del made["absent"]
