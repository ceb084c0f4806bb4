"""Metadata: when an update is due, the request, and the parts of the response that are accepted."""

from __future__ import annotations

import pytest

from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_2_0 import Metadata20
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata.metadata_response import (
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from fakebroker.producer.metadata_snapshot import NO_LEADER, Node, PartitionInfo
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

both = pytest.mark.parametrize("generation", ["2.0", "4.3"])
NODES = [Node(1, "one", 9092), Node(2, "two", 9092)]
PARTITION = TopicPartition("t", 0)
NOW_MS = 10_000


def make(generation: str, **settings: int) -> Metadata:
    given = {"retry.backoff.ms": 100, "metadata.max.age.ms": 5_000} | {
        name.replace("_", "."): value for name, value in settings.items()
    }
    config = ProducerConfig(generation, given)
    metadata = Metadata20(config) if generation == "2.0" else Metadata43(config, lambda: 0.5, 0.0)
    metadata.bootstrap([Node(-1, "first", 9092)], NOW_MS)
    return metadata


def topic(leader: int = 1, epoch: int = 0, name: str = "t", topic_id: str = "a", error: int = 0) -> TopicMetadata:
    return TopicMetadata(name, [] if error else [PartitionMetadata(0, leader, epoch)], error, topic_id)


def answer(metadata: Metadata, *topics: TopicMetadata, now_ms: int = NOW_MS, version: int = 13) -> None:
    metadata.update(metadata.new_request(now_ms), MetadataResponse(NODES, list(topics), version), now_ms)


@both
def test_a_topic_is_asked_for_when_it_is_new_and_again_when_all_is_old(generation: str) -> None:
    metadata = make(generation)
    answer(metadata)
    assert metadata.time_to_next_update_ms(NOW_MS) == 5_000
    metadata.add("t", NOW_MS)
    assert metadata.time_to_next_update_ms(NOW_MS) == 0, "no back-off for what is new"
    assert metadata.new_request(NOW_MS).topics == ["t"]
    before = metadata.update_version
    answer(metadata, topic())
    assert metadata.update_version == before + 1
    assert metadata.fetch().leader_for(PARTITION) == 1
    metadata.add("t", NOW_MS + 10)
    assert not metadata.update_requested(), "it is known"
    assert metadata.time_to_next_update_ms(NOW_MS + 4_999) == 1
    assert metadata.time_to_next_update_ms(NOW_MS + 5_000) == 0


@both
def test_a_repeated_metadata_request_waits_for_a_back_off(generation: str) -> None:
    metadata = make(generation)
    metadata.add("t", NOW_MS)
    answer(metadata, topic(epoch=1))
    version = metadata.request_update()
    assert version == metadata.update_version
    assert metadata.time_to_next_update_ms(NOW_MS) == 100
    assert metadata.time_to_next_update_ms(NOW_MS + 100) == 0
    metadata.failed_update(NOW_MS + 100)
    assert metadata.time_to_next_update_ms(NOW_MS + 100) == 100


def test_back_offs_grow_since_kip_580() -> None:
    metadata = make("4.3", retry_backoff_max_ms=350)
    metadata.add("t", NOW_MS)
    waits = []
    for _ in range(4):
        metadata.failed_update(NOW_MS)
        waits.append(metadata.time_to_next_update_ms(NOW_MS))
    assert waits == [100, 200, 350, 350]
    waits = []
    for _ in range(4):
        answer(metadata, topic(epoch=1))
        metadata.request_update()
        waits.append(metadata.time_to_next_update_ms(NOW_MS))
    assert waits == [100, 100, 200, 350], "the first was news, the others said the same"


@pytest.mark.parametrize(("generation", "kept_ms"), [("2.0", 300_000), ("4.3", 6_000)])
def test_an_unused_topic_expires_with_a_metadata_response(generation: str, kept_ms: int) -> None:
    settings = {} if generation == "2.0" else {"metadata_max_idle_ms": kept_ms}
    metadata = make(generation, **settings)
    metadata.add("t", NOW_MS)
    answer(metadata, topic())
    answer(metadata, topic(), now_ms=NOW_MS + kept_ms - 1)
    assert metadata.contains_topic("t")
    answer(metadata, topic(), now_ms=NOW_MS + kept_ms)
    assert not metadata.contains_topic("t")


def test_what_is_new_is_asked_for_alone_and_the_rest_is_kept() -> None:
    metadata = make("4.3")
    metadata.add("t", NOW_MS)
    answer(metadata, topic())
    metadata.add("other", NOW_MS)
    request = metadata.new_request(NOW_MS)
    assert (request.topics, request.is_partial_update) == (["other"], True)
    metadata.add("third", NOW_MS)
    metadata.update(request, MetadataResponse(NODES, [topic(2, name="other", topic_id="b")], 13), NOW_MS + 10)
    assert metadata.fetch().leader_for(PARTITION) == 1
    assert metadata.fetch().leader_for(TopicPartition("other", 0)) == 2
    assert metadata.update_requested(), "the third came after the question"
    assert metadata.new_request(NOW_MS + 10).topics == ["third"]
    metadata.request_update()
    request = metadata.new_request(NOW_MS + 10)
    assert (sorted(request.topics), request.is_partial_update) == (["other", "t", "third"], False)


@pytest.mark.parametrize(
    ("epoch", "topic_id", "version", "leader", "kept_epoch"),
    [(5, "a", 13, 2, 5), (6, "a", 13, 2, 6), (4, "a", 13, 1, 5), (4, "b", 13, 2, 4), (4, "a", 8, 2, -1)],
)
def test_an_older_leader_is_not_believed(epoch: int, topic_id: str, version: int, leader: int, kept_epoch: int) -> None:
    metadata = make("4.3")
    assert isinstance(metadata, Metadata43)
    metadata.add("t", NOW_MS)
    answer(metadata, topic(1, 5))
    metadata.request_update()
    answer(metadata, topic(2, epoch, topic_id=topic_id), version=version)
    assert metadata.fetch().leader_for(PARTITION) == leader
    assert metadata.last_seen_leader_epoch(PARTITION) == kept_epoch


@both
def test_a_leader_that_is_no_broker_leads_nothing(generation: str) -> None:
    metadata = make(generation)
    metadata.add("t", NOW_MS)
    answer(metadata, topic(3))
    snapshot = metadata.fetch()
    assert snapshot.leader_for(PARTITION) == NO_LEADER
    assert snapshot.available_partitions_for_topic("t") == []
    assert len(snapshot.partitions_for_topic("t")) == 1
    assert [node.node_id for node in snapshot.nodes] == [1, 2]


@pytest.mark.parametrize(
    ("code", "generation", "is_told"),
    [
        (ErrorCode.topic_authorization_failed, "2.0", True),
        (ErrorCode.topic_authorization_failed, "4.3", True),
        (ErrorCode.invalid_topic_exception, "2.0", False),
        (ErrorCode.invalid_topic_exception, "4.3", True),
        (ErrorCode.unknown_topic_or_partition, "4.3", False),
    ],
)
def test_why_a_topic_cannot_be_used(code: ErrorCode, generation: str, is_told: bool) -> None:
    metadata = make(generation)
    metadata.add("t", NOW_MS)
    answer(metadata, topic(error=code))
    assert metadata.error_of("t") == code
    error = metadata.take_error_for_topic("t")
    assert isinstance(error, BrokerError) == is_told
    if generation == "4.3":
        assert metadata.take_error_for_topic("t") is None, "once"
        assert metadata.update_requested() == (code == ErrorCode.unknown_topic_or_partition)


def test_a_leader_that_an_answer_names_is_learnt_if_it_is_newer() -> None:
    metadata = make("4.3")
    assert isinstance(metadata, Metadata43)
    metadata.add("t", NOW_MS)
    answer(metadata, topic(1, 5))
    third = Node(3, "three", 9092)
    for leader, is_news in (
        (PartitionInfo(PARTITION, 2, 5), False),
        (PartitionInfo(PARTITION, 9, 6), False),
        (PartitionInfo(TopicPartition("t", 1), 2, 6), False),
        (PartitionInfo(PARTITION, -1, 6), False),
        (PartitionInfo(PARTITION, 3, 6), True),
        (PartitionInfo(PARTITION, 2, 6), False),
    ):
        assert metadata.update_partition_leadership([leader], [third]) == ({leader.partition} if is_news else set())
    assert metadata.fetch().leader_for(PARTITION) == 3
    assert metadata.fetch().node_by_id(3) == third


def test_to_begin_anew_is_to_know_the_first_addresses_alone() -> None:
    metadata = make("4.3")
    assert isinstance(metadata, Metadata43)
    metadata.add("t", NOW_MS)
    answer(metadata, topic(1, 5))
    metadata.rebootstrap()
    assert [node.node_id for node in metadata.fetch().nodes] == [-1]
    assert metadata.update_requested()
    assert metadata.new_request(NOW_MS).topics == ["t"]
    metadata.close()
    assert metadata.is_closed


def test_when_all_is_old_what_is_new_is_not_asked_for_alone() -> None:
    metadata = make("4.3")
    answer(metadata)
    metadata.add("t", NOW_MS)
    assert metadata.new_request(NOW_MS + 4_999).is_partial_update
    assert not metadata.new_request(NOW_MS + 5_000).is_partial_update


def test_equal_metadata_responses_share_one_snapshot() -> None:
    one, other = make("4.3"), make("4.3")
    for metadata in (one, other):
        metadata.add("t", NOW_MS)
        answer(metadata, topic(leader=1, epoch=3))
    assert one.fetch() is other.fetch()

    answer(other, topic(leader=2, epoch=4))
    assert (one.fetch().leader_for(PARTITION), other.fetch().leader_for(PARTITION)) == (1, 2)
