"""What one broker does with produce and fetch requests, once they are decoded.

Theory   Append locally, then answer now (acks 0 and 1, or nothing was appended) or park a DelayedProduce until the
         high watermark passes. Whom an append may wake is only noted in the action queue and done at the end of the
         request (KAFKA-8334): a completion never runs inside the append that caused it.
Units    timeouts are milliseconds.
Source   core/.../server/ReplicaManager.scala @ 4.0: appendRecords, appendToLocalLog, delayedProduceRequestRequired,
         maybeAddDelayedProduce, addCompletePurgatoryAction, fetchMessages, readFromLog, fetchOffset,
         lastOffsetForLeaderEpoch, maybeShrinkIsr, completeDelayedOperationsWhenNotPartitionLeader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from fakebroker.apis.context import (
    FetchCallback,
    FetchParams,
    FetchPartition,
    FetchResult,
    OffsetQuery,
    ProduceCallback,
    TimestampAndOffset,
)
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import RecordValidationError
from fakebroker.core.purgatory.purgatory import DelayedOperationPurgatory
from fakebroker.core.replication.delayed_fetch import DelayedFetch, is_satisfied
from fakebroker.core.replication.delayed_produce import DelayedProduce, ProducePartitionStatus
from fakebroker.core.replication.partition import LeaderHwChange, Partition
from fakebroker.core.replication.reads import (
    fetch_offset_for_timestamp,
    fetch_records,
    last_offset_for_leader_epoch,
)
from fakebroker.core.replication.replica import Replica
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_response import PartitionProduceResponse
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

if TYPE_CHECKING:
    from fakebroker.core.controller.controller import Controller
    from fakebroker.core.replication.followers import FollowerSet

INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

# Errors for which Kafka's answer does not tell the log start offset (the "known exceptions" of appendToLocalLog).
_WITHOUT_LOG_START: Final = frozenset(
    {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
        ErrorCode.message_too_large,
        ErrorCode.record_list_too_large,
        ErrorCode.corrupt_message,
        ErrorCode.kafka_storage_error,
        ErrorCode.unknown_topic_id,
        ErrorCode.invalid_topic_exception,
    }
)


_NONE: Final = ErrorCode.none
_INCREASED: Final = LeaderHwChange.INCREASED
_SAME: Final = LeaderHwChange.SAME


def is_valid_required_acks(required_acks: int) -> bool:
    return -1 <= required_acks <= 1


@mypyc_attr(free_list_len=1)
@final
class _Action:
    """Of the action queue: what an append did to its partition, and so whom it may wake."""

    __slots__ = ("leader_hw_change", "partition")

    def __init__(self, partition: Partition, leader_hw_change: LeaderHwChange) -> None:
        self.partition = partition
        self.leader_hw_change = leader_hw_change


@mypyc_attr(allow_interpreted_subclasses=True)
class ReplicaManager:
    """The replicas that live on one broker, and the requests that wait for them."""

    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        start_ms: int,
        controller: Controller,
        followers: FollowerSet,
    ) -> None:
        """The controller knows the partitions. It is told of watermarks that move, and the followers of appends, in
        partitions that this broker leads."""
        self.broker_id = broker_id
        self.produce_purgatory = DelayedOperationPurgatory[DelayedProduce](
            "Produce", start_ms, config.producer_purgatory_purge_interval_requests
        )
        self.fetch_purgatory = DelayedOperationPurgatory[DelayedFetch](
            "Fetch", start_ms, config.fetch_purgatory_purge_interval_requests
        )
        self.produce_expirations: Counter[TopicPartition] = Counter()
        self._on_expired = self._produce_expired  # one for all operations that wait
        self.fetch_expirations: Counter[str] = Counter()
        self._fetch_max_bytes = config.fetch_max_bytes
        self._controller = controller
        self._followers = followers
        self._action_queue: list[_Action] = []

    def get_partition_or_error(self, topic_partition: TopicPartition) -> Partition | ErrorCode:
        """The partition if this broker leads it; else what a client is told."""
        partition = self._controller.find_partition(topic_partition.topic, topic_partition.partition)
        if partition is None:
            return ErrorCode.unknown_topic_or_partition
        return partition if partition.leader_id == self.broker_id else ErrorCode.not_leader_or_follower

    def hosted_partition_or_error(self, topic_partition: TopicPartition) -> Partition | ErrorCode:
        """The partition if this broker has a replica of it, whoever leads; else what a client is told. This is Kafka's
        getPartitionOrError; the one above looks at the leader as well, as all who append do next."""
        partition = self._controller.find_partition(topic_partition.topic, topic_partition.partition)
        if partition is None:
            return ErrorCode.unknown_topic_or_partition
        return partition if self.broker_id in partition.replicas else ErrorCode.not_leader_or_follower

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries: dict[TopicPartition, bytes],
        callback: ProduceCallback,
        now: Now,
    ) -> None:
        """Append each entry to its leader's log and call back with all answers, now or when acks=-1 is satisfied or
        its timeout is over."""
        if not is_valid_required_acks(required_acks):
            callback({tp: _failed(tp, ErrorCode.invalid_required_acks) for tp in entries})
            return
        status: list[ProducePartitionStatus] = []
        has_appended = False
        for tp, records in entries.items():
            entry = self._append_to_local_log(tp, records, required_acks, internal_topics_allowed, now)
            has_appended |= entry.partition is not None
            status.append(entry)
        if required_acks == -1 and has_appended:  # delayedProduceRequestRequired
            operation = DelayedProduce(self.broker_id, timeout_ms, status, callback, self._on_expired)
            self.produce_purgatory.try_complete_else_watch(operation, tuple(entries), now.mono_ms)
        else:
            callback({entry.topic_partition: entry.response for entry in status})

    def _append_to_local_log(
        self, tp: TopicPartition, records: bytes, required_acks: int, internal_topics_allowed: bool, now: Now
    ) -> ProducePartitionStatus:
        if not internal_topics_allowed and tp.topic in INTERNAL_TOPICS:
            return ProducePartitionStatus(tp, None, -1, _failed(tp, ErrorCode.invalid_topic_exception))
        partition = self.get_partition_or_error(tp)
        if not isinstance(partition, Partition):
            return ProducePartitionStatus(tp, None, -1, _failed(tp, partition))
        try:
            info = partition.append_records_to_leader(records, required_acks, now)
        except KafkaError as error:
            log_start = -1 if error.code in _WITHOUT_LOG_START else partition.leader_log.log_start_offset
            failed = _failed(tp, error.code, log_start)
            if isinstance(error, RecordValidationError):
                failed.record_errors, failed.error_message = error.record_errors, error.message
            return ProducePartitionStatus(tp, None, -1, failed)
        self._action_queue.append(_Action(partition, info.leader_hw_change))
        response = PartitionProduceResponse(
            tp.partition, _NONE, info.first_offset, info.log_append_time_ms, info.log_start_offset
        )
        return ProducePartitionStatus(tp, partition, info.last_offset + 1, response)

    def try_complete_actions(self, now: Now) -> None:
        """The end of a request: expire what had no time, wake whom its appends may have satisfied, and let the
        followers fetch. If one action fails the others stay queued."""
        self.produce_purgatory.expire_at_once()
        queue = self._action_queue
        for _ in range(len(queue)):
            action = queue.pop(0)
            partition = action.partition
            if action.leader_hw_change is _INCREASED:
                self.produce_purgatory.check_and_complete(partition.topic_partition)
                self.fetch_purgatory.check_and_complete(partition.topic_partition)
                self._controller.complete_fetches_of_followers(partition)
            elif action.leader_hw_change is _SAME:
                self.fetch_purgatory.check_and_complete(partition.topic_partition)  # followers over the wire
            self._followers.on_leader_append(partition, now)

    @property
    def has_actions(self) -> bool:
        return bool(self._action_queue)

    def try_complete_delayed_requests(self, partition: Partition) -> None:
        """The watermark moved (not by an append): re-check who waits for it, here and at the followers."""
        self.fetch_purgatory.check_and_complete(partition.topic_partition)
        self.produce_purgatory.check_and_complete(partition.topic_partition)
        self._controller.complete_fetches_of_followers(partition)

    def complete_delayed_operations_when_not_partition_leader(self, topic_partition: TopicPartition) -> None:
        """This broker stopped leading the partition, or having it: who waits here is told so."""
        self.produce_purgatory.check_and_complete(topic_partition)
        self.fetch_purgatory.check_and_complete(topic_partition)

    def follower_fetched(
        self, partition: Partition, replica: Replica, fetch_offset: int, caught_up_time_ms: int, now: Now
    ) -> None:
        """A follower has everything below `fetch_offset`."""
        if partition.update_follower_fetch_state(replica, fetch_offset, caught_up_time_ms, now.mono_ms):
            self.try_complete_delayed_requests(partition)

    def maybe_shrink_isr(self, partition: Partition, now: Now) -> None:
        """Drop lagging followers from the ISR; the watermark may pass them then."""
        if partition.maybe_shrink_isr(now.mono_ms):
            self.try_complete_delayed_requests(partition)

    def fetch_messages(
        self, params: FetchParams, partitions: Sequence[FetchPartition], callback: FetchCallback, now: Now
    ) -> None:
        """Read what the reader may see; wait up to `max_wait_ms` for `min_bytes`."""
        max_bytes = min(params.max_bytes, self._fetch_max_bytes)
        params = params._replace(max_bytes=max_bytes, min_bytes=min(params.min_bytes, max_bytes))
        results = self.read_from_log(params, partitions, update_fetch_state_at=now)
        if params.max_wait_ms <= 0 or not partitions or is_satisfied(results, params.min_bytes):
            callback(results)
            return
        operation = DelayedFetch(params, partitions, self, callback, self.fetch_expirations)
        keys = tuple(partition.topic_partition for partition in partitions)
        self.fetch_purgatory.try_complete_else_watch(operation, keys, now.mono_ms)

    def read_from_log(
        self, params: FetchParams, partitions: Sequence[FetchPartition], update_fetch_state_at: Now | None = None
    ) -> list[FetchResult]:
        """What the reader can read now, partition by partition, at most `max_bytes` in all but at least one batch."""
        results: list[FetchResult] = []
        left = params.max_bytes
        for fetch in partitions:
            wanted = min(fetch.max_bytes, left)
            result = self._read(params, fetch, wanted, update_fetch_state_at)
            if len(result.records) > wanted and any(earlier.records for earlier in results):
                result = result._replace(records=b"")  # only the first non-empty partition may exceed the limit
            left = max(left - len(result.records), 0)
            results.append(result)
        return results

    def _read(
        self, params: FetchParams, fetch: FetchPartition, max_bytes: int, update_fetch_state_at: Now | None
    ) -> FetchResult:
        partition = self.hosted_partition_or_error(fetch.topic_partition)
        if not isinstance(partition, Partition):
            return FetchResult(fetch.topic_partition, partition)
        try:
            info = fetch_records(partition, self.broker_id, params, fetch, max_bytes, update_fetch_state_at)
        except KafkaError as error:
            return FetchResult(fetch.topic_partition, error.code)
        if info.moved_high_watermark:
            self.try_complete_delayed_requests(partition)
        return info.result

    def fetch_offset(self, query: OffsetQuery) -> TimestampAndOffset:
        """The answer to a question for an offset; raises KafkaError."""
        return fetch_offset_for_timestamp(self._hosted_partition(query.topic_partition), self.broker_id, query)

    def last_offset_for_leader_epoch(
        self, topic_partition: TopicPartition, current_leader_epoch: int, leader_epoch: int
    ) -> tuple[int, int]:
        """Where an epoch ends; raises KafkaError."""
        partition = self._hosted_partition(topic_partition)
        return last_offset_for_leader_epoch(partition, self.broker_id, current_leader_epoch, leader_epoch)

    def _hosted_partition(self, topic_partition: TopicPartition) -> Partition:
        partition = self.hosted_partition_or_error(topic_partition)
        if not isinstance(partition, Partition):
            raise KafkaError(partition, f"broker {self.broker_id} has no replica of {topic_partition}")
        return partition

    @property
    def num_delayed(self) -> int:
        """How many requests wait."""
        return self.produce_purgatory.num_delayed() + self.fetch_purgatory.num_delayed()

    def advance_clock(self, now_ms: int) -> int:
        """Expire what is due in the purgatories. Returns how many operations that were."""
        return self.produce_purgatory.advance_clock(now_ms) + self.fetch_purgatory.advance_clock(now_ms)

    def _produce_expired(self, topic_partition: TopicPartition) -> None:
        self.produce_expirations[topic_partition] += 1


def _failed(tp: TopicPartition, code: ErrorCode, log_start_offset: int = -1) -> PartitionProduceResponse:
    return PartitionProduceResponse(tp.partition, code, -1, -1, log_start_offset)
