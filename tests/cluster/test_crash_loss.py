"""A crash loses nothing of a broker's logs, the unflushed part, or all."""

from __future__ import annotations

import pytest
from support.simulation import Simulation

from fakebroker.core.crash_loss import CrashLoss
from fakebroker.testing.wire import batch, produce, read_produce_answer

SESSION_MS = 9_000
NOBODY = -1


def send(simulation: Simulation, acks: int = -1, count: int = 1) -> int:
    """Produce `count` records to the current leader; return the error."""
    client = simulation.connect(simulation.partition().leader_id)
    client.send(produce(1, acks, 1_000, [(("t", 0), batch(b"v", count, simulation.now.wall_ms))]))
    simulation.advance(1_000)
    return read_produce_answer(client.answers[-1][1])[0][1]


def ends(simulation: Simulation) -> list[int]:
    return [replica.log.log_end_offset for replica in simulation.partition().replicas.values()]


def alone(count: int = 3) -> Simulation:
    simulation = Simulation(brokers=1)
    simulation.topic(replicas=1)
    assert send(simulation, count=count) == 0
    return simulation


def restarted(simulation: Simulation, loss: CrashLoss, broker_id: int = 1) -> None:
    simulation.kill(broker_id, loss)
    simulation.start(broker_id)
    simulation.advance(SESSION_MS)


@pytest.mark.parametrize(
    ("loss", "left"), [(CrashLoss.NOTHING, 4), (CrashLoss.UNFLUSHED, 3), (CrashLoss.EVERYTHING, 0)]
)
def test_what_is_left_of_the_only_log(loss: CrashLoss, left: int) -> None:
    simulation = alone()
    simulation.cluster.lives.flush_broker(1)
    assert send(simulation) == 0
    restarted(simulation, loss)
    partition = simulation.partition()
    assert (partition.leader_id, ends(simulation)) == (1, [left])
    assert partition.high_watermark == left
    assert send(simulation) == 0  # and its epochs go on from there
    assert ends(simulation) == [left + 1]
    simulation.cluster.check_invariants()


def test_nothing_is_flushed_by_itself_but_in_a_stop() -> None:
    simulation = alone()
    simulation.stop(1)
    simulation.start(1)
    assert send(simulation) == 0
    restarted(simulation, CrashLoss.UNFLUSHED)
    assert ends(simulation) == [3]


def test_a_killed_broker_flushes_nothing() -> None:
    simulation = alone()
    simulation.kill(1, CrashLoss.UNFLUSHED)
    simulation.cluster.lives.flush_broker(1)
    simulation.start(1)
    simulation.cluster.lives.flush_broker(1)
    simulation.advance(SESSION_MS)
    assert ends(simulation) == [0]


def test_a_death_while_it_starts_takes_no_less() -> None:
    simulation = alone()
    simulation.kill(1, CrashLoss.EVERYTHING)
    simulation.start(1)
    restarted(simulation, CrashLoss.NOTHING)
    assert ends(simulation) == [0]
    assert send(simulation) == 0
    restarted(simulation, CrashLoss.NOTHING)  # what a death took is taken once
    assert ends(simulation) == [1]


def test_what_others_have_is_copied_again_and_nothing_acknowledged_is_lost() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    assert send(simulation, count=5) == 0
    for broker_id in (1, 2, 3):
        restarted(simulation, CrashLoss.EVERYTHING, broker_id)
        assert ends(simulation) == [5, 5, 5]
        assert simulation.partition().isr_ids == [1, 2, 3]
    assert send(simulation) == 0


def test_the_last_leader_leads_with_what_it_has_left_and_others_drop_what_it_lacks() -> None:
    simulation = Simulation()
    simulation.topic(min_insync_replicas=2)
    assert send(simulation, count=2) == 0
    for broker_id in (1, 2, 3):
        simulation.cluster.lives.flush_broker(broker_id)
    assert send(simulation, count=5) == 0
    simulation.cluster.lives.flush_broker(2)  # which does not lead last
    for broker_id in (1, 2, 3):
        simulation.kill(broker_id, CrashLoss.UNFLUSHED)
    simulation.advance(SESSION_MS)
    assert simulation.partition().leader_id == NOBODY
    for broker_id in (1, 2, 3):
        simulation.start(broker_id)
    assert simulation.partition().leader_id == 3
    assert ends(simulation) == [2, 2, 2]
    simulation.cluster.check_invariants()


def test_what_was_truncated_was_not_flushed() -> None:
    """Broker 1 flushed records that no other replica had. They were truncated under another leader. The records that
    replaced them are lost."""
    simulation = Simulation(brokers=2)
    simulation.topic(replicas=2)
    assert send(simulation) == 0
    simulation.followers("frozen")
    assert send(simulation, acks=1, count=4) == 0
    simulation.cluster.lives.flush_broker(1)
    simulation.kill(1)
    simulation.followers("instant")
    simulation.advance(SESSION_MS)
    assert simulation.partition().leader_id == 2
    simulation.start(1)
    assert ends(simulation) == [1, 1]
    assert send(simulation, count=3) == 0
    simulation.kill(1, CrashLoss.UNFLUSHED)
    simulation.advance(SESSION_MS)
    simulation.followers("frozen")
    simulation.start(1)
    assert ends(simulation) == [1, 4]
    simulation.cluster.check_invariants()


def test_an_unknown_broker_is_told() -> None:
    with pytest.raises(ValueError, match="4"):
        alone().cluster.lives.flush_broker(4)
