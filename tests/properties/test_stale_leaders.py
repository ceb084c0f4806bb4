"""Brokers are cut off, pause, die and restart at random. The core's invariants hold all the time, records of all
in-sync replicas are never lost, and in the end all logs are the same."""

from __future__ import annotations

from random import Random

import pytest
from support.requests import batch, produce
from support.simulation import Simulation

from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.core.faults.presets import NetworkPartition
from fakebroker.core.journal.broker_events import LeaderStale
from fakebroker.core.journal.events import NO_ERROR, Answer, Produce
from fakebroker.core.journal.journal import Journal
from fakebroker.testing.history import check_history

BROKERS = (1, 2, 3)
STEPS = 60
CONFIG = {"broker.session.timeout.ms": "2000", "replica.lag.time.max.ms": "5000"}


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.journal = Journal(1_000_000)
        self.simulation = Simulation(config=CONFIG, seed=seed, journal=self.journal)
        self.simulation.topic(partitions=3, min_insync_replicas=self.random.choice((1, 2)))
        self.cuts: list[StateFault] = []
        self.written = 0

    def step(self) -> None:
        what = self.random.choice(("write", "write", "write", "write", "rest", "rest", "cut", "heal", "process"))
        getattr(self, what)()

    def write(self) -> None:
        broker = self.random.choice(BROKERS)
        if broker not in self.simulation.listening:
            return
        self.written += 1
        acks, timeout_ms = self.random.choice((-1, -1, 1)), self.random.choice((0, 300, 6_000))
        records = batch(b"%d" % self.written, timestamp_ms=self.simulation.now.wall_ms)
        client = self.simulation.connect(broker)
        client.send(produce("t", self.random.randrange(3), acks=acks, timeout_ms=timeout_ms, records=records))

    def cut(self) -> None:
        if len(self.cuts) < 3:
            a = tuple(self.random.sample(BROKERS, self.random.choice((1, 1, 2))))
            b = self.random.choice(((), tuple(set(BROKERS) - set(a))))
            self.simulation.cluster.now = self.simulation.now
            self.cuts.append(self.simulation.cluster.faults.arising.arise(NetworkPartition(a, b, "b")))
            self.simulation.settle()

    def heal(self) -> None:
        if self.cuts:
            self.simulation.cluster.now = self.simulation.now
            self.simulation.cluster.faults.arising.remove(self.cuts.pop(self.random.randrange(len(self.cuts))))
            self.simulation.settle()

    def process(self) -> None:
        broker = self.random.choice(BROKERS)
        state = self.simulation.cluster.lives.state_of(broker)
        if state == "running":
            [self.simulation.pause, self.simulation.kill][self.random.random() < 0.3](broker)
        elif state == "paused":
            [self.simulation.resume, self.simulation.kill][self.random.random() < 0.2](broker)
        else:
            self.simulation.start(broker)

    def rest(self) -> None:
        self.simulation.advance(self.random.choice((1, 10, 20, 500, 1_999, 2_500, 6_000)))

    def all_is_well_again(self) -> None:
        while self.cuts:
            self.heal()
        for broker in BROKERS:
            if self.simulation.cluster.lives.state_of(broker) == "paused":
                self.simulation.resume(broker)
            self.simulation.start(broker)
        self.simulation.advance(20_000)


def acknowledged_by_all(journal: Journal) -> set[tuple[int, int]]:
    """Partition and offset of what clients were told that all in sync had."""
    acks = {event.request: event.acks for event in journal if isinstance(event, Produce)}
    return {
        (result.partition, result.base_offset)
        for event in journal
        if isinstance(event, Answer) and acks.get(event.request) == -1
        for result in event.partitions
        if result.error == NO_ERROR
    }


def play(seed: int) -> int:
    """Return how many leaders did not know of their successor."""
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.all_is_well_again()
    simulation = world.simulation
    for partition in simulation.cluster.metadata.partitions():
        assert partition.isr_ids == list(partition.replicas)
        assert partition.stale is None
        logs = [
            [(log_batch.base_offset, log_batch.leader_epoch) for log_batch in r.log.batches]
            for r in partition.replicas.values()
        ]
        assert logs[0] == logs[1] == logs[2]
    lost = check_history(world.journal, kinds=["lost", "gap"])
    assert [finding for finding in lost if "(acks=1)" not in finding.sentence] == []
    for index, offset in acknowledged_by_all(world.journal):
        assert offset < simulation.partition("t", index).high_watermark
    return sum(isinstance(event, LeaderStale) for event in world.journal)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_whatever_becomes_of_brokers(first: int) -> None:
    assert sum(play(seed) for seed in range(first, first + 10)) > 10
