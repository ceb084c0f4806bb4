"""Disks that are full, or slow."""

from __future__ import annotations

import pytest
from support.answers import NONE, TIMED_OUT, answers
from support.arising import arise, remove
from support.requests import ONE_RECORD, produce
from support.simulation import Simulation

from fakebroker.core.faults.presets import FullDisk, SlowDisk

STORAGE_ERROR = 56
SESSION_MS = 9_000
CHECKPOINT_MS = 5_000


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation()
    made.topic()
    return made


class TestFull:
    @pytest.mark.parametrize("acks", [1, -1])
    def test_a_write_to_a_full_disk_gets_an_error_and_the_broker_dies(self, simulation: Simulation, acks: int) -> None:
        client = simulation.connect()
        arisen = arise(simulation, FullDisk(1))
        assert (arisen.is_done, arisen.hits) == (False, 0)
        client.send(produce("t", acks=acks), produce("t", acks=acks))
        assert answers(client) == [(0, STORAGE_ERROR, -1)]
        assert client.closed == "broker 1 was killed"
        assert simulation.cluster.lives.state_of(1) == "killed"
        assert (arisen.is_done, arisen.is_over, arisen.hits) == (True, False, 1)
        simulation.advance(SESSION_MS)
        assert (simulation.partition().leader_id, simulation.partition().isr_ids) == (2, [2, 3])
        assert simulation.partition().leader_log.log_end_offset == 0

    def test_acks_0_is_not_answered(self, simulation: Simulation) -> None:
        client = simulation.connect()
        arise(simulation, FullDisk(1))
        client.send(produce("t", acks=0))
        assert client.answers == []
        assert simulation.cluster.lives.state_of(1) == "killed"

    def test_a_follower_dies_of_what_its_leader_has(self, simulation: Simulation) -> None:
        client = simulation.connect()
        arise(simulation, FullDisk(3))
        client.send(produce("t", timeout_ms=30_000))
        assert simulation.cluster.lives.state_of(3) == "killed"
        assert simulation.partition().replicas[3].log.log_end_offset == 0
        simulation.advance(SESSION_MS)
        assert answers(client) == [(SESSION_MS, NONE, 0)]

    def test_reading_does_no_harm_but_the_checkpoint_kills_it(self, simulation: Simulation) -> None:
        arise(simulation, FullDisk(1))
        simulation.advance(CHECKPOINT_MS - 1)
        assert simulation.cluster.lives.state_of(1) == "running"
        simulation.advance(1)
        assert simulation.cluster.lives.state_of(1) == "killed"

    def test_started_again_it_dies_again_until_there_is_room(self, simulation: Simulation) -> None:
        arisen = arise(simulation, FullDisk(1))
        simulation.advance(CHECKPOINT_MS)
        simulation.start(1)
        simulation.advance(SESSION_MS)
        assert simulation.cluster.lives.state_of(1) == "running"
        simulation.connect(2).send(produce("t", acks=1))
        assert simulation.cluster.lives.state_of(1) == "killed"
        assert arisen.hits == 2
        remove(simulation, arisen)
        simulation.start(1)
        simulation.advance(SESSION_MS)
        assert simulation.partition().isr_ids == [1, 2, 3]
        assert simulation.partition().replicas[1].log.log_end_offset == 1
        simulation.advance(10 * CHECKPOINT_MS)
        assert simulation.cluster.lives.state_of(1) == "running"

    def test_a_paused_broker_does_not_notice_its_full_disk(self, simulation: Simulation) -> None:
        arise(simulation, FullDisk(1))
        simulation.pause(1)
        simulation.advance(CHECKPOINT_MS)
        assert simulation.cluster.lives.state_of(1) == "paused"
        simulation.resume(1)
        simulation.advance(CHECKPOINT_MS)
        assert simulation.cluster.lives.state_of(1) == "killed"

    def test_full_already_or_not_there(self, simulation: Simulation) -> None:
        arise(simulation, FullDisk(1))
        with pytest.raises(ValueError, match="the disk of broker 1 is full already"):
            arise(simulation, FullDisk(1))
        with pytest.raises(ValueError, match="there is no broker 4"):
            arise(simulation, FullDisk(4))


class TestSlow:
    def test_the_leader_appends_later(self, simulation: Simulation) -> None:
        client, other = simulation.connect(), simulation.connect()
        arise(simulation, SlowDisk(1, 40))
        client.send(produce("t", acks=1), produce("t", acks=1))
        other.send(produce("t"))
        simulation.advance(39)
        assert simulation.partition().leader_log.log_end_offset == 0
        simulation.advance(100)
        assert [at_ms for at_ms, _, _ in answers(client)] == [40, 80]  # one after the other, as they came
        assert [at_ms for at_ms, _, _ in answers(other)] == [40]

    @pytest.mark.parametrize(
        ("followers", "at_ms"), [("instant", 40), ("lagging:10", 50), ("throttled:1000", 40 + len(ONE_RECORD))]
    )
    def test_its_followers_have_it_later(self, followers: str, at_ms: int) -> None:
        simulation = Simulation()
        simulation.topic()
        simulation.followers(followers, broker=3)
        client = simulation.connect()
        arise(simulation, SlowDisk(3, 40))
        client.send(produce("t"))
        simulation.advance(500)
        assert answers(client) == [(at_ms, NONE, 0)]
        assert simulation.partition().isr_ids == [1, 2, 3]

    def test_a_slow_disk_of_a_follower_lets_a_produce_time_out(self, simulation: Simulation) -> None:
        client = simulation.connect()
        arise(simulation, SlowDisk(3, 1_000))
        client.send(produce("t", timeout_ms=500))
        simulation.advance(2_000)
        assert answers(client) == [(500, TIMED_OUT, 0)]

    def test_much_too_slow_it_leaves_the_isr(self) -> None:
        simulation = Simulation(config={"replica.lag.time.max.ms": "2000"})
        simulation.topic()
        arise(simulation, SlowDisk(3, 60_000))
        simulation.connect().send(produce("t", acks=1))
        simulation.advance(10_000)
        assert simulation.partition().isr_ids == [1, 2]

    def test_removed_all_is_as_before(self, simulation: Simulation) -> None:
        arisen = arise(simulation, SlowDisk(1, 40))
        with pytest.raises(ValueError, match="the disk of broker 1 is slow already"):
            arise(simulation, SlowDisk(1, 50))
        simulation.advance(10)
        remove(simulation, arisen)
        client = simulation.connect()
        client.send(produce("t"))
        assert answers(client) == [(10, NONE, 0)]
        assert (arisen.is_done, arisen.is_over) == (True, True)

    def test_a_follower_that_was_slow_is_not_overtaken(self, simulation: Simulation) -> None:
        arisen = arise(simulation, SlowDisk(3, 40))
        client = simulation.connect()
        client.send(produce("t"))
        simulation.advance(10)
        remove(simulation, arisen)
        client.send(produce("t"))
        simulation.advance(100)
        assert [error for _, error, _ in answers(client)] == [NONE, NONE]
        assert {replica.log.log_end_offset for replica in simulation.partition().replicas.values()} == {2}
