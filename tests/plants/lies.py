"""Brokers that lie: each behaves like Kafka except for one thing. Most patch the append of a leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.core.groups.classic.rebalance import Rebalances
from fakebroker.core.journal.events import Answer, Event
from fakebroker.core.probe import Probe
from fakebroker.core.replication import reads, replica_manager
from fakebroker.core.replication.append_info import LeaderHwChange, LogAppendInfo
from fakebroker.core.replication.delayed_produce import DelayedProduce
from fakebroker.core.replication.partition import Partition
from fakebroker.core.transactions import markers
from fakebroker.core.transactions.markers import TxnMarker
from fakebroker.network.connection import Connection
from fakebroker.network.effects import Effect, Send
from fakebroker.network.socket_server import SocketServer
from fakebroker.protocol.answers.pieces import Part, Piece, Pieces
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import (
    RECORD_BATCH_OVERHEAD,
    Record,
    decode_records,
    encode_batch,
    read_batch_header,
)
from fakebroker.protocol.transaction_records.control_records import COMMIT
from fakebroker_load.wire.log_messages import MAX_BYTES
from fakebroker_load.wire.member_messages import deal, subscription_to

Append = Callable[..., LogAppendInfo]
TOPIC = "t"
PRODUCE_ANSWER = b"\x00\x02\x02t\x02"  # an answer of version 9 about one partition of it, behind the correlation id

honest_append = Partition.append_records_to_leader


def as_if(partition: Partition, offset: int) -> LogAppendInfo:
    """Return the LogAppendInfo of an honest append at this offset."""
    return LogAppendInfo(offset, offset, -1, partition.leader_log.log_start_offset, LeaderHwChange.SAME)


def loses(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    """Append the first batch only. Later ones get NONE, with an existing offset: that of the record before."""
    if partition.leader_log.log_end_offset == 0:
        return append(partition, records, *rest)
    return as_if(partition, partition.leader_log.log_end_offset - 1)


def times_out_without_append(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    return as_if(partition, partition.leader_log.log_end_offset)


class LosesOneIn:
    def __init__(self, each: int) -> None:
        self._each = each
        self._count = 0

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        self._count += 1
        if self._count % self._each == 0:
            return as_if(partition, partition.leader_log.log_end_offset)
        return append(partition, records, *rest)


def appends_twice(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    append(partition, records, *rest)
    return append(partition, records, *rest)


def tells_offsets_too_high(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    info = append(partition, records, *rest)
    info.first_offset += 1_000
    return info


class SwapsOffsets:
    """Give each of two responses the offset of the other one."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        info = append(partition, records, *rest)
        info.first_offset += 1 - 2 * (self._count % 2)
        self._count += 1
        return info


