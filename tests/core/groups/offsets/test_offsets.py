"""Committed offsets at a coordinator: expiry, deletion, moves, and stored records."""

from __future__ import annotations

import pytest
from support.group_harness import GroupHarness

from fakebroker.core.groups.offsets.messages import (
    ZERO_ID,
    OffsetCommit,
    OffsetFetch,
    OffsetToCommit,
    TopicPartitions,
    TopicToCommit,
    TopicToFetch,
)
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.group_records.offset_commit import OffsetCommitKey, OffsetCommitValue
from fakebroker.protocol.slices import finish

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def commit(harness: GroupHarness, group_id: str = "g", offset: int = 5, retention_ms: int = -1) -> ErrorCode | None:
    """Commit the offset of one partition without a member."""
    topics = [TopicToCommit("t", ZERO_ID, [OffsetToCommit(0, offset, -1, "")])]
    request = OffsetCommit(group_id, "", None, -1, retention_ms, 9, topics)
    return harness.write(lambda shard: finish(shard.offsets.commit(request)), group_id).error


def committed(harness: GroupHarness, group_id: str = "g") -> int:
    request = OffsetFetch(group_id, None, -1, [TopicToFetch("t", ZERO_ID, [0])])
    [topic] = harness.read(lambda shard, epoch: finish(shard.offsets.fetch(request, epoch)), group_id).value
    [fetched] = topic.partitions
    return int(fetched.offset)


def test_what_is_stored() -> None:
    harness = GroupHarness()
    commit(harness)
    key = OffsetCommitKey("g", "t", 0)
    assert harness.records() == [(key, OffsetCommitValue(5, -1, "", harness.now.wall_ms))]
    commit(harness, retention_ms=1_000)
    value = OffsetCommitValue(5, -1, "", harness.now.wall_ms, harness.now.wall_ms + 1_000)
    assert harness.records()[1:] == [(key, value)]


class TestExpiry:
    def test_seven_days_pass_in_no_time(self) -> None:
        harness = GroupHarness(check_every=1_000)
        commit(harness)
        harness.advance(7 * DAY_MS - 1)
        assert committed(harness) == 5
        harness.advance(10 * MINUTE_MS)
        assert committed(harness) == -1

    def test_a_coordinator_without_groups_has_no_timers(self) -> None:
        harness = GroupHarness(partitions=50)
        timers, housekeeping = harness.coordinator()._timers, harness.simulation.cluster.housekeeping
        before = housekeeping.num_pending()
        assert [timer.num_pending() for timer in timers] == [0, 0]
        commit(harness)
        assert [timer.num_pending() for timer in timers] == [0, 0]
        assert (housekeeping.num_pending(), housekeeping.num_awaited()) == (before + 1, 0)

    def test_a_week_until_then_is_hardly_a_tick(self) -> None:
        harness = GroupHarness(brokers=3, partitions=50)
        commit(harness)
        housekeeping = harness.simulation.cluster.housekeeping
        before = housekeeping.ticks
        harness.advance(7 * DAY_MS - 1)
        assert committed(harness) == 5
        assert housekeeping.ticks - before < 40
        harness.advance(10 * MINUTE_MS)
        assert committed(harness) == -1
        assert "g" not in harness.shard().groups

    def test_it_is_looked_for_every_ten_minutes(self) -> None:
        harness = GroupHarness(config={"offsets.retention.minutes": "15"})
        commit(harness)
        harness.advance(20 * MINUTE_MS - 1)
        assert committed(harness) == 5
        harness.advance(1)
        assert committed(harness) == -1
        assert harness.records()[-1][1] is None

    def test_the_group_goes_with_its_last_offset(self) -> None:
        harness = GroupHarness(config={"offsets.retention.minutes": "5"})
        commit(harness)
        harness.advance(10 * MINUTE_MS)
        assert "g" not in harness.shard().groups
        harness.move(1)

    def test_a_commit_begins_anew(self) -> None:
        harness = GroupHarness(config={"offsets.retention.minutes": "15"})
        commit(harness)
        harness.advance(10 * MINUTE_MS)
        commit(harness, offset=6)
        harness.advance(10 * MINUTE_MS)
        assert committed(harness) == 6
        harness.advance(10 * MINUTE_MS)
        assert committed(harness) == -1

    def test_a_time_of_its_own(self) -> None:
        harness = GroupHarness()
        commit(harness, retention_ms=1)
        commit(harness, "h", retention_ms=15 * MINUTE_MS)
        harness.advance(10 * MINUTE_MS)
        assert (committed(harness), committed(harness, "h")) == (-1, 5)
        harness.advance(10 * MINUTE_MS)
        assert committed(harness, "h") == -1

    def test_what_cannot_be_written_is_tried_again_at_the_next_time(self) -> None:
        harness = GroupHarness(config={"offsets.retention.minutes": "5"})
        commit(harness)
        harness.fail_next_append(ErrorCode.kafka_storage_error)
        harness.advance(10 * MINUTE_MS)
        assert committed(harness) == 5
        harness.advance(10 * MINUTE_MS)
        assert committed(harness) == -1

    def test_the_interval_counts_from_when_it_was_loaded(self) -> None:
        config = {"offsets.retention.minutes": "5", "auto.leader.rebalance.enable": "false"}
        harness = GroupHarness(brokers=2, config=config)
        commit(harness)
        harness.advance(9 * MINUTE_MS)
        harness.move(2)
        harness.advance(9 * MINUTE_MS)
        assert committed(harness) == 5
        harness.advance(MINUTE_MS)
        assert committed(harness) == -1


class TestMoves:
    def test_offsets_survive(self) -> None:
        harness = GroupHarness(brokers=3)
        commit(harness)
        commit(harness, "h", 7)
        harness.move(2)
        assert (committed(harness), committed(harness, "h")) == (5, 7)
        harness.simulation.stop(2)
        assert (committed(harness), committed(harness, "h")) == (5, 7)

    def test_deletions_survive(self) -> None:
        harness = GroupHarness(brokers=2)
        commit(harness)
        harness.write(lambda shard: finish(shard.offsets.delete("g", [TopicPartitions("t", [0])])))
        harness.move(2)
        assert committed(harness) == -1

    def test_what_is_not_committed_is_not_read(self) -> None:
        harness = GroupHarness(brokers=2)
        commit(harness)
        harness.hold()
        commit(harness, offset=6)
        assert committed(harness) == 5
        harness.commit()
        assert committed(harness) == 6

    def test_a_failed_commit_leaves_no_group(self) -> None:
        harness = GroupHarness()
        harness.fail_next_append(ErrorCode.not_leader_or_follower)
        assert commit(harness) is ErrorCode.not_coordinator
        assert "g" not in harness.shard().groups


@pytest.mark.parametrize(
    ("metadata", "fits"), [("x" * 10, True), ("x" * 11, False), ("\U0001f600" * 5, True), ("\U0001f600" * 6, False)]
)
def test_metadata_are_measured_as_java_does(metadata: str, fits: bool) -> None:
    harness = GroupHarness(config={"offset.metadata.max.bytes": "10"})
    topics = [TopicToCommit("t", ZERO_ID, [OffsetToCommit(0, 5, -1, metadata)])]
    request = OffsetCommit("g", "", None, -1, -1, 9, topics)
    [topic] = harness.write(lambda shard: finish(shard.offsets.commit(request))).value
    assert (topic.partitions == [(0, ErrorCode.none)]) == fits
