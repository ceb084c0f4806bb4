"""High watermark and ISR, rule by rule (the rules of Kafka 3.7 and later)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.requests import batch

from fakebroker.core.clock import Now
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.replication.append_info import LeaderHwChange
from fakebroker.core.replication.isr import check_invariants, maybe_shrink_isr, update_follower_fetch_state
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.record_batch import is_crc_valid, read_batch_header
from fakebroker.protocol.topic_partition import TopicPartition

LAG_MAX_MS = 30_000


def partition(replicas: int = 3, min_isr: int = 1) -> Partition:
    config = TopicConfig(min_insync_replicas=min_isr)
    return Partition(TopicPartition("t", 0), range(1, replicas + 1), config, LAG_MAX_MS, now_ms=0)


def append(to: Partition, now_ms: int = 0, acks: int = 1, records: bytes | None = None) -> LeaderHwChange:
    data = records or batch()
    return to.append_records_to_leader(data, is_plain(data), acks, Now(now_ms, 1_800_000_000_000)).leader_hw_change


def fetch(of: Partition, broker_id: int, offset: int, now_ms: int = 0) -> bool:
    """Note the fetch of a follower that has all records below `offset`."""
    log = of.replicas[broker_id].log
    for logged in of.leader_log.batches_from(log.log_end_offset):
        if logged.last_offset < offset:
            log.append(logged)
    moved = update_follower_fetch_state(of, of.replicas[broker_id], offset, now_ms, now_ms)
    check_invariants(of)
    return moved


def test_an_append_moves_the_watermark_only_if_the_leader_is_alone() -> None:
    alone, replicated = partition(replicas=1), partition(replicas=3)
    assert append(alone) is LeaderHwChange.INCREASED
    assert alone.high_watermark == 1
    assert append(replicated) is LeaderHwChange.SAME
    assert replicated.high_watermark == 0


def test_the_watermark_is_the_slowest_of_the_isr() -> None:
    p = partition()
    for _ in range(3):
        append(p)
    assert not fetch(p, 2, 3)
    assert p.high_watermark == 0
    assert fetch(p, 3, 2)
    assert p.high_watermark == 2
    assert fetch(p, 3, 3)
    assert p.high_watermark == 3


def test_a_follower_learns_the_watermark_with_the_answer_to_its_fetch() -> None:
    p = partition(replicas=2)
    append(p)
    fetch(p, 2, 1)
    assert p.replicas[2].log.high_watermark == 1


def test_a_follower_behind_for_longer_than_the_lag_leaves_the_isr_and_frees_the_watermark() -> None:
    p = partition()
    append(p, now_ms=1_000)
    assert not maybe_shrink_isr(p, 1_000 + LAG_MAX_MS)
    assert p.isr == {1, 2, 3}
    assert maybe_shrink_isr(p, 1_001 + LAG_MAX_MS)
    assert p.isr == {1}
    assert p.high_watermark == 1


def test_the_watermark_waits_for_the_isr_until_it_is_shrunk_however_long_ago_its_time_was_up() -> None:
    p = partition()
    append(p, now_ms=1_000)
    append(p, now_ms=1_001 + 2 * LAG_MAX_MS)
    assert p.high_watermark == 0
    assert maybe_shrink_isr(p, 1_002 + 2 * LAG_MAX_MS)
    assert p.high_watermark == 2


def test_a_follower_that_has_everything_never_leaves_the_isr() -> None:
    p = partition()
    assert not maybe_shrink_isr(p, 10**9)
    assert p.isr == {1, 2, 3}


def test_the_watermark_is_frozen_below_the_minimum_isr() -> None:
    p = partition(min_isr=2)
    append(p)
    assert not maybe_shrink_isr(p, LAG_MAX_MS + 1)
    assert p.isr == {1}
    assert p.high_watermark == 0
    assert p.check_enough_replicas_reach_offset(1) == (False, ErrorCode.none)


def test_below_the_minimum_isr_acks_all_is_refused_and_acks_one_is_not() -> None:
    p = partition(min_isr=2)
    append(p)
    maybe_shrink_isr(p, LAG_MAX_MS + 1)
    with pytest.raises(KafkaError) as refused:
        append(p, acks=-1)
    assert refused.value.code is ErrorCode.not_enough_replicas
    assert p.leader_log.log_end_offset == 1
    append(p, acks=1)
    append(p, acks=0)
    assert p.leader_log.log_end_offset == 3
    assert p.high_watermark == 0


def test_a_watermark_that_was_reached_before_the_isr_fell_below_the_minimum_answers_after_append() -> None:
    p = partition(min_isr=2)
    append(p)
    fetch(p, 2, 1)
    fetch(p, 3, 1)
    append(p)
    maybe_shrink_isr(p, LAG_MAX_MS + 1)
    assert p.isr == {1}
    assert p.check_enough_replicas_reach_offset(1) == (True, ErrorCode.not_enough_replicas_after_append)


def test_the_effective_minimum_is_at_most_the_number_of_replicas() -> None:
    p = partition(replicas=1, min_isr=2)
    assert append(p, acks=-1) is LeaderHwChange.INCREASED


def test_a_follower_joins_again_once_it_has_reached_the_watermark() -> None:
    p = partition(replicas=2)
    append(p)
    append(p)
    maybe_shrink_isr(p, LAG_MAX_MS + 1)
    assert (p.isr, p.high_watermark) == ({1}, 2)
    fetch(p, 2, 1, now_ms=LAG_MAX_MS + 2)
    assert p.isr == {1}
    fetch(p, 2, 2, now_ms=LAG_MAX_MS + 3)
    assert p.isr == {1, 2}


def test_a_recent_follower_outside_the_isr_holds_the_watermark_back() -> None:
    p = partition(replicas=2)
    append(p)
    append(p)
    maybe_shrink_isr(p, LAG_MAX_MS + 1)
    fetch(p, 2, 1, now_ms=LAG_MAX_MS + 2)  # it was caught up a moment ago, and may join soon
    append(p, now_ms=LAG_MAX_MS + 3)
    assert p.high_watermark == 2


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("base offset", lambda b: b"\0" * 7 + b"\1" + b[8:], ErrorCode.invalid_record),
        ("too large, before its CRC is looked at", lambda b: b[:-1] + b"!", None),
        ("flipped byte", lambda b: b[:-2] + bytes([b[-2] ^ 1]) + b[-1:], ErrorCode.corrupt_message),
    ],
)
def test_a_bad_batch_is_refused_and_nothing_is_appended(
    name: str, change: Callable[[bytes], bytes], error: ErrorCode | None
) -> None:
    records = change(batch(b"value"))
    config = TopicConfig(max_message_bytes=10) if error is None else TopicConfig()
    p = Partition(TopicPartition("t", 0), [1], config, LAG_MAX_MS, now_ms=0)
    with pytest.raises(KafkaError) as refused:
        append(p, records=records)
    assert refused.value.code is (error or ErrorCode.message_too_large)
    assert p.leader_log.log_end_offset == 0


def test_log_append_time_is_written_into_the_batch_with_a_valid_crc() -> None:
    config = TopicConfig(message_timestamp_type="LogAppendTime")
    p = Partition(TopicPartition("t", 0), [1], config, LAG_MAX_MS, now_ms=0)
    records = batch(b"a", b"b")
    info = p.append_records_to_leader(records, is_plain(records), 1, Now(7, 1_900_000_000_000))
    assert info.log_append_time_ms == 1_900_000_000_000
    data = p.leader_log.batches[0].data
    header = read_batch_header(data)
    assert header.has_log_append_time
    assert header.max_timestamp_ms == 1_900_000_000_000
    assert is_crc_valid(data, 0, len(data))
    assert header.record_count == 2


def test_a_follower_joins_a_new_leadership_only_from_its_start_on() -> None:
    """Below it there may be committed records that the new high watermark does not cover yet."""
    p = partition(replicas=3)
    append(p)
    append(p)
    fetch(p, 2, 2)
    p.become_leader(2, {1, 2}, 10)
    assert (p.leader_epoch_start_offset, p.high_watermark) == (2, 0)
    p.replicas[3].copy_from(p.replicas[2], 1)
    update_follower_fetch_state(p, p.replicas[3], 1, 10, 10)
    assert p.isr == {1, 2}
    p.replicas[3].copy_from(p.replicas[2], 2)
    update_follower_fetch_state(p, p.replicas[3], 2, 11, 11)
    assert p.isr == {1, 2, 3}
