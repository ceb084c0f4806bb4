"""Consumer groups at their coordinator: timeouts, moves to another broker, committed state, topics that change."""

from __future__ import annotations

from typing import Any

import pytest
from support.consumer_member import ConsumerHarness, error_of, held

from fakebroker.core.groups.consumer.state.member import ReportedPartitions
from fakebroker.core.groups.offsets.messages import ZERO_ID, OffsetCommit, OffsetToCommit, TopicToCommit
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
)
from fakebroker.protocol.slices import finish


def harness(**settings: Any) -> ConsumerHarness:
    made = ConsumerHarness(**({"config": {"group.consumer.assignment.interval.ms": "0"}} | settings))
    made.topic("t", 4)
    return made


def members(groups: ConsumerHarness) -> list[str]:
    return sorted(member.member_id for member in groups.described().members)


def test_a_member_that_is_silent_for_45_seconds_is_out() -> None:
    groups = harness()
    groups.join("m", "t")
    groups.advance(44_999)
    groups.heartbeat("m", 2)
    groups.advance(44_999)
    assert members(groups) == ["m"]
    groups.advance(1)
    assert members(groups) == []
    assert groups.described().state == "Empty"
    assert error_of(groups.beat("m", 2)).code is ErrorCode.unknown_member_id


def test_a_member_that_does_not_revoke_in_time_is_removed() -> None:
    groups = harness()
    groups.join("m", "t", rebalance_timeout_ms=10_000)
    groups.join("n", "t")
    groups.heartbeat("m", 2)
    groups.advance(9_999)
    groups.heartbeat("m", 2)  # it calls, but gives nothing up
    assert members(groups) == ["m", "n"]
    groups.advance(1)
    assert members(groups) == ["n"]
    assert len(held(groups.heartbeat("n", 3))) == 4


def test_a_member_that_has_revoked_has_no_rebalance_timeout() -> None:
    groups = harness()
    topic = groups.topic_id("t")
    groups.join("m", "t", rebalance_timeout_ms=10_000)
    groups.join("n", "t")
    groups.heartbeat("m", 2)
    groups.heartbeat("m", 2, owned=[ReportedPartitions(topic, [0, 1])])
    groups.advance(20_000)
    assert members(groups) == ["m", "n"]


def test_a_target_is_not_made_anew_before_its_interval_is_over() -> None:
    groups = harness(config={"group.consumer.assignment.interval.ms": "3000"})
    groups.join("m", "t")
    groups.join("n", "t")
    assert (groups.described().epoch, groups.described().assignment_epoch) == (3, 2)
    groups.advance(2_999)
    groups.heartbeat("n", 2)
    assert groups.described().assignment_epoch == 2
    groups.advance(1)
    groups.heartbeat("n", 2)
    assert groups.described().assignment_epoch == 3


def test_a_group_may_have_times_of_its_own() -> None:
    groups = harness()
    groups.simulation.cluster.controller.group_configs.set("g", {"consumer.heartbeat.interval.ms": "7000"})
    assert groups.join("m", "t").heartbeat_interval_ms == 7000
    assert groups.join("m", "t", group_id="h").heartbeat_interval_ms == 5000


def test_another_coordinator_knows_all_of_it() -> None:
    groups = harness(brokers=3)
    topic = groups.topic_id("t")
    groups.join("m", "t", instance_id="i", rack_id="r", assignor="range")
    groups.join("n", topic_regex="t|u")
    groups.advance(10)
    groups.heartbeat("m", 2)
    before, known = groups.described(), groups.group()
    groups.move(2)
    assert groups.described() == before
    loaded = groups.group()
    assert loaded is not known
    assert (loaded.metadata_hash, loaded.target_epoch) == (known.metadata_hash, known.target_epoch)
    assert loaded.members.resolved("t|u") == known.members.resolved("t|u")
    assert loaded.members.partitions.owner_epoch(topic, 3) == known.members.partitions.owner_epoch(topic, 3)
    groups.advance(45_000)  # sessions begin anew, and with them ends
    assert members(groups) == []


def test_what_is_not_committed_is_neither_answered_nor_told() -> None:
    groups = harness(brokers=3)
    groups.hold()
    outcome = groups.beat("m", 0, rebalance_timeout_ms=1, topic_names=["t"], owned=[])
    assert not outcome.is_done
    with pytest.raises(KafkaError) as refused:
        groups.described()
    assert refused.value.code is ErrorCode.group_id_not_found
    groups.commit()
    assert outcome.value.member_epoch == 2
    assert members(groups) == ["m"]


def test_what_could_not_be_written_has_not_happened() -> None:
    groups = harness()
    groups.join("m", "t")
    groups.fail_next_append(ErrorCode.not_enough_replicas)
    outcome = groups.beat("n", 0, rebalance_timeout_ms=1, topic_names=["t"], owned=[])
    assert outcome.error is ErrorCode.coordinator_not_available
    assert members(groups) == ["m"]
    assert groups.join("n", "t").member_epoch == 3


def test_a_topic_with_another_id_is_another_topic() -> None:
    groups = harness()
    groups.join("m", "t")
    groups.simulation.delete_topic("t")
    assert groups.heartbeat("m", 2).assignment == []
    groups.heartbeat("m", 2, owned=[])
    groups.topic("t", 2)
    answer = groups.heartbeat("m", 3)
    assert held(answer) == {(groups.topic_id("t"), 0), (groups.topic_id("t"), 1)}


