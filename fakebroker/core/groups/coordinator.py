"""The group coordinator of one broker: it finds the partition of a group, and runs operations on it.

Theory   The hash of a group's id selects a partition of __consumer_offsets, and the leader of that partition
         coordinates the group. Each request is a write or a read operation on the partition. Errors of the log are
         mapped to errors of coordinators for the response.
Source   group-coordinator/.../GroupCoordinatorService.java; coordinator-common/.../CoordinatorOperationExceptionHelper
         .java handleOperationException @ 4.4 (read out of the released jars).
Differs  The number of partitions is that of the topic, once there is one; Kafka reads it at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeVar, final

from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.events import Report
from fakebroker.core.coordinator.executor import CoordinatorExecutor
from fakebroker.core.coordinator.partition_writer import PartitionWriter
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.runtime import CoordinatorRuntime
from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.coordinator.timer import CoordinatorTimer
from fakebroker.core.coordinator.write_event import WriteEvent
from fakebroker.core.groups.services import GroupEnvironment, GroupServices
from fakebroker.core.groups.shard import GroupCoordinatorShard
from fakebroker.core.purgatory.deadlines import TIMEOUTS, ClientDeadlines, Deadlines, TimerDeadlines
from fakebroker.core.replication.replica_manager import ReplicaManager
from fakebroker.core.transactions.markers import Producer, TxnMarker
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.decode import decode_record
from fakebroker.protocol.java_hash import java_hash
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME
from fakebroker.protocol.topic_partition import TopicPartition

T = TypeVar("T")

_TIMERS: Final = 2  # rank among a broker's deadlines, after the purgatories

# The errors in responses for errors of the log.
_OPERATION_ERRORS: Final = {
    ErrorCode.network_exception: ErrorCode.coordinator_load_in_progress,
    ErrorCode.unknown_topic_or_partition: ErrorCode.coordinator_not_available,
    ErrorCode.not_enough_replicas: ErrorCode.coordinator_not_available,
    ErrorCode.request_timed_out: ErrorCode.coordinator_not_available,
    ErrorCode.not_leader_or_follower: ErrorCode.not_coordinator,
    ErrorCode.kafka_storage_error: ErrorCode.not_coordinator,
    ErrorCode.message_too_large: ErrorCode.unknown_server_error,
    ErrorCode.record_list_too_large: ErrorCode.unknown_server_error,
    ErrorCode.invalid_fetch_size: ErrorCode.unknown_server_error,
}


def operation_error(error: KafkaError) -> KafkaError:
    """Return the error for the response; a mapped error has no text."""
    code = _OPERATION_ERRORS.get(error.code)
    return error if code is None else KafkaError(code, "")


@final
class GroupCoordinator:
    """The group coordinator of one broker, from its start to its stop. The `then` of each operation is called once, now
    or later, with the result or with the error for the response."""

    def __init__(
        self,
        environment: GroupEnvironment,
        replicas: ReplicaManager,
        deadlines: Deadlines,
        report: Report,
    ) -> None:
        self.environment = environment
        self._replicas = replicas
        self._deadlines = deadlines
        timers, client_deadlines = TimerDeadlines(environment.clock.now.mono_ms), ClientDeadlines(environment.clock)
        self._timers = (timers, client_deadlines)
        self._add_timers()
        metadata, configs = environment.metadata, environment.configs
        self.runtime: CoordinatorRuntime[GroupCoordinatorShard] = CoordinatorRuntime(
            self._new_shard,
            PartitionWriter(
                replicas,
                lambda index: metadata.find_partition(GROUP_METADATA_TOPIC_NAME, index),
                lambda: configs.current.offsets_topic_compression_codec,
            ),
            decode_record,
            timers,
            client_deadlines,
            self._watch,
            lambda: environment.clock.now,
            lambda: configs.current.offsets_commit_timeout_ms,
            lambda: configs.current.group_coordinator_append_linger_ms,
            report,
        )

    @property
    def num_partitions(self) -> int:
        topic = self.environment.metadata.topic(GROUP_METADATA_TOPIC_NAME)
        return self.environment.configs.current.offsets_topic_num_partitions if topic is None else len(topic.partitions)

    def partition_for(self, group_id: str) -> int:
        """Return the partition of __consumer_offsets."""
        return abs(java_hash(group_id)) % self.num_partitions

    # Operations.

    def write(
        self,
        name: str,
        group_id: str,
        operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T]],
        then: Callable[[T | KafkaError], None],
    ) -> None:
        """Run a write operation on a group."""
        self.runtime.schedule_write_operation(name, self.partition_for(group_id), operation, _mapped(then))

    def write_in_slices(
        self,
        name: str,
        group_id: str,
        operation: Callable[[GroupCoordinatorShard], Slices[CoordinatorResult[T]]],
        then: Callable[[T | KafkaError], None],
        producer: Producer | None = None,
    ) -> None:
        """Run a long write operation in slices. With a producer, its records belong to that producer's transaction."""
        index = self.partition_for(group_id)
        self.runtime.schedule_long_write_operation(name, index, operation, _mapped(then), producer)

    def complete_transaction(self, index: int, txn_marker: TxnMarker, then: Callable[[ErrorCode], None]) -> None:
        """Write a transaction marker to a partition of __consumer_offsets."""

        def written(response: KafkaError | None) -> None:
            code = ErrorCode.none if response is None else operation_error(response).code
            not_here = (
                ErrorCode.coordinator_not_available, ErrorCode.coordinator_load_in_progress, ErrorCode.not_coordinator,
            )  # fmt: skip
            then(ErrorCode.not_leader_or_follower if code in not_here else code)

        self.runtime.schedule_transaction_completion("complete-transaction", index, txn_marker, written)

    def read(
        self,
        name: str,
        group_id: str,
        operation: Callable[[GroupCoordinatorShard, int], T],
        then: Callable[[T | KafkaError], None],
    ) -> None:
        """Run a read operation on a group, as of the committed offset, which the operation gets."""
        self.runtime.schedule_read_operation(name, self.partition_for(group_id), operation, _mapped(then))

    def read_in_slices(
        self,
        name: str,
        group_id: str,
        operation: Callable[[GroupCoordinatorShard, int], Slices[T]],
        then: Callable[[T | KafkaError], None],
    ) -> None:
        """Run a long read operation in slices; otherwise like `read`."""
        self.runtime.schedule_long_read_operation(name, self.partition_for(group_id), operation, _mapped(then))

    def read_all(
        self,
        name: str,
        operation: Callable[[GroupCoordinatorShard, int], T],
        then: Callable[[list[T | KafkaError]], None],
    ) -> None:
        """Run a read operation on each partition that this broker coordinates."""
        self.runtime.schedule_read_all_operation(name, operation, then)

    def write_all(
        self,
        name: str,
        operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T]],
        then: Callable[[list[T | KafkaError]], None],
    ) -> None:
        self.runtime.schedule_write_all_operation(name, operation, then)

    def put_off(self, answer: Callable[[], None]) -> None:
        """Send one of many responses after other work has had its turn."""
        self.runtime.in_turns.put_off("one of many answers", answer)

    # Changes of the cluster.

    def on_election(self, index: int, leader_epoch: int) -> None:
        """Load a partition of __consumer_offsets that this broker leads now."""
        self.runtime.schedule_load_operation(index, leader_epoch)

    def on_resignation(self, index: int, leader_epoch: int | None) -> None:
        """Unload a partition that this broker does not lead, or no longer leads. The epoch is None if the topic was
        deleted."""
        self.runtime.schedule_unload_operation(index, leader_epoch)

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        self.runtime.on_topics_changed(changed, deleted)
        if deleted:
            self.write_all("on-topics-deleted", lambda shard: shard.offsets.on_topics_deleted(deleted), _ignored)

    def pause(self) -> None:
        """Stop the timers: the broker is paused."""
        self.environment.is_paused = True
        self._remove_timers()

    def resume(self) -> None:
        """Restart the timers: the broker resumes, and overdue timers fire next."""
        self.environment.is_paused = False
        self._add_timers()

    def close(self) -> None:
        """Stop, with the broker."""
        self.runtime.close()
        if not self.environment.is_paused:
            self._remove_timers()

    # Inside.

    def _add_timers(self) -> None:
        for source in self._timers:
            self._deadlines.add(source, (TIMEOUTS, self.environment.broker_id, _TIMERS))

    def _remove_timers(self) -> None:
        for source in self._timers:
            self._deadlines.remove(source)

    def _new_shard(
        self, index: int, registry: SnapshotRegistry, timer: CoordinatorTimer, executor: CoordinatorExecutor
    ) -> GroupCoordinatorShard:
        return GroupCoordinatorShard(GroupServices(self.environment, index, registry, timer, executor))

    def _watch(self, index: int, event: WriteEvent) -> None:
        self._replicas.produce_purgatory.try_complete_else_watch(
            event, [TopicPartition(GROUP_METADATA_TOPIC_NAME, index)], self.environment.clock.now.mono_ms
        )


def _ignored(responses: object) -> None:
    """Ignore a failed write: the offsets stay."""


def _mapped(then: Callable[[T | KafkaError], None]) -> Callable[[T | KafkaError], None]:
    def call(response: T | KafkaError) -> None:
        then(operation_error(response) if isinstance(response, KafkaError) else response)

    return call