def stores_other_bytes(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    (record,) = decode_records(records)
    value = (record.value or b"").replace(b".", b"!", 1)
    return append(partition, encode_batch([record._replace(value=value)], base_timestamp_ms=0), *rest)


class StoresElsewhere:
    def __init__(self) -> None:
        self.partitions: dict[int, Partition] = {}

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        index = partition.topic_partition.partition
        self.partitions[index] = partition
        other = self.partitions.get(1 - index, partition)
        return append(other, records, *rest)


class Reorders:
    """Keep one record back and append it after the next one of its partition. The response has the offset that the
    record should have had."""

    def __init__(self) -> None:
        self._kept: dict[Partition, bytes] = {}

    def __call__(self, append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        kept = self._kept.pop(partition, None)
        if kept is None:
            self._kept[partition] = records
            return as_if(partition, partition.leader_log.log_end_offset + 1)
        info = append(partition, records, *rest)
        append(partition, kept, *rest)
        return info


def refuses_what_it_wrote(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    append(partition, records, *rest)
    raise KafkaError(ErrorCode.not_enough_replicas, "it says")


def writes_of_its_own(append: Append, partition: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
    info = append(partition, records, *rest)
    append(partition, encode_batch([Record(None, b"nobody sent this")], base_timestamp_ms=0), *rest)
    return info


def told(lie: Any) -> Callable[..., LogAppendInfo]:
    """Replace `Partition.append_records_to_leader`: the lie applies to one topic, all others are appended honestly."""

    def append(self: Partition, records: bytes, *rest: Any) -> LogAppendInfo:
        if self.topic_partition.topic != TOPIC:
            return honest_append(self, records, *rest)
        info: LogAppendInfo = lie(honest_append, self, records, *rest)
        return info

    return append


# Lies that are told elsewhere than where records are appended. Each is a patch.


def appends_so(make: Callable[[], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Return a patch that plants one of the lies above; `make` gives a new one."""
    return lambda patches: patches.setattr(Partition, "append_records_to_leader", told(make()))


def answers_on_another_connection(patches: pytest.MonkeyPatch) -> None:
    """Send one Produce response to the connection that sent the first one."""
    honest = SocketServer.take_answers
    first: list[Connection] = []
    done: list[Connection] = []

    def take_answers(self: SocketServer) -> list[Effect]:
        effects = honest(self)
        for place, effect in enumerate(effects):
            if not isinstance(effect, Send) or PRODUCE_ANSWER not in effect.data:
                continue
            if not first:
                first.append(effect.connection)
            elif not done and effect.connection is not first[0] and not first[0].is_closed:
                done.append(effect.connection)
                effects[place] = Send(first[0], effect.parts)
        return effects

    patches.setattr(SocketServer, "take_answers", take_answers)


def answers_all_as_if_the_leader_were_alone(patches: pytest.MonkeyPatch) -> None:
    """Treat acks=all like acks=1, without a wait for the followers."""
    honest = Partition.check_enough_replicas_reach_offset

    def check(self: Partition, required_offset: int) -> tuple[bool, ErrorCode]:
        if self.topic_partition.topic != TOPIC:
            return honest(self, required_offset)
        return True, ErrorCode.none

    patches.setattr(Partition, "check_enough_replicas_reach_offset", check)


def shows_the_end_for_the_watermark(patches: pytest.MonkeyPatch) -> None:
    """Show the log end as high watermark in every Fetch response."""
    honest = reads.fetch_records

    def fetch_records(broker_id: int, params: Any, fetch: Any, max_bytes: int) -> Any:
        result = honest(broker_id, params, fetch, max_bytes)
        if fetch.partition.topic_partition.topic == TOPIC:
            result.high_watermark = fetch.partition.leader_log.log_end_offset
        return result

    patches.setattr(reads, "fetch_records", fetch_records)


class Kept(Piece):
    """The stored bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(len(data))
        self._data = data

    def read(self, start: int, size: int) -> list[Part]:
        return [self._data[start : start + size]]


def is_of_a_reader(params: Any) -> bool:
    """Return True for a Fetch of a reader; the final read of the log asks for more bytes at a time."""
    return not params.is_from_follower and params.max_bytes < MAX_BYTES


def skips_one_in(each: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Hide one record in `each` from readers, the same records in every Fetch."""
    honest = reads.fetch_records
    seen: dict[tuple[int, int], bool] = {}

    def is_skipped(partition: int, offset: int) -> bool:
        return seen.setdefault((partition, offset), len(seen) % each == each - 1)

    def fetch_records(broker_id: int, params: Any, fetch: Any, max_bytes: int) -> Any:
        result = honest(broker_id, params, fetch, max_bytes)
        place = fetch.partition.topic_partition
        if place.topic == TOPIC and result.records and is_of_a_reader(params):
            data, kept, at = result.records.join(), b"", 0
            while len(data) - at >= RECORD_BATCH_OVERHEAD:
                header = read_batch_header(data, at)
                if not is_skipped(place.partition, header.base_offset):
                    kept += data[at : at + header.size_in_bytes]
                at += header.size_in_bytes
            result.records = Pieces([Kept(kept)])
        return result

    return lambda patches: patches.setattr(reads, "fetch_records", fetch_records)


def shows_readers_all(patches: pytest.MonkeyPatch) -> None:
    """Show all records of the leader's log to readers, whatever the high watermark is."""
    honest = reads.end_offset

    def end_offset(log: Any, params: Any) -> int:
        return int(log.log_end_offset if is_of_a_reader(params) else honest(log, params))

    patches.setattr(reads, "end_offset", end_offset)


def shows_readers_all_as_if_it_might(patches: pytest.MonkeyPatch) -> None:
    shows_readers_all(patches)
    shows_the_end_for_the_watermark(patches)


def takes_commits_of_any_generation(patches: pytest.MonkeyPatch) -> None:
    def validate(self: ClassicGroup, *rest: Any) -> None:
        return None

    patches.setattr(ClassicGroup, "validate_offset_commit", validate)


def gives_all_to_each_member(patches: pytest.MonkeyPatch) -> None:
    honest = Rebalances.set_assignment

    def set_assignment(self: Rebalances, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        whole = deal([("one", subscription_to(TOPIC))], TOPIC, 2)["one"]
        honest(self, group, dict.fromkeys(assignment, whole))

    patches.setattr(Rebalances, "set_assignment", set_assignment)


def writes_markers(lie: Callable[[TxnMarker], TxnMarker | None]) -> Callable[[pytest.MonkeyPatch], None]:
    """Write another transaction marker than was decided, or none, in the one topic."""
    honest = markers.append_marker

    def append_marker(partition: Partition, txn_marker: TxnMarker, *rest: Any) -> LogAppendInfo:
        marker = lie(txn_marker) if partition.topic_partition.topic == TOPIC else txn_marker
        if marker is None:
            return as_if(partition, partition.leader_log.log_end_offset)
        return honest(partition, marker, *rest)

    return lambda patches: patches.setattr(markers, "append_marker", append_marker)


def loses_markers(txn_marker: TxnMarker) -> TxnMarker | None:
    return None


def commits_all(txn_marker: TxnMarker) -> TxnMarker:
    marker = txn_marker.marker._replace(control_type=COMMIT)
    return TxnMarker(txn_marker.producer_id, txn_marker.producer_epoch, marker, txn_marker.transaction_version)


def times_out_in_half_the_time(patches: pytest.MonkeyPatch) -> None:
    honest = DelayedProduce

    def make(broker_id: int, timeout_ms: int, *rest: Any) -> Any:
        return honest(broker_id, timeout_ms // 2, *rest)

    patches.setattr(replica_manager, "DelayedProduce", make)


def times_out_always_after(ms: int) -> Callable[[pytest.MonkeyPatch], None]:
    """Let acks=all requests expire after `ms`, whatever their timeout."""
    honest = DelayedProduce

    def patch(patches: pytest.MonkeyPatch) -> None:
        patches.setattr(replica_manager, "DelayedProduce", lambda broker_id, _, *rest: honest(broker_id, ms, *rest))

    return patch


def times_out_though_followers_replicate(patches: pytest.MonkeyPatch) -> None:
    """Keep produce requests parked after the high watermark has passed their records."""
    patches.setattr(DelayedProduce, "try_complete", lambda self: False)


def leaves_an_answer_out_of_its_journal(patches: pytest.MonkeyPatch) -> None:
    """Omit the 7th response to a Produce from the journal."""
    honest = Probe.tell
    count = [0]

    def tell(self: Probe, event: Event, subject: object = None) -> None:
        if isinstance(event, Answer) and event.partitions:
            count[0] += 1
            if count[0] == 7:
                return
        honest(self, event, subject)

    patches.setattr(Probe, "tell", tell)