def test_a_topic_without_subscribers_changes_nothing() -> None:
    groups = harness()
    groups.join("m", "t")
    groups.topic("other", 2)
    assert groups.heartbeat("m", 2).assignment is None
    assert groups.described().epoch == 2


def test_a_pattern_finds_a_topic_that_comes_later() -> None:
    groups = harness()
    assert groups.join("m", topic_regex="t.*").member_epoch == 1
    assert len(held(groups.heartbeat("m", 1))) == 4
    groups.topic("tt", 1)
    groups.advance(10_000)
    groups.heartbeat("m", 2)
    assert groups.described().epoch == 2  # it was looked up 10 s ago
    groups.advance(1)
    groups.heartbeat("m", 2)
    assert groups.described().epoch == 3
    assert (groups.topic_id("tt"), 0) in held(groups.heartbeat("m", 2))


def test_members_go_in_this_order() -> None:
    groups = harness()
    groups.join("m", "t")
    before = len(groups.records())
    groups.heartbeat("m", -1)
    kinds = [type(key) for key, value in groups.records()[before:] if value is None]
    assert kinds == [
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupMemberMetadataKey,
    ]


def test_what_kafka_4_0_wrote_is_done_away_with() -> None:
    groups = harness()
    groups.join("m", "t")
    shard = groups.shard()
    shard.consumer_groups.replayers()[ConsumerGroupPartitionMetadataKey](
        ConsumerGroupPartitionMetadataKey("g"), ConsumerGroupPartitionMetadataValue(()), -1
    )
    assert groups.group().has_subscription_metadata
    groups.heartbeat("m", 2, topic_names=[])
    assert (ConsumerGroupPartitionMetadataKey("g"), None) in groups.records()
    assert not groups.group().has_subscription_metadata


@pytest.mark.parametrize(
    ("epoch", "partition", "error"),
    [
        (3, 0, None),
        (2, 0, None),
        (2, 2, None),  # it is to be given up
        (1, 0, "older than assignment epoch 2"),
        (4, 0, "newer than current member epoch 3"),
        (2, 9, "not assigned or pending revocation"),
    ],
)
def test_offsets_are_committed_for_what_was_held_at_that_epoch(epoch: int, partition: int, error: str | None) -> None:
    groups = harness()
    topic = groups.topic_id("t")
    groups.join("m", "t")
    groups.heartbeat("m", 2, topic_names=["t", "u"])
    groups.join("n", "t", "u")
    groups.heartbeat("m", 3)
    group = groups.group()
    member = group.member("m")
    assert {*member.assigned[topic], *member.pending_revocation[topic]} == {0, 1, 2, 3}

    def commit() -> None:
        validate = group.validate_offset_commit("m", None, epoch, False, 9)
        if validate is not None:
            validate("t", partition)

    if error is None:
        commit()
    else:
        with pytest.raises(KafkaError, match=error) as refused:
            commit()
        assert refused.value.code is ErrorCode.stale_member_epoch


@pytest.mark.parametrize(("version", "code"), [(5, ErrorCode.illegal_generation), (6, ErrorCode.stale_member_epoch)])
def test_offsets_of_a_transaction_by_a_member_of_the_past(version: int, code: ErrorCode) -> None:
    """The error is the true one since KIP-1319, for the member or for a partition."""
    groups = harness()
    groups.join("m", "t")
    groups.heartbeat("m", 2, topic_names=["t", "u"])
    groups.join("n", "t", "u")
    groups.heartbeat("m", 3)
    offsets = groups.shard("g").offsets

    def commit(epoch: int, partition: int) -> OffsetCommit:
        topic = TopicToCommit("t", ZERO_ID, [OffsetToCommit(partition, 7, -1, "")])
        return OffsetCommit("g", "m", None, epoch, -1, version, [topic])

    assert finish(offsets.commit_in_transaction(commit(3, 0))).response[0].partitions == [(0, ErrorCode.none)]
    for epoch, partition in ((1, 0), (4, 0), (2, 9)):
        with pytest.raises(KafkaError) as refused:
            finish(offsets.commit_in_transaction(commit(epoch, partition)))
        assert refused.value.code is code


def test_offsets_by_strangers() -> None:
    groups = harness()
    groups.join("m", "t")
    group = groups.group()
    for member_id, epoch, version, code in (
        ("", -1, 9, ErrorCode.unknown_member_id),
        ("m", 2, 8, ErrorCode.unsupported_version),
        ("x", 2, 9, ErrorCode.unknown_member_id),
    ):
        with pytest.raises(KafkaError) as refused:
            group.validate_offset_commit(member_id, None, epoch, False, version)
        assert refused.value.code is code
    assert group.validate_offset_commit("", None, -1, True, 3) is None
    group.validate_offset_fetch(None, -1, 1 << 62)
    with pytest.raises(KafkaError) as refused:
        group.validate_offset_fetch("m", 1, groups.committed_offset())
    assert refused.value.code is ErrorCode.stale_member_epoch
    groups.heartbeat("m", -1)
    assert groups.group().validate_offset_commit("", None, -1, False, 2) is None


def test_the_clock_is_asked_for_the_target() -> None:
    groups = harness()
    groups.join("m", "t")
    assert groups.group().target_epoch.timestamp_ms == groups.now.wall_ms
    groups.heartbeat("m", -1)
    assert groups.group().target_epoch.timestamp_ms == 0
