"""The memory limit of all logs: the log that is trimmed, how, and what is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.batches import keyed, sequenced
from support.messages import decode_response
from support.requests import FETCH, Produced, fetch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.log.batch import BATCH_COST, ENTRY_COST
from fakebroker.core.log.memory import LogMemory, PartitionMemory
from fakebroker.core.log.store import MemoryStore, Store, StoreFullError
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.record_batch import decode_records

NONE, STORAGE_ERROR = 0, 56
SIZE = len(keyed())
KIB = keyed(bytes(1024 - SIZE))  # a batch of about a kilobyte
KIB_COST = len(KIB) + BATCH_COST


def partition_of(simulation: Simulation, topic: str = "t") -> Partition:
    partition = simulation.cluster.metadata.find_partition(topic, 0)
    assert partition is not None
    return partition


def send(client: SimulatedClient, times: int = 1, topic: str = "t", records: bytes | None = None) -> list[int]:
    """Return the error codes of that many produce requests with acks=1."""
    before = len(client.answers)
    for _ in range(times):
        client.send(produce(topic, records=records or keyed(), acks=1))
    return [Produced(frame).partitions[0][0] for _, frame in client.answers[before:]]


def simulated(bound: int, full: str = "spill", brokers: int = 1, followers: str = "instant") -> Simulation:
    config = {"log.memory.bytes": str(bound), "log.memory.full": full}
    return Simulation(brokers=brokers, followers=followers, config=config)


def values(simulation: Simulation, offset: int = 0) -> list[bytes | None]:
    reader = simulation.connect()
    reader.send(fetch("t", offset=offset))
    records = decode_response(FETCH, 11, reader.answers[0][1])[1].responses[0].partitions[0].records
    found_values, at = [], 0
    while at < len(records):
        size = 12 + int.from_bytes(records[at + 8 : at + 12], "big")
        found_values += [record.value for record in decode_records(records[at : at + size])]
        at += size
    return found_values


# Spilled.


@pytest.mark.parametrize("brokers", [1, 3])
def test_nothing_is_lost_beyond_the_bound(brokers: int) -> None:
    bound = 16 * KIB_COST
    simulation = simulated(bound, brokers=brokers)
    simulation.topic(replicas=brokers)
    client = simulation.connect()
    memory = simulation.cluster.controller.log_memory
    for number in range(300):
        assert send(client, records=keyed(b"%0900d" % number)) == [NONE]
        assert memory.hot_bytes <= bound
    log = partition_of(simulation).leader_log
    assert (log.log_start_offset, log.log_end_offset) == (0, 300)
    assert log.contents.bytes_in_memory <= bound < log.size_in_bytes / 10
    assert values(simulation) == [b"%0900d" % number for number in range(300)]
    # The log of the process says once what happens.
    (warning,) = simulation.warnings
    assert f"log.memory.bytes={bound}" in warning
    assert "log.memory.full=spill" in warning
    simulation.cluster.check_invariants()


def test_what_is_not_committed_goes_out_of_memory_too() -> None:
    simulation = simulated(10 * KIB_COST, brokers=3, followers="frozen")
    simulation.topic(min_insync_replicas=3)
    client = simulation.connect()
    assert send(client, 40, records=KIB) == [NONE] * 40
    log = partition_of(simulation).leader_log
    assert (log.high_watermark, log.log_end_offset) == (0, 40)
    simulation.followers("instant")
    assert log.high_watermark == 40
    assert len(values(simulation)) == 40


def test_a_batch_that_is_larger_than_the_bound_is_there_alone() -> None:
    simulation = simulated(0)
    simulation.topic(replicas=1)
    assert send(simulation.connect(), 5, records=KIB) == [NONE] * 5
    log = partition_of(simulation).leader_log
    assert (log.contents.bytes_in_memory, log.size_in_bytes) == (len(KIB), 5 * len(KIB))
    assert len(values(simulation)) == 5


def test_a_deleted_topic_gives_all_back() -> None:
    simulation = simulated(4 * KIB_COST, brokers=3)
    simulation.topic()
    assert send(simulation.connect(), 20, records=KIB) == [NONE] * 20
    memory = simulation.cluster.controller.log_memory
    store = memory.store
    assert isinstance(store, MemoryStore)
    assert store.size > 0
    simulation.delete_topic("t")
    assert (memory.used_bytes, store.size) == (0, 0)
    memory.check_invariants()


def test_retention_frees_the_store() -> None:
    simulation = simulated(4 * KIB_COST)
    simulation.topic(replicas=1, retention_bytes=10 * len(KIB))
    store = simulation.cluster.controller.log_memory.store
    assert isinstance(store, MemoryStore)
    for _ in range(100):
        assert send(simulation.connect(), records=KIB) == [NONE]
        assert store.size <= 14 * len(KIB)
    log = partition_of(simulation).leader_log
    assert (log.log_start_offset, log.size_in_bytes) == (90, 10 * len(KIB))


class FullStore(MemoryStore):
    """A store with room for so many bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def put(self, parts: object, size: int) -> int:
        if self.size + size > self.room:
            raise StoreFullError("no space left on device")
        return super().put(parts, size)  # type: ignore[arg-type]


@pytest.mark.interpreted
def test_when_the_store_is_full_appends_are_refused_and_nothing_is_lost() -> None:
    simulation = simulated(8 * KIB_COST)
    memory = simulation.cluster.controller.log_memory
    store: Store = FullStore(10 * len(KIB))
    memory.store = store
    simulation.topic(replicas=1)
    client = simulation.connect()
    errors = send(client, 30, records=KIB)
    taken = errors.count(NONE)
    assert errors == [NONE] * taken + [STORAGE_ERROR] * (30 - taken)
    assert taken >= 10  # in the store, and some in memory
    assert len(values(simulation)) == taken
    reached, full = simulation.warnings
    assert "log.memory.full=spill" in reached
    assert "no space left on device" in full
    assert isinstance(store, FullStore)
    store.room *= 2
    assert send(client, 5, records=KIB) == [NONE] * 5


