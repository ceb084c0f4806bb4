"""One partition on three brokers with arbitrary events: a record that acks=all has acknowledged is never lost.

Elections are clean, min.insync.replicas is 1 or 2. These rules hold after every step. The high watermark has not fallen
within a leadership, and is not beyond the log end of an in-sync replica. The logs of live in-sync replicas agree below
it. Every record that was acknowledged with acks=all is at the offset of its response.
"""

from __future__ import annotations

from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support import doses
from support.requests import Produced, batch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.replication.partition import NO_LEADER
from fakebroker.protocol.record_batch import decode_records

BROKERS = (1, 2, 3)
NONE, NOT_LEADER, TIMED_OUT, NOT_ENOUGH, NOT_ENOUGH_AFTER = 0, 6, 7, 19, 20
POSSIBLE_ERRORS = {NONE, NOT_LEADER, TIMED_OUT, NOT_ENOUGH, NOT_ENOUGH_AFTER}


class ReplicatedPartition(RuleBasedStateMachine):
    """Rules are what users and clients do; `advance` lets time pass."""

    config: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.simulation = Simulation(config={"replica.lag.time.max.ms": "1000"} | self.config)
        self.sent: list[tuple[SimulatedClient, int, bytes]] = []
        self.acknowledged: dict[int, bytes] = {}
        self.count = 0
        self.seen_epoch = 0
        self.seen_high_watermark = 0

    @initialize(min_isr=st.sampled_from([1, 2]), followers=st.sampled_from(["instant", "lagging:70", "throttled:900"]))
    def begin(self, min_isr: int, followers: str) -> None:
        # The records are years old, and a broker that runs for half a minute would delete them.
        self.simulation.topic("t", min_insync_replicas=min_isr, retention_ms=-1)
        self.simulation.followers(followers)
        self.partition = self.simulation.partition()

    @rule(acks=st.sampled_from([1, -1, -1]), timeout_ms=st.sampled_from([0, 40, 3_000]))
    def append(self, acks: int, timeout_ms: int) -> None:
        leader_id = self.partition.leader_id
        if leader_id == NO_LEADER:
            return
        value = b"record %d" % self.count
        self.count += 1
        client = self.simulation.connect(leader_id)
        self.sent.append((client, acks, value))
        client.send(produce("t", acks=acks, timeout_ms=timeout_ms, records=batch(value)))

    @rule(
        broker=st.sampled_from(BROKERS),
        behaviour=st.sampled_from(["instant", "frozen", "lagging:30", "lagging:400", "throttled:500"]),
    )
    def change_follower(self, broker: int, behaviour: str) -> None:
        # Of the leader alone it would be a slip; with the others it is taken up once the leader follows.
        self.simulation.followers(behaviour, "t", 0, None if broker == self.partition.leader_id else broker)

    @rule(
        broker=st.sampled_from(BROKERS),
        records=st.integers(1, 4),
        then=st.sampled_from(["frozen", "lagging:30", "throttled:500"]),
    )
    def fall_behind(self, broker: int, records: int, then: str) -> None:
        """One follower leaves the ISR, and comes back if it can."""
        self.change_follower(broker, "frozen")
        for _ in range(records):
            self.append(1, 0)
        self.advance(1_600)
        self.change_follower(broker, then)

    @rule(broker=st.sampled_from(BROKERS))
    def stop(self, broker: int) -> None:
        self.simulation.stop(broker)

    @rule(broker=st.sampled_from(BROKERS))
    def start(self, broker: int) -> None:
        self.simulation.start(broker)

    @precondition(lambda self: self.partition.leader_id != NO_LEADER)
    @rule(which=st.integers(0, 2))
    def move_leader(self, which: int) -> None:
        in_sync = self.partition.isr_ids
        self.simulation.move_leader(in_sync[which % len(in_sync)])

    @rule(ms=st.sampled_from([1, 29, 40, 500, 1_001, 4_000]))
    def advance(self, ms: int) -> None:
        self.simulation.advance(ms)

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "partition"):
            return
        self._read_answers()
        partition = self.partition
        if partition.leader_id == NO_LEADER:
            return
        if partition.leader_epoch == self.seen_epoch:
            assert partition.high_watermark >= self.seen_high_watermark, "the watermark fell within a leadership"
        self.seen_epoch, self.seen_high_watermark = partition.leader_epoch, partition.high_watermark
        in_sync = [partition.replicas[broker_id] for broker_id in partition.isr]
        assert partition.high_watermark <= min(replica.log.log_end_offset for replica in in_sync)
        below = [
            [b.data for b in replica.log.batches if b.last_offset < partition.high_watermark] for replica in in_sync
        ]
        assert all(data == below[0] for data in below)
        values = {logged.base_offset: decode_records(logged.data)[0].value for logged in partition.leader_log.batches}
        for offset, value in self.acknowledged.items():
            assert values.get(offset) == value, f"what was acknowledged at {offset} is lost"
            assert offset < partition.high_watermark

    def _read_answers(self) -> None:
        waiting = []
        for client, acks, value in self.sent:
            if client.answers:
                ((error, base_offset),) = Produced(client.answers[0][1]).partitions.values()
                assert error in POSSIBLE_ERRORS
                if acks == -1 and error == NONE:
                    self.acknowledged[base_offset] = value
            elif client.closed is None:
                waiting.append((client, acks, value))
        self.sent = waiting

    def teardown(self) -> None:
        if hasattr(self, "partition"):
            # Each parked request gets a response in the end, from the broker that has it.
            self.simulation.advance(4_000)
            self._read_answers()
            assert self.sent == []


TestReplicatedPartition = pytest.mark.slow(ReplicatedPartition.TestCase)
TestReplicatedPartition.settings = settings(
    stateful_step_count=40, max_examples=max(doses.count(20, 100), settings().max_examples)
)
