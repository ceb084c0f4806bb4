"""The listener that writes the journal, with times and numbers.

Theory   Requests are counted from 1, in the order in which they are handled; connections have a number already. An
         event of a probe point belongs to the request that was begun last, since no request is handled inside another.
         A parked request is known again by its operation. The results of a response are those from which it was
         encoded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Final
from uuid import UUID

from fakebroker.core.clock import HasNow
from fakebroker.core.journal import events, group_events
from fakebroker.core.journal.fault_recorder import FaultRecorder
from fakebroker.core.journal.fingerprints import fingerprints, fingerprints_if_whole
from fakebroker.core.journal.journal import Journal
from fakebroker.core.journal.reasons import reason_of
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.framing import LENGTH_BYTES
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.messages import api_name
from fakebroker.protocol.produce_reader import ProduceRequest
from fakebroker.protocol.produce_response import TopicProduceResponse
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, read_batch_header
from fakebroker.protocol.topic_partition import TopicPartition

NOTHING: Final = -1  # no offset, epoch, sequence or producer id
_NO_TOPIC_ID = UUID(int=0)


class _Trail:
    """The state of a connection: the bytes received and handled, and the request in hand."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.is_closed = False
        self.came = 0
        self.handled = 0
        self.arrivals: deque[tuple[int, int]] = deque()  # (bytes received by then, when)
        self.request = 0
        self.answer: tuple[events.PartitionAnswer, ...] = ()  # to the Produce in hand,
        self.has_more = False  # and whether some of it comes later

    def take(self, size: int, now_ms: int) -> int:
        """Handle a frame, and return the time at which its last byte came. That is now for bytes from before the
        recording."""
        self.handled += size + LENGTH_BYTES
        while self.arrivals and self.arrivals[0][0] < self.handled:
            self.arrivals.popleft()
        return self.arrivals[0][1] if self.arrivals else now_ms


