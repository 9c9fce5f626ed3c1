"""What a consumer makes of a metadata answer, and what it shares with others that hear the same."""

from __future__ import annotations

from client.backoff import ExponentialBackoff, NoChance
from client.messages import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from client.metadata import ConsumerMetadata
from client.partitions import BrokerNode, TopicPartition
from client.reset import LATEST
from client.subscription import SubscriptionState
from coordinator.errors import ErrorCode

T0 = TopicPartition("t", 0)


def a_metadata(*topics):
    subscriptions = SubscriptionState(default_reset_strategy=LATEST)
    subscriptions.subscribe(topics or ("t",), None)
    backoff = ExponentialBackoff(initial_ms=100, max_ms=1_000, chance=NoChance())
    return ConsumerMetadata(
        bootstrap_nodes=(),
        subscriptions=subscriptions,
        refresh_backoff=backoff,
        metadata_max_age_ms=300_000,
        excludes_internal_topics=True,
    )


def an_answer(epoch=5, error=ErrorCode.NONE, names=("t",)):
    partition = MetadataResponsePartition(partition_index=0, leader_id=1, leader_epoch=epoch)
    topics = tuple(
        MetadataResponseTopic(name=name, topic_id=f"id of {name}", partitions=(partition,))
        for name in names
    )
    if error is not ErrorCode.NONE:
        topics += (MetadataResponseTopic(name="u", error_code=error),)
    return MetadataResponse(brokers=(MetadataResponseBroker(node_id=1),), topics=topics)


def test_consumers_that_hear_the_same_share_one_view():
    ada, bea, answer = a_metadata(), a_metadata(), an_answer()

    ada.update(answer, 0, 10)
    bea.update(answer, 0, 20)

    assert ada.view is bea.view
    assert ada.view.partitions[T0].leader_epoch == 5


def test_a_newer_epoch_that_one_has_seen_is_nothing_to_the_others():
    ada, bea, answer = a_metadata(), a_metadata(), an_answer()
    ada.update(answer, 0, 10)
    bea.update(answer, 0, 10)

    ada.update_last_seen_epoch_if_newer(T0, 6)

    assert ada.current_leader(T0).leader is None
    assert bea.current_leader(T0).epoch == 5


def test_a_newer_leader_that_one_was_told_of_is_nothing_to_the_others():
    ada, bea, answer = a_metadata(), a_metadata(), an_answer()
    ada.update(answer, 0, 10)
    bea.update(answer, 0, 10)

    ada.update_partition_leadership({T0: (2, 7)}, [BrokerNode(id=2, connection="b2")])

    assert ada.current_leader(T0).epoch == 7
    assert bea.current_leader(T0).epoch == 5


def test_an_answer_that_is_older_than_what_is_known_changes_nothing():
    metadata = a_metadata()
    metadata.update(an_answer(epoch=5), 0, 10)

    metadata.update(an_answer(epoch=4), 0, 20)

    assert metadata.current_leader(T0).epoch == 5


def test_topics_that_are_not_wanted_are_not_kept():
    metadata = a_metadata("t")

    metadata.update(an_answer(names=("t", "u")), 0, 10)

    assert list(metadata.view.topics) == ["t"]


def test_an_answer_that_speaks_of_an_error_is_not_shared_and_says_so():
    metadata = a_metadata("t", "u")

    metadata.update(an_answer(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED), 0, 10)

    assert metadata.has_error
    assert list(metadata.view.topics) == ["t"]
