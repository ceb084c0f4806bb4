"""Produce and fetch requests on one broker, once they are decoded.

Theory   Append locally. Then respond now (acks 0 and 1, or nothing was appended), or park a DelayedProduce until the
         high watermark passes. Requests that an append may complete are only noted in the action queue and completed at
         the end of the request (KAFKA-8334): a completion never runs inside the append that caused it.
Units    timeouts are milliseconds.
Source   core/.../server/ReplicaManager.scala @ 4.0: appendRecords, appendToLocalLog, delayedProduceRequestRequired,
         maybeAddDelayedProduce, addCompletePurgatoryAction, fetchMessages, fetchOffset, lastOffsetForLeaderEpoch. Reads
         are in reads.py and offsets.py, parked requests in wakeups.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, final

from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import RecordValidationError
from fakebroker.core.journal.appends import tell_append
from fakebroker.core.log.records.record_checks import MAX_RECORD_ERRORS
from fakebroker.core.log.transactions.verification import NO_GUARD
from fakebroker.core.probe import Probe
from fakebroker.core.replication.append_in_slices import append_in_slices
from fakebroker.core.replication.append_info import WITHOUT_LOG_START, LeaderHwChange, LogAppendInfo
from fakebroker.core.replication.delayed_fetch import DelayedFetch, is_satisfied
from fakebroker.core.replication.delayed_produce import DelayedProduce, ProduceCallback, ProducePartitionStatus
from fakebroker.core.replication.delete_records import RecordDeletion
from fakebroker.core.replication.fetch import (
    FetchCallback,
    FetchParams,
    FetchPartition,
    OffsetQuery,
    TimestampAndOffset,
)
from fakebroker.core.replication.followers import FollowerSet
from fakebroker.core.replication.offsets import fetch_offset_for_timestamp, last_offset_for_leader_epoch
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.preferred_replica import is_rack_aware
from fakebroker.core.replication.reads import LogReader, hosted_partition_error
from fakebroker.core.replication.wakeups import Wakeups
from fakebroker.protocol import topic_name
from fakebroker.protocol.answers.fetch_response import PartitionFetchResponse
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.produce_reader import PartitionProduceData
from fakebroker.protocol.produce_response import PartitionProduceResponse
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

_PARTITIONS_OF_A_SLICE: Final = 64

_NONE: Final = ErrorCode.none
_UNKNOWN: Final = ErrorCode.unknown_topic_or_partition
_NOT_LEADER: Final = ErrorCode.not_leader_or_follower
_INCREASED: Final = LeaderHwChange.INCREASED


def is_valid_required_acks(required_acks: int) -> bool:
    return -1 <= required_acks <= 1


@mypyc_attr(free_list_len=1)
@final
class _Action:
    """An entry of the action queue: the effect of an append on its partition, which may complete parked requests."""

    __slots__ = ("leader_hw_change", "partition")

    def __init__(self, partition: Partition, leader_hw_change: LeaderHwChange) -> None:
        self.partition = partition
        self.leader_hw_change = leader_hw_change


@final
class ReplicaManager:
    """The replicas on one broker, and the requests parked for them. The caller has found the partition by its name;
    whether this broker has it, and leads it, is checked here."""

    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        start_ms: int,
        followers: FollowerSet,
        wakeups: Wakeups,
        probe: Probe,
    ) -> None:
        self.broker_id = broker_id
        waiters = wakeups.start_broker(broker_id, config, start_ms)
        self.produce_purgatory = waiters.produce
        self.fetch_purgatory = waiters.fetch
        self.deletion = RecordDeletion(broker_id, waiters.delete_records, followers, probe)
        self._delete_records_purgatory = waiters.delete_records
        self.produce_expirations: Counter[TopicPartition] = Counter()
        self._on_expired = self._produce_expired  # one bound method for all parked operations
        self.fetch_expirations: Counter[str] = Counter()
        quotas = followers.quotas
        quotas.start_broker(broker_id)
        self.reader = LogReader(broker_id, wakeups, quotas, is_rack_aware(config))
        self._config = config
        self._followers = followers
        self._wakeups = wakeups
        self.probe = probe
        self._action_queue: list[_Action] = []

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries: dict[Partition, PartitionProduceData],
        callback: ProduceCallback,
        now: Now,
        guards: Mapping[Partition, int] | None = None,
    ) -> None:
        """Append each entry to its leader's log. Call back with all results, now or when acks=-1 is satisfied or its
        timeout is over."""
        status: list[ProducePartitionStatus] = []
        if not is_valid_required_acks(required_acks):
            for partition in entries:
                status.append(_failed(partition.topic_partition, ErrorCode.invalid_required_acks))
            callback(status)
            return
        for partition, data in entries.items():
            entry = self.refused(partition, internal_topics_allowed)
            if entry is None:
                records = data.records
                assert records is not None  # null records were refused before
                try:
                    guard = guards.get(partition, NO_GUARD) if guards else NO_GUARD
                    info = partition.append_records_to_leader(records, data.is_plain, required_acks, now, guard)
                    entry = self.appended(partition, info)
                except KafkaError as error:
                    entry = self.failed_to_append(partition, records, error)
            status.append(entry)
        self.answer_or_park(timeout_ms, required_acks, status, callback, now)

    def append_records_to_leader(
        self, partition: Partition, records: bytes, is_plain: bool, required_acks: int, now: Now
    ) -> LogAppendInfo:
        """Append one batch of a coordinator, and complete at once the requests that it satisfies. Raise KafkaError."""
        info = partition.append_records_to_leader(records, is_plain, required_acks, now)
        self.woken_by(partition, info, now)
        return info

    def woken_by(self, partition: Partition, info: LogAppendInfo, now: Now) -> None:
        """Complete at once the requests that an append of a coordinator satisfies."""
        self._wakeups.after_append(partition, info.leader_hw_change is _INCREASED)
        self._followers.on_leader_append(partition, now)

    def append_records_in_slices(
        self,
        timeout_ms: int,
        required_acks: int,
        internal_topics_allowed: bool,
        entries: dict[Partition, PartitionProduceData],
        callback: ProduceCallback,
        clock: Callable[[], Now],
        guards: Mapping[Partition, int] | None = None,
    ) -> Slices[None]:
        """Do the work of `append_records` where it may take long. Each entry is appended in one step after its
        validation. Between two slices other appends may run, topics may be deleted, leaders may change. `clock` returns
        the time of the slice."""
        status: list[ProducePartitionStatus] = []
        errors_left = MAX_RECORD_ERRORS
        is_valid = is_valid_required_acks(required_acks)
        for partition, data in entries.items():
            entry = self.refused(partition, internal_topics_allowed)
            if not is_valid:
                entry = _failed(partition.topic_partition, ErrorCode.invalid_required_acks)
            if entry is None:
                records = data.records
                assert records is not None
                guard = guards.get(partition, NO_GUARD) if guards else NO_GUARD
                try:
                    info = yield from append_in_slices(
                        partition, self.broker_id, records, required_acks, errors_left, clock, guard
                    )
                    entry = self.appended(partition, info)
                except KafkaError as error:
                    if isinstance(error, RecordValidationError):
                        errors_left -= len(error.record_errors)
                    entry = self.refused(partition, internal_topics_allowed)
                    if entry is None:
                        entry = self.failed_to_append(partition, records, error)
            status.append(entry)
            if len(status) % _PARTITIONS_OF_A_SLICE == 0:
                yield
        self.answer_or_park(timeout_ms, required_acks if is_valid else 0, status, callback, clock())

    def answer_or_park(
        self,
        timeout_ms: int,
        required_acks: int,
        status: list[ProducePartitionStatus],
        callback: ProduceCallback,
        now: Now,
    ) -> None:
        if required_acks == -1:  # delayedProduceRequestRequired
            for entry in status:
                if entry.partition is not None:
                    break
            else:
                callback(status)
                return
            operation = DelayedProduce(self.broker_id, timeout_ms, status, callback, self._on_expired, self.probe)
            keys = [entry.topic_partition for entry in status]
            if not self.produce_purgatory.try_complete_else_watch(operation, keys, now.mono_ms):
                operation.tell_parked("Produce")
        else:
            callback(status)

    def refused(self, partition: Partition, internal_topics_allowed: bool) -> ProducePartitionStatus | None:
        """Return the error for a partition that cannot be appended to, or None."""
        if not internal_topics_allowed and topic_name.is_internal(partition.topic_partition.topic):
            return _failed(partition.topic_partition, ErrorCode.invalid_topic_exception)
        if partition.is_deleted:
            return _failed(partition.topic_partition, _UNKNOWN if partition.truth is None else _NOT_LEADER)
        if partition.leader_id != self.broker_id:
            return _failed(partition.topic_partition, _NOT_LEADER)
        return None

    def failed_to_append(self, partition: Partition, records: bytes, error: KafkaError) -> ProducePartitionStatus:
        tp = partition.topic_partition
        if self.probe.listeners:
            leader = partition.leader_id, partition.leader_epoch
            tell_append(self.probe, tp, leader, records, error_code=error.code)
        log_start = -1 if error.code in WITHOUT_LOG_START else partition.leader_log.log_start_offset
        failed = PartitionProduceResponse(tp.partition, error.code, -1, -1, log_start)
        if isinstance(error, RecordValidationError):
            failed.record_errors, failed.error_message = error.record_errors, error.message
        return ProducePartitionStatus(tp, None, -1, failed)

    def appended(self, partition: Partition, info: LogAppendInfo) -> ProducePartitionStatus:
        tp = partition.topic_partition
        self._action_queue.append(_Action(partition, info.leader_hw_change))
        response = PartitionProduceResponse(
            tp.partition, _NONE, info.first_offset, info.log_append_time_ms, info.log_start_offset
        )
        return ProducePartitionStatus(tp, partition, info.last_offset + 1, response)

    def try_complete_actions(self, now: Now) -> None:
        """End a request: expire operations without a timeout, complete those that its appends satisfy, and let the
        followers fetch. If one action fails the others stay queued. A completed operation may append and call this
        again, and empty the queue (DelayedActionQueue.tryCompleteActions)."""
        self.produce_purgatory.expire_at_once()
        self._delete_records_purgatory.expire_at_once()
        queue = self._action_queue
        for _ in range(len(queue)):
            if not queue:
                return
            action = queue.pop(0)
            self._wakeups.after_append(action.partition, action.leader_hw_change is _INCREASED)
            self._followers.on_leader_append(action.partition, now)

    @property
    def has_actions(self) -> bool:
        return bool(self._action_queue)

    def fetch_messages(
        self, params: FetchParams, partitions: Sequence[FetchPartition], callback: FetchCallback, now: Now
    ) -> None:
        """Read what the reader may see, or park the fetch for up to `max_wait_ms` until there are `min_bytes`."""
        self._limit(params)
        self._answer_or_wait(params, partitions, self.reader.read_from_log(params, partitions, now), callback, now)

    def fetch_messages_in_slices(
        self, params: FetchParams, partitions: Sequence[FetchPartition], callback: FetchCallback, now: Now
    ) -> Slices[None]:
        """Do the work of `fetch_messages` for very many partitions."""
        self._limit(params)
        results = yield from self.reader.read_in_slices(params, partitions, now)
        self._answer_or_wait(params, partitions, results, callback, now)

    def _limit(self, params: FetchParams) -> None:
        params.max_bytes = min(params.max_bytes, self._config.fetch_max_bytes)
        params.min_bytes = min(params.min_bytes, params.max_bytes)

    def _answer_or_wait(
        self,
        params: FetchParams,
        partitions: Sequence[FetchPartition],
        results: list[PartitionFetchResponse],
        callback: FetchCallback,
        now: Now,
    ) -> None:
        if params.max_wait_ms <= 0 or not partitions or is_satisfied(results, params.min_bytes):
            callback(results)
            return
        operation = DelayedFetch(params, partitions, self.reader, callback, self.fetch_expirations, self.probe)
        keys = [fetch.partition.topic_partition for fetch in partitions]
        if not self.fetch_purgatory.try_complete_else_watch(operation, keys, now.mono_ms):
            operation.tell_parked("Fetch")

    def fetch_offset(self, query: OffsetQuery) -> Slices[TimestampAndOffset]:
        """Return the result of an offset query. Raise KafkaError."""
        return fetch_offset_for_timestamp(self.broker_id, query)

    def last_offset_for_leader_epoch(
        self, partition: Partition, current_leader_epoch: int, leader_epoch: int
    ) -> tuple[int, int]:
        """Return the end of an epoch. Raise KafkaError."""
        self._check_hosted(partition)
        return last_offset_for_leader_epoch(partition, self.broker_id, current_leader_epoch, leader_epoch)

    def _check_hosted(self, partition: Partition) -> None:
        code = hosted_partition_error(partition, self.broker_id)
        if code is not None:
            raise KafkaError(code, f"broker {self.broker_id} has no replica of {partition.topic_partition}")

    @property
    def num_delayed(self) -> int:
        """The number of parked requests."""
        purgatories = (self.produce_purgatory, self.fetch_purgatory, self._delete_records_purgatory)
        return sum(purgatory.num_delayed() for purgatory in purgatories)

    def _produce_expired(self, topic_partition: TopicPartition) -> None:
        self.produce_expirations[topic_partition] += 1


def _failed(tp: TopicPartition, code: ErrorCode) -> ProducePartitionStatus:
    return ProducePartitionStatus(tp, None, -1, PartitionProduceResponse(tp.partition, code, -1, -1, -1))
