"""Lives of a cluster: the first of a seed is always the same, and a later one uses no id of those before it."""

from __future__ import annotations

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.controller.partition_creation import NewPartitions
from fakebroker.core.controller.producer_ids import PRODUCER_ID_BLOCK
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.life import FIRST_LIFE, Life
from fakebroker.protocol.slices import finish

NOW = Now(1_000, 1_800_000_000_000)


def with_topics(life: Life, *names: str) -> Cluster:
    cluster = Cluster(NOW, life=life)
    cluster.controller.create_topics([NewTopic(name, 2, 3) for name in names], NOW)
    return cluster


def topic_ids(cluster: Cluster) -> list[str]:
    return [str(topic.topic_id) for topic in cluster.metadata.topics()]


def leader_epochs(cluster: Cluster) -> set[int]:
    return {partition.leader_epoch for partition in cluster.metadata.partitions()}


def test_the_first_life_of_a_seed_has_the_ids_that_golden_transcripts_have() -> None:
    cluster = with_topics(FIRST_LIFE, "t")

    assert cluster.metadata.cluster_id == "zQcs2L5vn2KsTAnCggbn4w"
    assert topic_ids(cluster) == ["f728b4fa-4248-4e3a-8a5d-2f346baa9455"]
    assert leader_epochs(cluster) == {0}
    assert cluster.brokers[1].producer_ids.generate_producer_id() == 0


def test_a_later_life_draws_other_random_ids_and_they_follow_from_the_seed() -> None:
    lives = [Life(7)]
    for _ in range(3):
        lives.append(with_topics(lives[-1]).members.next_life())

    ids = [(cluster.metadata.cluster_id, *topic_ids(cluster)) for cluster in (with_topics(life, "t") for life in lives)]
    again = with_topics(lives[3], "t")

    assert len({random_id for pair in ids for random_id in pair}) == 2 * len(lives)
    assert (again.metadata.cluster_id, *topic_ids(again)) == ids[3]
    assert len({life.session_ids().random() for life in lives}) == len(lives)


def test_producer_ids_go_on_behind_the_blocks_that_brokers_have_taken() -> None:
    cluster = with_topics(FIRST_LIFE)
    used = {cluster.brokers[broker].producer_ids.generate_producer_id() for broker in (1, 2)}
    life = cluster.members.next_life()

    assert max(used) < life.producer_id == 2 * PRODUCER_ID_BLOCK
    assert with_topics(life).brokers[3].producer_ids.generate_producer_id() == life.producer_id


def test_leader_epochs_go_on_above_the_highest_one() -> None:
    cluster = with_topics(FIRST_LIFE, "t")
    cluster.admin.move_leader("t", 1, 3, NOW)
    cluster.admin.move_leader("t", 1, 1, NOW)
    after = with_topics(cluster.members.next_life(), "other", "t")

    assert leader_epochs(cluster) == {0, 2}
    assert leader_epochs(after) == {3}
    after.admin.move_leader("t", 0, 2, NOW)
    assert after.members.next_life().leader_epoch == 5


def test_leader_epochs_of_deleted_topics_count() -> None:
    cluster = with_topics(FIRST_LIFE, "t")
    cluster.admin.move_leader("t", 0, 3, NOW)
    cluster.admin.delete_topic("t", NOW)
    cluster.admin.create_topic(NewTopic("t", 1, 3), NOW)

    assert leader_epochs(cluster) == {0}, "as in Kafka, within a life"
    assert cluster.members.next_life().leader_epoch == 2


def test_a_life_without_topics_uses_no_leader_epoch() -> None:
    assert with_topics(Life(leader_epoch=5)).members.next_life().leader_epoch == 5


def test_partitions_that_are_added_begin_as_those_of_a_new_topic() -> None:
    cluster = with_topics(Life(leader_epoch=9), "t")
    finish(cluster.controller.create_partitions([NewPartitions("t", 4)], lambda: NOW))

    assert [partition.leader_epoch for partition in cluster.metadata.partitions()] == [9, 9, 9, 9]
    cluster.check_invariants()


def test_an_epoch_of_an_earlier_life_ends_where_the_log_begins() -> None:
    """A consumer that validates its position finds that its log was truncated (KIP-320)."""
    cluster = with_topics(Life(leader_epoch=9), "t")
    partition = next(iter(cluster.metadata.partitions()))

    assert partition.last_leader.leader_epochs.end_offset_for(4, partition.leader_log.log_end_offset) == (4, 0)


def test_a_life_knows_the_clusters_before_it_and_their_groups() -> None:
    first = with_topics(FIRST_LIFE)
    second = with_topics(first.members.next_life())

    assert second.members.next_life().cluster_ids == {first.metadata.cluster_id, second.metadata.cluster_id}
