"""Lies of brokers that few clients see: to Kafka's producer, which retries, to readers, and about transactions. Each is
a patch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lies import TOPIC, Kept, answers_all_as_if_the_leader_were_alone

from fakebroker.core.clock import Now
from fakebroker.core.journal.events import Append, Event, WatermarkMoved
from fakebroker.core.probe import Probe
from fakebroker.core.replication import reads
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.protocol.answers.pieces import Pieces
from fakebroker.protocol.batch_layout import CRC_AT, TRANSACTIONAL_FLAG
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, BatchHeader, pack_batch, read_batch_header


def refuses_what_it_appended(patches: pytest.MonkeyPatch) -> None:
    """Answer every fifth request NOT_ENOUGH_REPLICAS after its append. The producer sends it again, as a duplicate."""
    honest, count = ReplicaManager.answer_or_park, [0]

    def answer_or_park(
        self: ReplicaManager, timeout_ms: int, required_acks: int, status: Any, callback: Any, now: Now
    ) -> None:
        count[0] += status[0].topic_partition.topic == TOPIC
        if count[0] % 5 or status[0].topic_partition.topic != TOPIC:
            honest(self, timeout_ms, required_acks, status, callback, now)
            return
        for entry in status:
            entry.acknowledge(ErrorCode.not_enough_replicas)
        callback(status)

    patches.setattr(ReplicaManager, "answer_or_park", answer_or_park)


def says_at_once_that_the_watermark_moved(patches: pytest.MonkeyPatch) -> None:
    """Treat acks=all like acks=1. By the journal, the high watermark passes each append at once."""
    answers_all_as_if_the_leader_were_alone(patches)
    honest = Probe.tell

    def tell(self: Probe, event: Event, subject: object = None) -> None:
        if not isinstance(event, WatermarkMoved) or event.topic != TOPIC:
            honest(self, event, subject)
        if isinstance(event, Append) and event.topic == TOPIC:
            end = event.last_offset + 1
            honest(self, WatermarkMoved(*self.times, TOPIC, event.partition, event.leader_epoch, end, end))

    patches.setattr(Probe, "tell", tell)


def refuses_after_an_append_that_was_none(patches: pytest.MonkeyPatch) -> None:
    """Answer NOT_ENOUGH_REPLICAS_AFTER_APPEND, and append nothing."""

    def check_min_isr(self: Partition, required_acks: int) -> None:
        if self.topic_partition.topic == TOPIC:
            raise KafkaError(ErrorCode.not_enough_replicas_after_append, "it says")

    patches.setattr(Partition, "check_min_isr", check_min_isr)


def says_of_transactions(is_transactional: bool) -> Callable[[pytest.MonkeyPatch], None]:
    """Say of each batch of a producer that it is of a transaction, or that it is of none."""

    def marked(header: BatchHeader, batch: bytes) -> bytes:
        if header.base_sequence < 0 or header.is_control:
            return batch
        plain = header.attributes & ~TRANSACTIONAL_FLAG
        attributes = plain | TRANSACTIONAL_FLAG if is_transactional else plain
        return pack_batch(header._replace(attributes=attributes), batch[RECORD_BATCH_OVERHEAD:])

    return gives_batches(marked)


def damages_markers(header: BatchHeader, batch: bytes) -> bytes:
    """Change the CRC of a transaction marker."""
    return batch[:CRC_AT] + bytes([batch[CRC_AT] ^ 1]) + batch[CRC_AT + 1 :] if header.is_control else batch


def gives_batches(change: Callable[[BatchHeader, bytes], bytes]) -> Callable[[pytest.MonkeyPatch], None]:
    """Give other batches in Fetch responses than those that are stored."""
    honest = reads.fetch_records

    def fetch_records(broker_id: int, params: Any, fetch: Any, max_bytes: int) -> Any:
        result = honest(broker_id, params, fetch, max_bytes)
        if result.records and fetch.partition.topic_partition.topic == TOPIC:
            stored, given, at = result.records.join(), b"", 0
            while len(stored) - at >= RECORD_BATCH_OVERHEAD:
                header = read_batch_header(stored, at)
                given += change(header, stored[at : at + header.size_in_bytes])
                at += header.size_in_bytes
            result.records = Pieces([Kept(given)])
        return result

    return lambda patches: patches.setattr(reads, "fetch_records", fetch_records)
