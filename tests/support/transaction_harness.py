"""Transaction coordinators of a simulated cluster without requests: one for each broker. Transaction markers are passed
directly.

`__transaction_state` has one partition, and its leader is the coordinator of every id, broker 1 at first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from fakebroker.core.clock import Now
from fakebroker.core.log.transactions.verification import UNCHECKED
from fakebroker.core.replication.delayed_produce import ProducePartitionStatus
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.transactions.coordinator import TransactionCoordinator
from fakebroker.core.transactions.ending import ProducerIdAndEpoch
from fakebroker.core.transactions.marker_sender import MarkerSender, TxnMarkerEntry
from fakebroker.core.transactions.markers import TxnMarker, write_markers
from fakebroker.core.transactions.state_manager import TransactionStateManager
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import Slices, finish
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.testing.simulation import Simulation
from support.requests import batch

TOPIC = "__transaction_state"
TRANSACTIONAL = 0x10


class _Channel:
    """A channel that writes markers at once where the leader's broker runs; failed ones wait for `retry`."""

    def __init__(self, harness: TransactionHarness) -> None:
        self._harness = harness

    def leader_of(self, partition: TopicPartition) -> int | None:
        metadata = self._harness.simulation.cluster.metadata.find_partition(*partition)
        return None if metadata is None or metadata.leader_id == NO_LEADER else metadata.leader_id

    def send(
        self, broker_id: int, entry: TxnMarkerEntry, answered: Callable[[Mapping[TopicPartition, ErrorCode]], None]
    ) -> bool:
        broker = self._harness.simulation.cluster.brokers.get(broker_id)
        if broker is None or broker_id in self._harness.deaf:
            return False
        txn_marker = TxnMarker(entry.producer_id, entry.producer_epoch, entry.marker, entry.transaction_version)
        markers = {self._harness.partition(partition): txn_marker for partition in entry.partitions}

        def written(status: list[ProducePartitionStatus]) -> None:
            answered(
                {
                    marker_status.topic_partition: ErrorCode(marker_status.response.error_code)
                    for marker_status in status
                }
            )

        write_markers(broker.replicas, 30_000, markers, written, self._harness.now)
        return True

    def in_slices(self, where: str, slices: Slices[None]) -> None:
        finish(slices)

    def again_later(self, action: Callable[[], None]) -> None:
        self._harness.later.append(action)


class TransactionHarness:
    """A harness for one `version` of transactions; `deaf` brokers get no markers."""

    def __init__(
        self, brokers: int = 1, version: int = 2, followers: str = "instant", config: dict[str, str] | None = None
    ) -> None:
        self.simulation = Simulation(brokers=brokers, followers=followers, config=config)
        self.simulation.topic(TOPIC, 1, brokers)
        self.simulation.topic("t", 2, brokers)
        self.version = version
        self.deaf: set[int] = set()
        self.later: list[Callable[[], None]] = []
        self._ids = count(100)
        self._coordinators: dict[int, TransactionCoordinator] = {}
        self.elect()

    @property
    def now(self) -> Now:
        return self.simulation.now

    def partition(self, topic_partition: TopicPartition) -> Partition:
        metadata = self.simulation.cluster.metadata.find_partition(*topic_partition)
        assert metadata is not None
        return metadata

    @property
    def state_partition(self) -> Partition:
        return self.partition(TopicPartition(TOPIC, 0))

    @property
    def coordinator(self) -> TransactionCoordinator:
        return self._coordinators[self.state_partition.leader_id]

    def elect(self) -> None:
        """Make the coordinator of each leader active."""
        partition = self.state_partition
        for broker_id, coordinator in self._coordinators.items():
            if broker_id != partition.leader_id:
                coordinator.states.unload(0)
        if partition.leader_id == NO_LEADER:
            return
        coordinator = self._coordinators.get(partition.leader_id) or self._new(partition.leader_id)
        self._coordinators[partition.leader_id] = coordinator
        finish(coordinator.go_on_with(finish(coordinator.states.load(0, partition.leader_epoch))))

    def _new(self, broker_id: int) -> TransactionCoordinator:
        states = TransactionStateManager(
            self.simulation.cluster.brokers[broker_id].replicas,
            lambda index: self.state_partition,
            lambda: 1,
            lambda: 1 if self.version > 0 else 0,
            lambda: self.now,
        )
        return TransactionCoordinator(
            states,
            MarkerSender(states, _Channel(self)),
            lambda: next(self._ids),
            lambda: self.version,
            lambda: 900_000,
            lambda: self.now,
        )

    def retry(self) -> None:
        """Run the retries that are due in a moment."""
        later, self.later = self.later, []
        for action in later:
            action()

    # What producers do. What is answered later has nothing in it yet.

    def init(
        self, expected: ProducerIdAndEpoch | None = None, timeout_ms: int = 60_000
    ) -> list[tuple[int, ProducerIdAndEpoch]]:
        answers: list[tuple[int, ProducerIdAndEpoch]] = []
        self.coordinator.init_producer_id(
            "tx", timeout_ms, expected, lambda error, given: answers.append((int(error), given))
        )
        return answers

    def add(self, producer: ProducerIdAndEpoch, *partitions: TopicPartition) -> list[int]:
        answers: list[int] = []
        self.coordinator.add_partitions(
            "tx", producer, frozenset(partitions), self.version, lambda error: answers.append(int(error))
        )
        return answers

    def write(self, producer: ProducerIdAndEpoch, partition: TopicPartition, sequence: int = 0) -> None:
        records = batch(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=sequence,
            attributes=TRANSACTIONAL,
        )
        self.partition(partition).append_records_to_leader(records, False, 1, self.now, UNCHECKED)

    def end(self, producer: ProducerIdAndEpoch, result: int) -> list[tuple[int, ProducerIdAndEpoch]]:
        answers: list[tuple[int, ProducerIdAndEpoch]] = []
        self.coordinator.end_transaction(
            "tx", producer, result, self.version, lambda error, given: answers.append((int(error), given))
        )
        return answers

    @property
    def state(self) -> str:
        entry = self.coordinator.states.find("tx")
        assert entry is not None
        return entry.transaction.now.state.value
