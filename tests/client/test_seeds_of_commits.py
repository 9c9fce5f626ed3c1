"""Worked examples of the articles the project began with, about commits and defaults.

Where an article and Kafka 4.3.1 disagree, Kafka wins and the test says so.
"""

from __future__ import annotations

from itertools import pairwise

from client.partitions import OffsetAndMetadata
from client.settings import ConsumerConfig
from coordinator import GroupConfig
from tests.client.talk import BY_HAND, Talk


def test_committing_each_partition_after_its_last_record_commits_that_offset_plus_one():
    # The article's loop: for each partition, commit lastOffset + 1 with commitSync.
    talk = Talk(
        settings=BY_HAND, logs={"t-0": [0, 3], "t-1": [0, 2]}, committed={"t-0": 0, "t-1": 0}
    )
    consumer = talk.consumer.calls
    commits: list[dict[str, int]] = []

    async def application():
        consumer.subscribe(["t"])
        while len(commits) < 2:
            for batch in (await consumer.poll(timeout_ms=500)).ranges:
                partition = batch.partition
                last_offset = batch.end - 1
                await consumer.commit_sync({partition: OffsetAndMetadata(offset=last_offset + 1)})
                commits.append({str(partition): last_offset + 1})

    talk._take(talk.consumer.start(application(), talk.now_ms))
    talk.advance(1_000)

    assert sorted(commits, key=str) == [{"t-0": 3}, {"t-1": 2}]
    assert talk.committed == {"t-0": 3, "t-1": 2}


def auto_commit_times(talk, until_ms):
    """When automatic commits leave while records keep coming."""
    talk.joins()
    while talk.now_ms < until_ms:
        talk.produce("t-0", 1)
        talk.poll(100)
        talk.advance(100)
    return [commit["at"] for commit in talk.sent("OffsetCommit")]


def gaps(times):
    return {later - earlier for earlier, later in pairwise(times)}


def test_auto_commits_leave_each_second_when_told_so():
    # The article sets auto.commit.interval.ms to 1000.
    settings = {"auto.commit.interval.ms": 1_000}
    talk = Talk(settings=settings, assignment=["t-0"], committed={"t-0": 0})

    times = auto_commit_times(talk, 10_000)

    assert len(times) >= 5
    assert all(1_000 <= gap <= 1_200 for gap in gaps(times))


def test_auto_commits_leave_each_five_seconds_by_default():
    talk = Talk(assignment=["t-0"], committed={"t-0": 0})

    times = auto_commit_times(talk, 30_000)

    assert ConsumerConfig(group_id="g").auto_commit_interval_ms == 5_000
    assert len(times) >= 3
    assert all(5_000 <= gap <= 5_200 for gap in gaps(times))


def test_a_short_auto_commit_interval_is_still_at_least_once():
    # An article calls it at most once. Kafka commits only positions that an earlier poll has
    # handed out, and only inside the next poll: what is being processed is never committed.
    settings = {"auto.commit.interval.ms": 1}
    talk = Talk(settings=settings, assignment=["t-0"], logs={"t-0": [0, 3]}, committed={"t-0": 0})
    consumer = talk.consumer.calls
    committed_while_processing: list[object] = []

    async def application():
        consumer.subscribe(["t"])
        while not committed_while_processing:
            if await consumer.poll(timeout_ms=100):
                await consumer.sleep(10_000)  # processing; a crash here repeats the records
                committed_while_processing.append(talk.committed["t-0"])

    talk._take(talk.consumer.start(application(), talk.now_ms))
    talk.advance(20_000)

    assert committed_while_processing == [0]


def test_the_longest_session_that_a_broker_allows_is_half_an_hour():
    # An article says 300000 ms; that was so before Kafka 2.0.
    assert GroupConfig().group_max_session_timeout_ms == 1_800_000