# Deleted.


def test_all_logs_together_stay_within_their_bound() -> None:
    bound = 64 * KIB_COST
    simulation = simulated(bound, "delete")
    for name in ("a", "b", "small"):
        simulation.topic(name, replicas=1)
    client = simulation.connect()
    assert send(client, 2, "small", KIB) == [NONE] * 2
    for topic in ("a", "b") * 200:
        assert send(client, 1, topic, KIB) == [NONE]
        sizes = [partition_of(simulation, name).leader_log.size_in_bytes for name in ("a", "b", "small")]
        assert sum(sizes) <= bound
    # The warning explains missing records, and is logged once.
    (warning,) = simulation.warnings
    assert f"log.memory.bytes={bound}" in warning
    # The large ones share what there is; the small one was not touched.
    assert abs(sizes[0] - sizes[1]) <= 8 * len(KIB)
    assert partition_of(simulation, "small").leader_log.log_start_offset == 0


def test_without_anything_to_delete_the_broker_is_full() -> None:
    simulation = simulated(10 * (KIB_COST + 2 * ENTRY_COST), "delete", 3, "frozen")
    simulation.topic(min_insync_replicas=3)
    client = simulation.connect()
    assert send(client, 12, records=KIB) == [NONE] * 10 + [STORAGE_ERROR] * 2
    partition = Produced(client.answers[-1][1]).response.responses[0].partition_responses[0]
    assert (partition.base_offset, partition.log_start_offset) == (-1, -1)
    assert simulation.warnings == []  # nothing was deleted
    simulation.followers("instant")
    assert send(client, 12, records=KIB) == [NONE] * 12


def test_a_smaller_log_is_trimmed_if_the_largest_cannot_be() -> None:
    simulation = simulated(20 * (KIB_COST + 2 * ENTRY_COST), "delete", 3)
    simulation.topic()
    simulation.topic("stuck", min_insync_replicas=3)
    simulation.followers("frozen", "stuck")
    client = simulation.connect()
    assert send(client, 14, "stuck", KIB) == [NONE] * 14
    assert send(client, 50, records=KIB) == [NONE] * 50
    assert partition_of(simulation).leader_log.log_start_offset > 40


@pytest.mark.parametrize(("bound", "expected"), [("-1", [NONE] * 3), ("0", [STORAGE_ERROR] * 3)])
def test_no_bound_and_no_room(bound: str, expected: list[int]) -> None:
    simulation = simulated(int(bound), "delete", 3)
    simulation.topic()
    assert send(simulation.connect(), 3) == expected


def test_a_duplicate_needs_no_room() -> None:
    simulation = simulated(600, "delete", 3, "frozen")
    simulation.topic()
    assert send(simulation.connect(), 3, records=sequenced(1, 0, 0)) == [NONE] * 3


def test_a_partition_without_a_leader_is_left_alone() -> None:
    simulation = Simulation(config={"log.memory.bytes": str(4 * KIB_COST), "log.memory.full": "delete"})
    simulation.topic(replicas=1, retention_ms=0, retention_bytes=0)
    simulation.topic("other", replicas=1)
    send(simulation.connect(), 3, records=KIB)
    simulation.cluster.lives.stop_broker(1, simulation.now)
    simulation.settle()
    simulation.advance(600_000)
    partition = partition_of(simulation)
    assert partition.leader_id == -1
    assert partition.replicas[1].log.log_end_offset == 3
    simulation.cluster.lives.start_broker(1, simulation.now)
    simulation.settle()
    assert send(simulation.connect(), 3, "other", KIB) == [NONE] * 3
    assert simulation.cluster.controller.log_memory.used_bytes <= 4 * KIB_COST


# Ranks.


class _Partition:
    def __init__(self, total: LogMemory) -> None:
        self.memory = PartitionMemory(total, self)
        self.asked = 0

    def move_out(self, max_bytes: int, store: Store) -> None:
        self.asked += 1
        self.memory.remove(min(max_bytes, self.memory.hot_bytes))

    def delete_oldest(self, max_bytes: int) -> None:
        raise AssertionError("not asked for")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5_000)), max_size=60))
def test_one_of_the_largest_makes_room(steps: list[tuple[int, int]]) -> None:
    total = LogMemory(10_000)
    partitions = [_Partition(total) for _ in range(5)]
    for which, size in steps:
        before = [partition.memory.hot_bytes for partition in partitions]
        for partition in partitions:
            partition.asked = 0
        partitions[which].memory.make_room(size)
        first = [partition for partition in partitions if partition.asked]
        assert not first or max(before) < 2 * max(before[partitions.index(partition)] for partition in first)
        partitions[which].memory.add(size)
        total.check_invariants()
        assert total.hot_bytes <= max(total.hot_limit, size)


def test_a_hundred_thousand_partitions_are_not_looked_at() -> None:
    total = LogMemory(100_000 * 100)
    partitions = [_Partition(total) for _ in range(100_000)]
    for partition in partitions:
        partition.memory.make_room(100)
        partition.memory.add(100)
    tries = sum(partition.asked for partition in partitions)
    partitions[0].memory.make_room(50_000)
    assert sum(partition.asked for partition in partitions) - tries <= 64