class Recorder(FaultRecorder):
    """The recorder of a cluster and its journal. The clock is the cluster's."""

    def __init__(self, journal: Journal, clock: HasNow) -> None:
        super().__init__(journal, clock)
        self._requests = count(1)
        self._request = 0  # the one in hand
        self._trails: dict[int, _Trail] = {}
        self._broker_id = 0  # of the request in hand
        self._parked: dict[object, tuple[int, int]] = {}  # by operation: its broker and its request

    def _trail(self, connection: int, broker_id: int = 0) -> _Trail:
        trail = self._trails.get(connection)
        if trail is None:  # or it was opened before the recording
            trail = self._trails[connection] = _Trail(broker_id)
        return trail

    # Connections.

    def connection_opened(self, connection: int, broker_id: int, peer: str) -> None:
        self._trail(connection, broker_id)
        self._record(events.ConnectionOpened, connection, broker_id, peer)

    def connection_closed(self, connection: int, broker_id: int, reason: str) -> None:
        self._record(events.ConnectionClosed, connection, broker_id, reason)
        trail = self._trail(connection, broker_id)
        trail.is_closed = True
        if not trail.request:  # else an `Answer` follows, with its faults
            del self._trails[connection]
            self.faults_of.pop(connection, None)

    def bytes_received(self, connection: int, size: int) -> None:
        trail = self._trail(connection)
        trail.came += size
        trail.arrivals.append((trail.came, self._clock.now.mono_ms))

    def throttled(self, connection: int, broker_id: int, throttle_time_ms: int) -> None:
        self._record(events.Throttled, connection, broker_id, throttle_time_ms)

    # Requests.

    def request_begun(self, connection: int, broker_id: int, header: RequestHeader, size: int) -> None:
        trail = self._trail(connection, broker_id)
        self._broker_id = broker_id
        self._request = trail.request = next(self._requests)
        self._record(
            events.Request,
            trail.request,
            connection,
            broker_id,
            api_name(header.api_key),
            header.api_version,
            header.correlation_id,
            header.client_id,
            trail.take(size, self._clock.now.mono_ms),
            size,
        )

    def request_resumed(self, connection: int, broker_id: int) -> None:
        self._broker_id = broker_id
        self._request = self._trail(connection, broker_id).request

    def produce_asked(self, request: ProduceRequest, names: Sequence[str]) -> None:
        self._record(
            events.Produce,
            self._request,
            request.acks,
            request.timeout_ms,
            request.transactional_id,
            tuple(
                [
                    (name, partition.index)
                    for name, topic in zip(names, request.topic_data, strict=True)
                    for partition in topic.partition_data
                ]
            ),
        )

    def produce_answered(self, connection: int, topics: Sequence[TopicProduceResponse], has_more: bool = False) -> None:
        trail = self._trail(connection)
        told = []
        for topic in topics:
            name = topic.name or str(topic.topic_id or _NO_TOPIC_ID)
            for partition in topic.partitions:
                error = kafka_name(partition.error_code)
                told.append(events.PartitionAnswer(name, partition.index, error, partition.base_offset))
        trail.answer = (*trail.answer, *told) if trail.has_more else tuple(told)
        trail.has_more = has_more

    def answered(self, connection: int, outcome: str, size: int) -> None:
        trail = self._trail(connection)
        reason = "; ".join(self.faults_of.pop(connection, ()))
        if not reason and trail.answer:
            reason = reason_of([partition.error for partition in trail.answer])
        self._record(events.Answer, trail.request, connection, outcome, size, trail.answer, reason)
        trail.answer = ()
        trail.request = 0
        if trail.is_closed:
            del self._trails[connection]

    def request_of(self, connection: int) -> int:
        trail = self._trails.get(connection)
        return 0 if trail is None else trail.request

    # Parked requests.

    def parked(self, operation: object, api: str, timeout_ms: int) -> None:
        self._parked[operation] = self._broker_id, self._request
        deadline_ms = self._clock.now.mono_ms + max(timeout_ms, 0)
        self._record(events.Parked, self._request, api, timeout_ms, deadline_ms)

    def unparked(self, operation: object, has_expired: bool) -> None:
        parked = self._parked.pop(operation, None)
        if parked is not None:
            self._record(events.Expired if has_expired else events.Completed, parked[1])

    def timers_fired(self, tasks: int, woken_ms: int) -> None:
        self._record(events.TimerFired, tasks, woken_ms)

    # Partitions.

    def appended(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        first_offset: int,
        last_offset: int,
        is_duplicate: bool,
    ) -> None:
        self._record_append(
            topic_partition,
            leader_id,
            leader_epoch,
            records,
            (events.NO_ERROR, first_offset, last_offset, is_duplicate),
            fingerprints(records),
        )

    def append_refused(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        error_code: ErrorCode,
    ) -> None:
        outcome = (kafka_name(error_code), NOTHING, NOTHING, False)
        self._record_append(topic_partition, leader_id, leader_epoch, records, outcome, fingerprints_if_whole(records))

    def _record_append(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        outcome: tuple[str, int, int, bool],
        names: tuple[str, ...],
    ) -> None:
        producer = (NOTHING, NOTHING, NOTHING)
        if len(records) >= RECORD_BATCH_OVERHEAD:
            header = read_batch_header(records)
            producer = header.producer_id, header.producer_epoch, header.base_sequence
        self._record(
            events.Append, self._request, leader_id, *topic_partition, *outcome, leader_epoch, *producer, names
        )

    def leader_changed(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        isr: Sequence[int],
        log_end_offset: int,
        high_watermark: int,
    ) -> None:
        self._record(
            events.LeaderChanged, *topic_partition, leader_id, leader_epoch, tuple(isr), log_end_offset, high_watermark
        )

    def isr_changed(self, topic_partition: TopicPartition, leader_epoch: int, isr: Sequence[int]) -> None:
        self._record(events.IsrChanged, *topic_partition, leader_epoch, tuple(isr))

    def watermark_moved(
        self, topic_partition: TopicPartition, leader_epoch: int, high_watermark: int, log_end_offset: int
    ) -> None:
        self._record(events.WatermarkMoved, *topic_partition, leader_epoch, high_watermark, log_end_offset)

    def log_start_moved(self, topic_partition: TopicPartition, log_start_offset: int) -> None:
        self._record(events.LogStartMoved, *topic_partition, log_start_offset)

    # Groups.

    def member_joined(self, group_id: str, member_id: str, group_instance_id: str | None, client_id: str) -> None:
        self._record(group_events.MemberJoined, group_id, member_id, group_instance_id, client_id)

    def member_left(self, group_id: str, member_id: str, generation_id: int, reason: str) -> None:
        self._record(group_events.MemberLeft, group_id, member_id, generation_id, reason)

    def rebalance_began(self, group_id: str, generation_id: int, reason: str) -> None:
        self._record(group_events.RebalanceBegan, group_id, generation_id, reason)

    def generation_began(
        self, group_id: str, generation_id: int, protocol: str, leader: str, members: Sequence[str]
    ) -> None:
        self._record(group_events.GenerationBegan, group_id, generation_id, protocol, leader, tuple(members))

    def group_stabilized(self, group_id: str, generation_id: int) -> None:
        self._record(group_events.GroupStabilized, group_id, generation_id)

    def offsets_committed(
        self, group_id: str, member_id: str, generation_id: int, offsets: Sequence[tuple[str, int, int]]
    ) -> None:
        self._record(group_events.OffsetsCommitted, group_id, member_id, generation_id, tuple(offsets))

    def offsets_expired(self, group_id: str, partitions: Sequence[tuple[str, int]]) -> None:
        self._record(group_events.OffsetsExpired, group_id, tuple(partitions))

    # Topics.

    def topic_created(self, name: str, topic_id: UUID, replicas: Sequence[Sequence[int]]) -> None:
        self._record(events.TopicCreated, name, str(topic_id), tuple(map(tuple, replicas)))

    def partitions_created(self, topic: str, first: int, replicas: Sequence[Sequence[int]]) -> None:
        self._record(events.PartitionsCreated, topic, first, tuple(map(tuple, replicas)))

    def replicas_changed(
        self, topic_partition: TopicPartition, replicas: Sequence[int], adding: Sequence[int], removing: Sequence[int]
    ) -> None:
        self._record(events.ReplicasChanged, *topic_partition, tuple(replicas), tuple(adding), tuple(removing))

    def topic_deleted(self, name: str) -> None:
        self._record(events.TopicDeleted, name)

    def broker_gone(self, broker_id: int) -> None:
        # Its connections are closed, and requests in hand get no response.
        self._parked = {operation: parked for operation, parked in self._parked.items() if parked[0] != broker_id}
        self._trails = {number: trail for number, trail in self._trails.items() if trail.broker_id != broker_id}
        self.faults_of = {number: faults for number, faults in self.faults_of.items() if number in self._trails}
