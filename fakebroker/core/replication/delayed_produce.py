"""Park an acks=-1 produce request until the in-sync replicas have its records, or until its timeout.

Theory   Each partition leaves the waiting set by exactly one of

           A    the partition is not here            -> the lookup's own error
           B    this broker no longer leads it       -> NOT_LEADER_OR_FOLLOWER
           C1   watermark passed, ISR below minimum  -> NOT_ENOUGH_REPLICAS_AFTER_APPEND
           C2   watermark passed                     -> NONE

         and the operation completes when none is left. At expiry those left keep REQUEST_TIMED_OUT. Each partition has
         that error from the start and loses it when acknowledged. The base offset is real, because the records are in
         the log and stay there. A stale leader that does not know its successor keeps the request parked, although its
         followers fetch from another broker: until the timeout, or until it learns of the successor
         (controller/stale_views.py).
Units    delay_ms is monotonic milliseconds; required_offset is last_offset + 1.
Source   core/.../server/DelayedProduce.scala @ 4.0.
Differs  One thread: no lock, no `safe_` variants. It keeps the partition where Kafka looks it up by name each time. The
         deletion of a topic therefore re-checks all requests parked there before the name can be used again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.parked_request import ParkedRequest
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.produce_response import PartitionProduceResponse
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

_NONE: Final = ErrorCode.none


@mypyc_attr(free_list_len=1)
@final
class ProducePartitionStatus:
    """One partition of the request. `response` is the result of the append; while `acks_pending`, its error is
    REQUEST_TIMED_OUT. `partition` is None if nothing was appended."""

    __slots__ = ("_response", "acks_pending", "partition", "required_offset", "topic_partition")

    def __init__(
        self,
        topic_partition: TopicPartition,
        partition: Partition | None,
        required_offset: int,
        response: PartitionProduceResponse,
    ) -> None:
        self.topic_partition = topic_partition
        self.partition = partition
        self.required_offset = required_offset
        self._response = response
        self.acks_pending = False

    @property
    def response(self) -> PartitionProduceResponse:
        if self.acks_pending:
            return self._response.with_error(ErrorCode.request_timed_out)
        return self._response

    def acknowledge(self, error: ErrorCode) -> None:
        """End the wait of this partition with `error`. Drop the reference to the partition too: its topic may be
        deleted."""
        self.acks_pending = False
        self.partition = None
        if error is not _NONE:
            self._response = self._response.with_error(error)


ProduceCallback = Callable[[list[ProducePartitionStatus]], None]


@final
class DelayedProduce(ParkedRequest):
    """A produce request parked in the purgatory of its broker."""

    __slots__ = ("_broker_id", "_callback", "_on_expired", "status")

    def __init__(
        self,
        broker_id: int,
        timeout_ms: int,
        status: list[ProducePartitionStatus],
        callback: ProduceCallback,
        on_expired: Callable[[TopicPartition], None],
        probe: Probe,
    ) -> None:
        super().__init__(timeout_ms, probe)
        self._broker_id = broker_id
        self.status = status
        self._callback = callback
        self._on_expired = on_expired
        for entry in status:
            entry.acks_pending = entry.partition is not None

    def try_complete(self) -> bool:
        waiting = False
        for entry in self.status:
            partition = entry.partition
            if partition is None:
                continue
            if partition.is_deleted or partition.leader_id != self._broker_id:
                partition = entry.partition = partition.as_seen_by(self._broker_id)
            if partition.is_deleted:
                entry.acknowledge(ErrorCode.unknown_topic_or_partition)  # case A
            elif partition.leader_id != self._broker_id:
                entry.acknowledge(ErrorCode.not_leader_or_follower)  # case B
            else:
                reached, error = partition.check_enough_replicas_reach_offset(entry.required_offset)
                if reached:
                    entry.acknowledge(error)  # case C
                else:
                    waiting = True
        return not waiting and self.force_complete()

    def on_complete(self) -> None:
        self.tell_unparked()
        self._callback(self.status)

    def on_expiration(self) -> None:
        for entry in self.status:
            if entry.acks_pending:
                self._on_expired(entry.topic_partition)
                entry.partition = None  # as in acknowledge
