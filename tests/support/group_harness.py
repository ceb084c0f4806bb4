"""The group coordinator of a simulated cluster without requests: operations on a shard, their records, their answers.

`__consumer_offsets` has one partition unless told otherwise, so every group is in the same shard. Its replicas are on
all brokers, broker 1 leads; with one broker everything is committed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from fakebroker.core.clock import Now
from fakebroker.core.coordinator.batch_builder import BatchBuilder
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.coordinator import GroupCoordinator
from fakebroker.core.groups.shard import GroupCoordinatorShard
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.group_records.decode import decode_record
from fakebroker.protocol.record_batch import decode_records
from fakebroker.testing.simulation import Simulation

T = TypeVar("T")
TOPIC = "__consumer_offsets"


class Outcome(Generic[T]):
    """The outcome of an operation. `answers` has at most one element, or the runtime is wrong."""

    def __init__(self) -> None:
        self.answers: list[T | KafkaError] = []

    @property
    def is_done(self) -> bool:
        assert len(self.answers) <= 1, self.answers
        return bool(self.answers)

    @property
    def value(self) -> T:
        """The response; an error is raised."""
        assert self.is_done, "it waits"
        [answer] = self.answers
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    @property
    def error(self) -> ErrorCode | None:
        """Return the error; None if there is none, or if the operation is pending."""
        return next((answer.code for answer in self.answers if isinstance(answer, KafkaError)), None)


class GroupHarness:
    """`harness.write(lambda shard: ...)` runs an operation at the broker that leads the partition of `group_id`."""

    def __init__(
        self,
        brokers: int = 1,
        followers: str = "instant",
        config: dict[str, str] | None = None,
        partitions: int = 1,
        seed: int = 0,
        check_every: int = 1,
    ) -> None:
        self.simulation = Simulation(
            brokers=brokers, followers=followers, config=config, seed=seed, check_every=check_every
        )
        self.simulation.topic(TOPIC, partitions, brokers)
        self.simulation.settle()

    # What there is.

    @property
    def now(self) -> Now:
        return self.simulation.now

    def partition(self, group_id: str = "g") -> Partition:
        metadata = self.simulation.cluster.metadata
        partition = metadata.find_partition(TOPIC, self._any_coordinator.partition_for(group_id))
        assert partition is not None
        return partition

    def coordinator(self, group_id: str = "g") -> GroupCoordinator:
        return self.simulation.cluster.brokers[self.partition(group_id).leader_id].groups

    def shard(self, group_id: str = "g") -> GroupCoordinatorShard:
        coordinator = self.coordinator(group_id)
        context = coordinator.runtime.context(coordinator.partition_for(group_id))
        assert context is not None
        assert context.shard is not None
        return context.shard

    def committed_offset(self, group_id: str = "g") -> int:
        coordinator = self.coordinator(group_id)
        context = coordinator.runtime.context(coordinator.partition_for(group_id))
        assert context is not None
        return context.last_committed_offset

    def records(self, group_id: str = "g") -> list[tuple[Any, Any]]:
        """Return keys and values of all records in the log, committed or not."""
        log = self.partition(group_id).leader_log
        decoded_records: list[tuple[Any, Any]] = []
        for batch in log.batches:
            for record in decode_records(batch.records):
                decoded = decode_record(record.key, record.value)
                assert decoded is not None
                decoded_records.append(decoded)
        return decoded_records

    @property
    def _any_coordinator(self) -> GroupCoordinator:
        return next(iter(self.simulation.cluster.brokers.values())).groups

    # What is done.

    def write(
        self, operation: Callable[[GroupCoordinatorShard], CoordinatorResult[T]], group_id: str = "g"
    ) -> Outcome[T]:
        outcome: Outcome[T] = Outcome()
        self.simulation.cluster.housekeeping.changed(self.now.mono_ms)  # as a request would
        self.coordinator(group_id).write("test", group_id, operation, outcome.answers.append)
        self.simulation.settle()
        return outcome

    def read(self, operation: Callable[[GroupCoordinatorShard, int], T], group_id: str = "g") -> Outcome[T]:
        outcome: Outcome[T] = Outcome()
        self.coordinator(group_id).read("test", group_id, operation, outcome.answers.append)
        self.simulation.settle()
        return outcome

    def advance(self, ms: int) -> None:
        """Let time pass: timers of the coordinator run, each at its own time."""
        self.simulation.advance(ms)

    def hold(self) -> None:
        """Stop all commits from now on (needs followers)."""
        self.simulation.followers("frozen", TOPIC)

    def commit(self) -> None:
        """Commit the pending writes and the later ones."""
        self.simulation.followers(None, TOPIC)

    def fail_next_append(self, code: ErrorCode, group_id: str = "g") -> None:
        """Let the log refuse the next batch only."""
        writer = self.coordinator(group_id).runtime.writer
        append = writer.append

        def refuse(index: int, records: BatchBuilder, now: Now) -> int:
            writer.append = append  # type: ignore[method-assign]
            raise KafkaError(code, "refused by the test")

        writer.append = refuse  # type: ignore[method-assign]

    def move(self, broker_id: int, group_id: str = "g") -> None:
        """Move the group coordinator to another broker."""
        self.simulation.move_leader(broker_id, TOPIC, self.partition(group_id).topic_partition.partition)
