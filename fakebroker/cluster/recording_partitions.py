"""Who writes the journal of topics, partitions and brokers; see `cluster/recording.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from fakebroker.apis.context import NewTopic
from fakebroker.cluster.recorder import NOTHING, Recorder
from fakebroker.core.clock import Now
from fakebroker.core.controller.controller import Controller
from fakebroker.core.controller.topics import Topic
from fakebroker.core.journal import events
from fakebroker.core.journal.fingerprints import fingerprints, fingerprints_if_whole
from fakebroker.core.replication.partition import NO_LEADER, LogAppendInfo, Partition
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, read_batch_header


class RecordingController(Controller):
    """Topics and brokers that come and go."""

    def __init__(self, recorder: Recorder, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._recorder = recorder
        self._new_partition = partial(RecordingPartition, recorder)

    def _create_topic(self, new: NewTopic, now: Now, validate_only: bool) -> Topic:
        topic = super()._create_topic(new, now, validate_only)
        if not validate_only:
            replicas = tuple(tuple(partition.replica_ids) for partition in topic.partitions)
            self._recorder.record(events.TopicCreated, topic.name, str(topic.topic_id), replicas)
            for partition in topic.partitions:
                assert isinstance(partition, RecordingPartition)
                partition.begin_recording()
        return topic

    def delete_topic(self, name: str) -> None:
        if name in self.topics:
            self._recorder.record(events.TopicDeleted, name)
        super().delete_topic(name)

    def stop_broker(self, broker_id: int, now: Now) -> None:
        self._recorder.record(events.BrokerStopped, broker_id)
        super().stop_broker(broker_id, now)

    def start_broker(self, broker_id: int, now: Now) -> None:
        self._recorder.record(events.BrokerStarted, broker_id)
        super().start_broker(broker_id, now)


class RecordingPartition(Partition):
    """Appends, leaders, in-sync replicas, watermarks."""

    _is_recording = False  # not before the topic is there
    _told_isr: Sequence[int] = ()
    _end_before = 0  # where the log ended before the append in hand
    _batch = b""  # what it is to append

    def __init__(self, recorder: Recorder, *arguments: Any) -> None:
        self._recorder = recorder
        super().__init__(*arguments)

    def begin_recording(self) -> None:
        self._is_recording = True
        self._tell_leader()

    def _tell(self, kind: type[events.Event], *values: object) -> None:
        self._recorder.record(kind, *self.topic_partition, *values)

    def _tell_leader(self) -> None:
        self._told_isr = isr = self.isr_ids
        offsets = (NOTHING, NOTHING)
        if self.leader_id != NO_LEADER:
            offsets = (self.leader_log.log_end_offset, self.high_watermark)
        self._tell(events.LeaderChanged, self.leader_id, self.leader_epoch, tuple(isr), *offsets)

    def become_leader(self, broker_id: int, isr: Iterable[int], now_ms: int) -> bool:
        was_recording, self._is_recording = self._is_recording, False  # the watermark is told with the leader
        moved = super().become_leader(broker_id, isr, now_ms)
        self._is_recording = was_recording
        if was_recording:
            self._tell_leader()
        return moved

    def lose_leader(self) -> None:
        super().lose_leader()
        self._tell_leader()

    def maybe_increment_leader_hw(self, now_ms: int) -> bool:
        """Called after each change of the ISR, too."""
        if self._is_recording and (isr := self.isr_ids) != self._told_isr:
            self._told_isr = isr
            self._tell(events.IsrChanged, self.leader_epoch, tuple(isr))
        moved = super().maybe_increment_leader_hw(now_ms)
        if moved and self._is_recording:
            self._tell(events.WatermarkMoved, self.leader_epoch, self.high_watermark, self.leader_log.log_end_offset)
        return moved

    def append_records_to_leader(self, records: bytes, required_acks: int, now: Now) -> LogAppendInfo:
        self._batch, self._end_before = records, self.leader_log.log_end_offset
        try:
            return super().append_records_to_leader(records, required_acks, now)
        except KafkaError as error:
            self._tell_append(kafka_name(error.code), NOTHING, NOTHING, fingerprints_if_whole(records))
            raise
        finally:
            self._batch = b""

    def _append_info(self, first_offset: int, last_offset: int, append_time_ms: int, now: Now) -> LogAppendInfo:
        self._tell_append(events.NO_ERROR, first_offset, last_offset, fingerprints(self._batch))
        return super()._append_info(first_offset, last_offset, append_time_ms, now)

    def _tell_append(self, error: str, first_offset: int, last_offset: int, records: tuple[str, ...]) -> None:
        producer = (NOTHING, NOTHING, NOTHING)
        if len(self._batch) >= RECORD_BATCH_OVERHEAD:
            header = read_batch_header(self._batch)
            producer = header.producer_id, header.producer_epoch, header.base_sequence
        self._recorder.record(
            events.Append,
            self._recorder.request,
            self.leader_id,
            *self.topic_partition,
            error,
            first_offset,
            last_offset,
            error == events.NO_ERROR and first_offset < self._end_before,
            self.leader_epoch,
            *producer,
            records,
        )

    def delete_records_before(self, offset: int) -> None:
        before = self.leader_log.log_start_offset
        super().delete_records_before(offset)
        if (start := self.leader_log.log_start_offset) != before:
            self._tell(events.LogStartMoved, start)
