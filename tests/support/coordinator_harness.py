"""A runtime of coordinators for each broker of a simulated cluster, with the simplest of shards: texts by their names.

The partition is that of the topic `kv`; its replicas are on all brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from fakebroker.core.controller.metadata_publisher import MetadataPublisher
from fakebroker.core.controller.topics import Topic
from fakebroker.core.coordinator.batch_builder import BatchBuilder
from fakebroker.core.coordinator.context import CoordinatorContext
from fakebroker.core.coordinator.executor import CoordinatorExecutor
from fakebroker.core.coordinator.partition_writer import PartitionWriter
from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.coordinator.runtime import CoordinatorRuntime
from fakebroker.core.coordinator.shard import CoordinatorShard
from fakebroker.core.coordinator.timeline import LATEST, SnapshotRegistry, TimelineDict
from fakebroker.core.coordinator.timer import CoordinatorTimer
from fakebroker.core.coordinator.write_event import WriteEvent
from fakebroker.core.purgatory.deadlines import TIMEOUTS, ClientDeadlines, TimerDeadlines
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import InvalidRecordError, KafkaError
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.testing.simulation import Simulation

TIMEOUT_MS = 5_000
POISON = "poison"  # a name that cannot be loaded


class Name(NamedTuple):
    text: str

    def encode(self) -> bytes:
        return b"\0\1" + self.text.encode()


class Text(NamedTuple):
    text: str

    def encode(self) -> bytes:
        return b"\0\0" + self.text.encode()


def decode(key: bytes | None, value: bytes | None) -> tuple[Name, Text | None] | None:
    assert key is not None
    if key[:2] != b"\0\1":
        return None
    if key[2:].decode() == POISON:
        raise InvalidRecordError("poison")
    return Name(key[2:].decode()), None if value is None else Text(value[2:].decode())


class Texts(CoordinatorShard):
    """`loaded` and `unloaded` count."""

    def __init__(self, registry: SnapshotRegistry, timer: CoordinatorTimer, executor: CoordinatorExecutor) -> None:
        self.texts: TimelineDict[str, str] = TimelineDict(registry)
        self.timer = timer
        self.executor = executor
        self.offsets: list[int] = []
        self.loaded = self.unloaded = 0

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        assert isinstance(record.key, Name)
        self.offsets.append(offset)
        if record.value is None:
            self.texts.pop(record.key.text)
        else:
            assert isinstance(record.value, Text)
            if record.value.text == "bug":
                raise AssertionError("a bug in replay")
            self.texts[record.key.text] = record.value.text

    def replay_end_transaction_marker(self, producer_id: int, producer_epoch: int, is_commit: bool) -> Slices[None]:
        yield from ()

    def on_loaded(self) -> None:
        self.loaded += 1

    def on_unloaded(self) -> None:
        self.unloaded += 1

    def on_topics_changed(self, changed: Collection[str], deleted: Collection[Topic]) -> None:
        pass


class _Publisher(MetadataPublisher):
    def __init__(self, harness: CoordinatorHarness) -> None:
        self._harness = harness

    def leader_changed(self, partition: Partition) -> None:
        if partition.topic_partition.topic == "kv":
            for broker_id, runtime in self._harness.runtimes.items():
                if broker_id == partition.leader_id:
                    runtime.schedule_load_operation(0, partition.leader_epoch)
                else:
                    runtime.schedule_unload_operation(0, partition.leader_epoch)


class CoordinatorHarness:
    """`then` of each operation puts what it is given into a list: `answers(...)` are those lists."""

    def __init__(
        self, brokers: int = 3, followers: str = "instant", linger_ms: int = -1, codec: int = 0, **configs: object
    ) -> None:
        self.codec = codec
        self.simulation = Simulation(brokers=brokers, followers=followers)
        self.linger_ms = linger_ms
        self.bugs: list[Exception] = []
        self.runtimes: dict[int, CoordinatorRuntime[Texts]] = {}
        cluster = self.simulation.cluster
        self.deadlines = TimerDeadlines(cluster.now.mono_ms)
        self.client_deadlines = ClientDeadlines(cluster)
        cluster.deadlines.add(self.deadlines, (TIMEOUTS, 9, 0))
        cluster.deadlines.add(self.client_deadlines, (TIMEOUTS, 9, 0))
        for broker_id in cluster.brokers:
            self.runtimes[broker_id] = self._new_runtime(broker_id)
        self.simulation.topic("kv", 1, brokers, **configs)
        cluster.metadata.publisher = _Publisher(self)
        self.runtime.schedule_load_operation(0, self.partition.leader_epoch)

    def _new_runtime(self, broker_id: int) -> CoordinatorRuntime[Texts]:
        cluster = self.simulation.cluster
        replicas = cluster.brokers[broker_id].replicas

        def watch(index: int, event: WriteEvent) -> None:
            replicas.produce_purgatory.try_complete_else_watch(
                event, [TopicPartition("kv", index)], cluster.now.mono_ms
            )

        return CoordinatorRuntime(
            lambda index, registry, timer, executor: Texts(registry, timer, executor),
            PartitionWriter(replicas, lambda index: cluster.metadata.find_partition("kv", index), lambda: self.codec),
            decode,
            self.deadlines,
            self.client_deadlines,
            watch,
            lambda: cluster.now,
            lambda: TIMEOUT_MS,
            lambda: self.linger_ms,
            lambda where, error: self.bugs.append(error),
        )

    @property
    def partition(self) -> Partition:
        return self.simulation.partition("kv")

    @property
    def runtime(self) -> CoordinatorRuntime[Texts]:
        return self.runtimes[self.partition.leader_id]

    @property
    def context(self) -> CoordinatorContext[Texts]:
        context = self.runtime.context(0)
        assert context is not None
        return context

    @property
    def shard(self) -> Texts:
        shard = self.context.shard
        assert shard is not None
        return shard

    def write(self, broker_id: int | None = None, /, **texts: str | None) -> list[Any]:
        """Write these texts, or delete those that are None; the result has their names."""
        records = [CoordinatorRecord(Name(name), None if text is None else Text(text)) for name, text in texts.items()]
        return self.operate(lambda _: CoordinatorResult(records, list(texts)), broker_id)

    def operate(self, operation: Callable[[Texts], CoordinatorResult[Any]], broker_id: int | None = None) -> list[Any]:
        answers: list[Any] = []
        runtime = self.runtime if broker_id is None else self.runtimes[broker_id]
        runtime.schedule_write_operation("write", 0, operation, answers.append)
        self.simulation.settle()
        return answers

    def read(self, broker_id: int | None = None) -> Any:
        """Return the committed texts, or an error code."""
        [answer] = self.answers_of_read(broker_id)
        return answer.code if isinstance(answer, KafkaError) else answer

    def answers_of_read(self, broker_id: int | None = None) -> list[Any]:
        answers: list[Any] = []
        runtime = self.runtime if broker_id is None else self.runtimes[broker_id]
        runtime.schedule_read_operation(
            "read", 0, lambda shard, committed: dict(shard.texts.items(committed)), answers.append
        )
        return answers

    @property
    def latest(self) -> dict[str, str]:
        return dict(self.shard.texts.items(LATEST))

    def log_entries(self) -> list[tuple[int, str, str | None]]:
        """Return offset, name and text of all records of the leader."""
        entries = []
        for batch in self.partition.leader_log.batches:
            for number, record in enumerate(decode_records(batch.records)):
                assert record.key is not None
                text = None if record.value is None else record.value[2:].decode()
                entries.append((batch.base_offset + number, record.key[2:].decode(), text))
        return entries

    def refuse_append(self, code: ErrorCode | None) -> None:
        """Let the leader's log refuse appends from now on; None: accept them again."""
        writer = self.runtime.writer
        if code is None:
            vars(writer).pop("append", None)
            return

        def append(index: int, records: BatchBuilder, now: object) -> int:
            raise KafkaError(code, "refused by the test")

        writer.append = append  # type: ignore[method-assign]
