"""Hold an acks=-1 produce until the in-sync replicas have it, or until its timeout.

Theory   Each partition leaves the waiting set by exactly one of
           A    the partition is not here            -> the lookup's own error
           B    this broker no longer leads it       -> NOT_LEADER_OR_FOLLOWER
           C.1  watermark passed, ISR below minimum  -> NOT_ENOUGH_REPLICAS_AFTER_APPEND
           C.2  watermark passed                     -> NONE
         and the operation completes when none waits. At expiry those still waiting keep REQUEST_TIMED_OUT, which
         they were given at the start and lose when acknowledged; their base offset is real, because the records
         are in the log and stay there.
Units    delay_ms is monotonic milliseconds; required_offset is last_offset + 1.
Source   core/.../server/DelayedProduce.scala @ 4.0.
Differs  One thread: no lock, no `safe_` variants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from fakebroker.apis.context import ProduceCallback
from fakebroker.core.delayed_operation import DelayedOperation
from fakebroker.core.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.produce_response import PartitionProduceResponse
from fakebroker.protocol.topic_partition import TopicPartition

_NONE: Final = ErrorCode.none


class PartitionLookup(Protocol):
    def get_partition_or_error(self, topic_partition: TopicPartition) -> Partition | ErrorCode: ...


class ProducePartitionStatus:
    """One partition of the request. `response` is what the append gave; while `acks_pending`, what is answered if
    nothing more happens is REQUEST_TIMED_OUT."""

    __slots__ = ("_response", "acks_pending", "required_offset")

    def __init__(self, required_offset: int, response: PartitionProduceResponse) -> None:
        self.required_offset = required_offset
        self._response = response
        self.acks_pending = False

    @property
    def response(self) -> PartitionProduceResponse:
        if self.acks_pending:
            return self._response._replace(error_code=ErrorCode.request_timed_out)
        return self._response

    def acknowledge(self, error: ErrorCode) -> None:
        """It waits no more, and this is why."""
        self.acks_pending = False
        if error is not _NONE:
            self._response = self._response._replace(error_code=error)


class DelayedProduce(DelayedOperation):
    """One produce request waiting in the purgatory of the broker that took it."""

    __slots__ = ("_callback", "_on_expired", "_partitions", "_status")

    def __init__(
        self,
        timeout_ms: int,
        status: dict[TopicPartition, ProducePartitionStatus],
        partitions: PartitionLookup,
        callback: ProduceCallback,
        on_expired: Callable[[TopicPartition], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._status = status
        self._partitions = partitions
        self._callback = callback
        self._on_expired = on_expired
        for entry in status.values():
            if entry.response.error_code == 0:
                entry.acks_pending = True

    def try_complete(self) -> bool:
        waiting = False
        for topic_partition, entry in self._status.items():
            if not entry.acks_pending:
                continue
            partition = self._partitions.get_partition_or_error(topic_partition)
            if isinstance(partition, Partition):
                reached, error = partition.check_enough_replicas_reach_offset(entry.required_offset)  # case C
            else:
                reached, error = True, partition  # cases A and B
            if reached:
                entry.acknowledge(error)
            else:
                waiting = True
        return not waiting and self.force_complete()

    def on_complete(self) -> None:
        self._callback({topic_partition: entry.response for topic_partition, entry in self._status.items()})

    def on_expiration(self) -> None:
        for topic_partition, entry in self._status.items():
            if entry.acks_pending:
                self._on_expired(topic_partition)
