"""DeleteRecords on one broker: move log starts, and park the request until the followers have moved theirs.

Theory   The leader moves the start of its log at once, never beyond the high watermark. The request is parked until the
         low watermark reaches the new start. The low watermark is the lowest log start among the replicas on live
         brokers. A follower reports its log start with its fetches, so a frozen follower holds the request until its
         timeout. The response then has the low watermark as it was at first, and REQUEST_TIMED_OUT; the records are
         gone all the same.
Units    delay_ms is monotonic milliseconds; offsets count records.
Source   core/.../server/ReplicaManager.scala deleteRecords, deleteRecordsOnLocalLog, delayedDeleteRecordsRequired;
         DelayedDeleteRecords.scala; core/.../cluster/Partition.scala deleteRecordsOnLeader, lowWatermarkIfLeader @ 4.0.
Differs  A follower that is not behind reports its log start at once; in Kafka its next two fetches do, which takes up
         to replica.fetch.wait.max.ms (500 ms) each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.probe import Probe
from fakebroker.core.purgatory.delayed_operation import DelayedOperation
from fakebroker.core.purgatory.parked_request import ParkedRequest
from fakebroker.core.purgatory.purgatory import DelayedOperationPurgatory
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol import topic_name
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition

HIGH_WATERMARK: Final = -1  # as the requested offset
INVALID_LOW_WATERMARK: Final = -1
_PARTITIONS_OF_A_SLICE: Final = 32


@final
class DeletedRecords:
    """The result for one partition. While `pending`, the low watermark has to reach `required_offset`."""

    __slots__ = ("error_code", "low_watermark", "partition", "pending", "required_offset", "topic_partition")

    def __init__(
        self,
        topic_partition: TopicPartition,
        error_code: ErrorCode,
        low_watermark: int = INVALID_LOW_WATERMARK,
        partition: Partition | None = None,
        required_offset: int = -1,
    ) -> None:
        self.topic_partition = topic_partition
        self.error_code = error_code
        self.low_watermark = low_watermark
        self.partition = partition
        self.required_offset = required_offset
        self.pending = False


Callback = Callable[[Sequence[DeletedRecords]], None]


def low_watermark(partition: Partition) -> int:
    """Return the lowest log start among the live replicas, as far as the leader knows them."""
    lowest = partition.leader_log.log_start_offset
    for follower in partition.followers:
        if follower.broker.is_alive:
            lowest = min(lowest, follower.log_start_offset)
    return lowest


class DelayedDeleteRecords(ParkedRequest):
    """A DeleteRecords request parked in the purgatory of its broker."""

    def __init__(
        self, broker_id: int, timeout_ms: int, results: Sequence[DeletedRecords], callback: Callback, probe: Probe
    ) -> None:
        super().__init__(timeout_ms, probe)
        self._broker_id = broker_id
        self._results = results
        self._callback = callback
        for result in results:
            if result.error_code == ErrorCode.none:
                result.pending = True
                result.error_code = ErrorCode.request_timed_out

    def try_complete(self) -> bool:
        waits = False
        for result in self._results:
            partition = result.partition
            if not result.pending or partition is None:
                continue
            code, reached = ErrorCode.none, INVALID_LOW_WATERMARK
            if partition.is_deleted:
                code = ErrorCode.unknown_topic_or_partition
            elif partition.leader_id != self._broker_id:
                code = ErrorCode.not_leader_or_follower
            else:
                reached = low_watermark(partition)
                if reached < result.required_offset:
                    waits = True
                    continue
            result.pending, result.error_code, result.low_watermark = False, code, reached
        return not waits and self.force_complete()

    def on_complete(self) -> None:
        self.tell_unparked()
        self._callback(self._results)

    def on_expiration(self) -> None:
        """Do nothing: the pending partitions have their error already."""


@final
class RecordDeletion:
    """The deletion of records from the partitions that one broker leads."""

    def __init__(
        self,
        broker_id: int,
        purgatory: DelayedOperationPurgatory[DelayedOperation],
        followers: FollowerSet,
        probe: Probe,
    ) -> None:
        self._broker_id = broker_id
        self.purgatory = purgatory
        self._followers = followers
        self._probe = probe

    def delete_records(
        self,
        timeout_ms: int,
        offsets: Sequence[tuple[TopicPartition, Partition | None, int]],
        callback: Callback,
        now: Callable[[], Now],
    ) -> Slices[None]:
        """Delete the records below each offset, and call back with all results, now or later."""
        results: list[DeletedRecords] = []
        for topic_partition, partition, offset in offsets:
            try:
                results.append(self._delete(topic_partition, partition, offset, now()))
            except KafkaError as error:
                results.append(DeletedRecords(topic_partition, error.code))
            if len(results) % _PARTITIONS_OF_A_SLICE == 0:
                yield
        if not any(
            result.error_code == ErrorCode.none and result.low_watermark < result.required_offset for result in results
        ):
            callback(results)
            return
        operation = DelayedDeleteRecords(self._broker_id, timeout_ms, results, callback, self._probe)
        keys = [result.topic_partition for result in results]
        if not self.purgatory.try_complete_else_watch(operation, keys, now().mono_ms):
            operation.tell_parked("DeleteRecords")

    def _delete(
        self, topic_partition: TopicPartition, partition: Partition | None, offset: int, now: Now
    ) -> DeletedRecords:
        if partition is None or partition.is_deleted:
            raise KafkaError(ErrorCode.unknown_topic_or_partition, f"There is no partition {topic_partition}.")
        if topic_name.is_internal(topic_partition.topic):
            raise KafkaError(
                ErrorCode.invalid_topic_exception,
                f"Cannot delete records of internal topic {topic_partition.topic}",
            )
        if partition.leader_id != self._broker_id:
            raise KafkaError(ErrorCode.not_leader_or_follower, f"Another broker leads {topic_partition}.")
        if "delete" not in partition.config.cleanup_policy:
            raise KafkaError(
                ErrorCode.policy_violation,
                f"Records of partition {topic_partition} can not be deleted due to the configured policy",
            )
        high_watermark = partition.high_watermark
        offset = high_watermark if offset == HIGH_WATERMARK else offset
        if not 0 <= offset <= high_watermark:
            raise KafkaError(
                ErrorCode.offset_out_of_range,
                f"The offset {offset} for partition {topic_partition} is not valid: the watermark is {high_watermark}",
            )
        partition.delete_records_before(offset)
        self._followers.on_log_start_moved(partition, now)
        return DeletedRecords(topic_partition, ErrorCode.none, low_watermark(partition), partition, offset)
