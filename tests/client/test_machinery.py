"""Time, back-off, futures and the order of hash maps: what the consumer is built from."""

from __future__ import annotations

import pytest

from client.backoff import ExponentialBackoff, NoChance
from client.errors import CoordinatorNotAvailableException, KafkaException
from client.futures import RequestFuture, failed_future, no_coordinator
from client.java_maps import copied, filled, filled_with_nodes, filled_with_texts
from client.partitions import TopicPartition, broker_node
from client.timers import Clock


class Fixed(NoChance):
    def __init__(self, factor):
        self.factor = factor

    def jitter(self):
        return self.factor


def a_backoff(initial_ms=100, max_ms=1_000, factor=1.0):
    return ExponentialBackoff(initial_ms=initial_ms, max_ms=max_ms, chance=Fixed(factor))


def run(coroutine):
    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    return end.value.value


def test_back_off_doubles_up_to_its_maximum():
    assert [a_backoff().backoff_ms(n) for n in range(6)] == [100, 200, 400, 800, 1_000, 1_000]


def test_back_off_is_constant_when_its_maximum_is_not_above_its_beginning():
    assert [a_backoff(500, 200, 1.2).backoff_ms(n) for n in range(3)] == [200, 200, 200]


def test_jitter_is_cut_to_whole_milliseconds_and_to_the_maximum():
    assert a_backoff(factor=0.8).backoff_ms(0) == 80
    assert a_backoff(factor=1.2).backoff_ms(9) == 1_000


def test_a_timer_answers_by_the_time_of_its_last_update():
    clock = Clock()
    timer = clock.timer(100)
    clock.now_ms = 150

    before, remaining = timer.is_expired, timer.remaining_ms
    timer.update()

    assert (before, remaining) == (False, 100)
    assert (timer.is_expired, timer.remaining_ms, timer.elapsed_ms) == (True, 0, 150)


def test_a_timer_expires_at_its_deadline():
    clock = Clock()
    timer = clock.timer(100)

    timer.update(100)

    assert timer.is_expired


def test_a_future_tells_its_listeners_once_and_late_ones_at_once():
    heard: list[object] = []
    future: RequestFuture[int] = RequestFuture()
    future.listen(heard.append, heard.append)

    future.complete(7)
    future.listen(heard.append, heard.append)

    assert heard == [7, 7]
    assert future.succeeded
    assert not future.should_block()


def test_a_future_hands_its_answer_on():
    first: RequestFuture[int] = RequestFuture()
    second: RequestFuture[int] = RequestFuture()
    error = KafkaException("no")
    first.chain(second)

    first.fail(error)

    assert second.error is error
    assert not second.is_retriable


def test_a_request_without_a_coordinator_has_failed_before_it_was_sent():
    future: RequestFuture[int] = no_coordinator()

    assert isinstance(future.error, CoordinatorNotAvailableException)
    assert future.is_retriable
    assert not failed_future(KafkaException()).is_retriable


def test_partitions_stand_in_the_order_of_javas_buckets():
    # Java: 31 * (31 + partition) + "t".hashCode(); neighbours lie one bucket apart, backwards.
    partitions = {TopicPartition("t", number): number for number in range(4)}

    assert list(filled(partitions).values()) == [3, 2, 1, 0]


def test_a_copy_of_a_map_is_cut_to_its_size_and_so_has_another_order():
    partitions = {TopicPartition("t", number): number for number in (0, 5, 9)}

    assert list(filled(partitions).values()) != list(copied(partitions).values())
    assert set(filled(partitions)) == set(copied(partitions))


def test_texts_and_brokers_stand_in_the_order_of_javas_buckets():
    nodes = [broker_node(number, "127.0.0.1", 9092 + number) for number in (0, 1)]

    assert filled_with_texts(["b", "a"]) == ["a", "b"]
    assert [node.id for node in filled_with_nodes(nodes)] == [1, 0]
