"""Lies of brokers that few clients see, to Kafka's producer, which retries, and to readers: each is a patch."""

from __future__ import annotations

from typing import Any

import pytest
from lies import TOPIC, answers_all_as_if_the_leader_were_alone

from fakebroker.core.clock import Now
from fakebroker.core.journal.events import Append, Event, WatermarkMoved
from fakebroker.core.probe import Probe
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


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
