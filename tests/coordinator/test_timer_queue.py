"""A host's timers: set, replaced, cancelled, and handed back when they are due."""

from __future__ import annotations

from copy import copy

from coordinator import TimerQueue
from coordinator.timers import (
    CancelTimer,
    ExpiryTimer,
    InitialDelay,
    JoinTimer,
    SessionTimer,
    SetTimer,
    SyncTimer,
    WriteTimer,
)

ADA, BEA, CYD = (SessionTimer("g", name) for name in ("ada", "bea", "cyd"))


def a_queue(*changes):
    queue = TimerQueue()
    queue.apply(changes)
    return queue


def fired(queue, by_ms):
    due = []
    while (each := queue.pop_due(by_ms)) is not None:
        due.append(each)
    return due


def test_timers_come_in_the_order_of_their_deadlines():
    queue = a_queue(SetTimer(ADA, 30), SetTimer(BEA, 10), SetTimer(CYD, 20))

    assert fired(queue, 100) == [(10, BEA), (20, CYD), (30, ADA)]


def test_equal_deadlines_come_in_the_order_in_which_they_were_set():
    queue = a_queue(SetTimer(CYD, 10), SetTimer(ADA, 10), SetTimer(BEA, 10))

    assert fired(queue, 10) == [(10, CYD), (10, ADA), (10, BEA)]


def test_a_timer_is_not_due_before_its_deadline():
    queue = a_queue(SetTimer(ADA, 10))

    assert queue.pop_due(9) is None
    assert queue.pop_due(10) == (10, ADA)


def test_a_timer_that_is_set_again_has_only_its_new_deadline():
    queue = a_queue(SetTimer(ADA, 10), SetTimer(ADA, 30), SetTimer(BEA, 20))

    assert fired(queue, 100) == [(20, BEA), (30, ADA)]


def test_a_timer_may_be_set_to_an_earlier_deadline():
    queue = a_queue(SetTimer(ADA, 30), SetTimer(ADA, 10))

    assert fired(queue, 100) == [(10, ADA)]


def test_a_timer_that_is_set_again_to_the_same_deadline_goes_to_the_end_of_its_equals():
    queue = a_queue(SetTimer(ADA, 10), SetTimer(BEA, 10), SetTimer(ADA, 10))

    assert fired(queue, 10) == [(10, BEA), (10, ADA)]


def test_a_cancelled_timer_never_comes():
    queue = a_queue(SetTimer(ADA, 10), SetTimer(BEA, 20), CancelTimer(ADA))

    assert fired(queue, 100) == [(20, BEA)]


def test_a_cancelled_timer_may_be_set_again():
    queue = a_queue(SetTimer(ADA, 10), CancelTimer(ADA), SetTimer(ADA, 30))

    assert fired(queue, 100) == [(30, ADA)]


def test_cancelling_what_is_not_set_does_nothing():
    queue = a_queue(CancelTimer(ADA))

    assert len(queue) == 0


def test_the_next_deadline_is_that_of_a_timer_that_still_holds():
    queue = a_queue(SetTimer(ADA, 10), SetTimer(BEA, 20), CancelTimer(ADA))

    assert queue.next_at_ms() == 20


def test_an_empty_queue_has_no_next_deadline():
    queue = a_queue(SetTimer(ADA, 10), CancelTimer(ADA))

    assert queue.next_at_ms() is None
    assert queue.pop_due(100) is None


def test_a_timer_that_came_is_not_set_any_more():
    queue = a_queue(SetTimer(ADA, 10))

    queue.pop_due(10)

    assert len(queue) == 0
    assert queue.next_at_ms() is None


def test_the_timer_that_comes_is_the_one_that_was_set_last_with_its_note():
    first = JoinTimer("g", InitialDelay(3_000, 7_000))
    second = JoinTimer("g")

    queue = a_queue(SetTimer(first, 10), SetTimer(second, 20))

    ((_, timer),) = fired(queue, 100)
    assert timer is second


def test_timers_are_the_same_when_their_keys_are():
    assert JoinTimer("g", InitialDelay(1, 2)) == JoinTimer("g")
    assert SyncTimer("g", 7) == SyncTimer("g", 8)
    kinds = {SessionTimer("g", "m"), JoinTimer("g"), SyncTimer("g"), ExpiryTimer(0), WriteTimer(0)}
    assert len(kinds) == 5


def test_a_queue_that_is_set_over_and_over_does_not_grow():
    queue = a_queue()

    for at_ms in range(10_000):
        queue.apply([SetTimer(ADA, at_ms)])

    assert len(queue) == 1
    assert len(queue._heap) < 200
    assert fired(queue, 20_000) == [(9_999, ADA)]


def test_a_copy_goes_its_own_way():
    queue = a_queue(SetTimer(ADA, 10), SetTimer(BEA, 20))
    twin = copy(queue)

    fired(queue, 100)

    assert fired(twin, 100) == [(10, ADA), (20, BEA)]
