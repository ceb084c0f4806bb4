"""Brokers that lie about batches, followers, commits, throttles and metadata: each is a patch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lies import TOPIC, Append, Kept

from fakebroker.apis.produce import produce_answer
from fakebroker.core.clock import Now
from fakebroker.core.controller.metadata_cache import MetadataCache
from fakebroker.core.groups.offsets import offsets
from fakebroker.core.log.log import Log
from fakebroker.core.replication import reads
from fakebroker.core.replication.append_info import LogAppendInfo
from fakebroker.core.replication.delayed_produce import DelayedProduce
from fakebroker.core.replication.follower import Follower
from fakebroker.core.replication.isr import update_follower_fetch_state
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.protocol.answers.pieces import Pieces
from fakebroker.protocol.batch_layout import CRC_AT
from fakebroker.protocol.produce_response import encode_appended
from fakebroker.protocol.record_batch import decode_records, encode_batch

PRODUCER_ID = 77


def stores_other_times(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    (record,) = decode_records(records)
    return append(partition, encode_batch([record._replace(timestamp_ms=None)], base_timestamp_ms=1), *rest)


class StoresAsOfAProducer:
    """Store the batch with a producer id, although the request has none."""

    def __init__(self) -> None:
        self._sequences: dict[Partition, int] = {}

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        (record,) = decode_records(records)
        sequence = self._sequences[partition] = self._sequences.get(partition, -1) + 1
        batch = encode_batch(
            [record],
            base_timestamp_ms=record.timestamp_ms or 0,
            producer_id=PRODUCER_ID,
            producer_epoch=0,
            base_sequence=sequence,
        )
        return append(partition, batch, *rest)


def deletes_what_it_acknowledged(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    """Delete the first five acknowledged records when there are ten."""
    info = append(partition, records, *rest)
    if partition.high_watermark >= 10:
        partition.leader_log.maybe_increment_log_start_offset(5)
    return info


def gives_batches_with_a_wrong_crc(patches: pytest.MonkeyPatch) -> None:
    """Give a wrong CRC to the first batch of each Fetch response."""
    honest = reads.fetch_records

    def fetch_records(broker_id: int, params: Any, fetch: Any, max_bytes: int) -> Any:
        result = honest(broker_id, params, fetch, max_bytes)
        if result.records and fetch.partition.topic_partition.topic == TOPIC:
            data = bytearray(result.records.join())
            data[CRC_AT] ^= 1
            result.records = Pieces([Kept(bytes(data))])
        return result

    patches.setattr(reads, "fetch_records", fetch_records)


def followers_say_that_they_have_all(patches: pytest.MonkeyPatch) -> None:
    """Move the high watermark without any fetch of a follower."""
    honest = Follower._copy

    def copy(self: Follower, up_to: int, caught_up_time_ms: int, now: Now) -> None:
        if self.partition.topic_partition.topic != TOPIC:
            honest(self, up_to, caught_up_time_ms, now)
        elif update_follower_fetch_state(self.partition, self._replica, up_to, caught_up_time_ms, now.mono_ms):
            self._wakeups.try_complete_delayed_requests(self.partition)

    patches.setattr(Follower, "_copy", copy)


def parks_whatever_acks_ask(patches: pytest.MonkeyPatch) -> None:
    honest = ReplicaManager.answer_or_park

    def answer_or_park(self: ReplicaManager, timeout_ms: int, required_acks: int, *rest: Any) -> None:
        honest(self, timeout_ms, -1, *rest)

    patches.setattr(ReplicaManager, "answer_or_park", answer_or_park)


def times_out_for_the_other_partitions(patches: pytest.MonkeyPatch) -> None:
    """Swap the errors when a request expires: its acknowledged partitions time out, and the others do not."""
    honest = DelayedProduce.on_complete

    def on_complete(self: DelayedProduce) -> None:
        if len({entry.acks_pending for entry in self.status}) > 1:
            for entry in self.status:
                entry.acks_pending = not entry.acks_pending
        honest(self)

    patches.setattr(DelayedProduce, "on_complete", on_complete)


def times_out_for_all_partitions(patches: pytest.MonkeyPatch) -> None:
    """Time out all partitions of a request when it expires."""
    honest = DelayedProduce.on_complete

    def on_complete(self: DelayedProduce) -> None:
        for entry in self.status:
            entry.acks_pending = self.has_expired
        honest(self)

    patches.setattr(DelayedProduce, "on_complete", on_complete)


def tells_less_than_is_committed(one_in: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Report a committed offset that is too low by one."""
    honest, count = offsets._fetched, [0]

    def fetched(partition: int, value: Any) -> Any:
        state = honest(partition, value)
        count[0] += 1
        is_lie = count[0] % one_in == 0 and value.offset > 0
        return state._replace(offset=value.offset - 1) if is_lie else state

    return lambda patches: patches.setattr(offsets, "_fetched", fetched)


def throttles_and_does_not_tell(patches: pytest.MonkeyPatch) -> None:
    def encode(version: int, number: int, name: Any, topic_id: Any, response: Any, throttle_time_ms: int) -> Any:
        return encode_appended(version, number, name, topic_id, response, 0)

    patches.setattr(produce_answer, "encode_appended", encode)


def the_fastest_follower_decides(patches: pytest.MonkeyPatch) -> None:
    """Move the high watermark as soon as one follower has a record."""

    def increment(self: Partition, leader_log: Log, now_ms: int) -> bool:
        fastest = max(replica.log_end_offset for replica in self.followers if replica.is_in_sync)
        if fastest <= leader_log.high_watermark:
            return False
        leader_log.update_high_watermark(fastest)
        return True

    patches.setattr(Partition, "_increment_leader_hw", increment)


def the_leader_alone_decides(patches: pytest.MonkeyPatch) -> None:
    """Move the high watermark to the end of the leader's log, whatever followers have."""

    def increment(self: Partition, leader_log: Log, now_ms: int) -> bool:
        leader_log.update_high_watermark(leader_log.log_end_offset)
        return True

    patches.setattr(Partition, "_increment_leader_hw", increment)


def says_that_its_leader_is_not_in_sync(patches: pytest.MonkeyPatch) -> None:
    honest = MetadataCache.isr_ids

    def isr_ids(self: MetadataCache, partition: Partition) -> tuple[int, ...]:
        return tuple(isr_id for isr_id in honest(self, partition) if isr_id != partition.leader_id)

    patches.setattr(MetadataCache, "isr_ids", isr_ids)
