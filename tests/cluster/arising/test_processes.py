"""Brokers that are paused for a while, crash, or are restarted one after the other."""

from __future__ import annotations

import pytest
from support.answers import NONE, NOT_LEADER, TIMED_OUT, answers
from support.arising import arise, remove
from support.requests import produce
from support.simulation import Simulation

from fakebroker.core.faults.presets import GcPause, RollingRestart, UncleanShutdown
from fakebroker.core.journal.fault_events import FaultAdded
from fakebroker.core.journal.journal import Journal

SESSION_MS = 9_000
HEARS_MS = 15  # fakebroker.metadata.delay.ms


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation(journal=Journal())
    made.topic()
    return made


def state(simulation: Simulation, broker_id: int) -> str:
    return simulation.cluster.lives.state_of(broker_id)


class TestGcPause:
    def test_nothing_is_read_until_it_is_over(self, simulation: Simulation) -> None:
        client = simulation.connect()
        arisen = arise(simulation, GcPause(1, 2_000))
        client.send(produce("t"))
        simulation.advance(1_999)
        assert answers(client) == []
        assert (arisen.is_done, arisen.is_over) == (False, False)
        simulation.advance(1)
        assert answers(client) == [(2_000, NONE, 0)]
        assert (arisen.is_done, arisen.is_over, arisen.hits) == (True, True, 1)

    def test_timers_are_late(self, simulation: Simulation) -> None:
        simulation.followers("frozen")
        client = simulation.connect()
        client.send(produce("t", timeout_ms=500))
        arise(simulation, GcPause(1, 2_000))
        simulation.advance(5_000)
        assert answers(client) == [(2_000, TIMED_OUT, 0)]

    def test_too_long_and_others_lead(self, simulation: Simulation) -> None:
        client = simulation.connect()
        arise(simulation, GcPause(1, SESSION_MS + 1))
        client.send(produce("t"))
        simulation.advance(SESSION_MS + 1)
        assert answers(client) == []
        simulation.advance(HEARS_MS)
        assert answers(client) == [(SESSION_MS + 1 + HEARS_MS, NOT_LEADER, 0)]
        assert (simulation.partition().leader_id, simulation.partition().isr_ids) == (2, [1, 2, 3])

    def test_removed_it_goes_on_at_once(self, simulation: Simulation) -> None:
        arisen = arise(simulation, GcPause(1, 2_000))
        remove(simulation, arisen)
        assert state(simulation, 1) == "running"
        simulation.pause(1)  # another one, which this one does not end
        simulation.advance(3_000)
        assert state(simulation, 1) == "paused"

    def test_resumed_and_paused_by_hand_it_is_another_pause(self, simulation: Simulation) -> None:
        arisen = arise(simulation, GcPause(1, 2_000))
        simulation.resume(1)
        simulation.pause(1)
        simulation.advance(2_000)
        assert state(simulation, 1) == "paused"
        assert arisen.is_over

    def test_killed_meanwhile_it_stays_dead(self, simulation: Simulation) -> None:
        arisen = arise(simulation, GcPause(1, 2_000))
        simulation.kill(1)
        simulation.advance(2_000)
        assert state(simulation, 1) == "killed"
        assert arisen.is_over

    def test_gc_pause_refuses_a_paused_or_unknown_broker(self, simulation: Simulation) -> None:
        simulation.pause(1)
        with pytest.raises(ValueError, match="'gc_pause' needs a broker that is running, but broker 1 is paused"):
            arise(simulation, GcPause(1, 10))
        with pytest.raises(ValueError, match="there is no broker 7"):
            arise(simulation, GcPause(7, 10))


class TestUncleanShutdown:
    def test_it_is_back_when_its_session_has_ended(self, simulation: Simulation) -> None:
        client = simulation.connect()
        arisen = arise(simulation, UncleanShutdown(1))
        assert client.closed == "broker 1 was killed"
        assert state(simulation, 1) == "starting"
        simulation.advance(SESSION_MS - 1)
        assert not arisen.is_done
        simulation.advance(1)
        assert (state(simulation, 1), arisen.is_done, arisen.is_over, arisen.hits) == ("running", True, True, 1)
        assert (simulation.partition().leader_id, simulation.partition().isr_ids) == (2, [1, 2, 3])

    def test_the_page_cache_outlives_it(self) -> None:
        simulation = Simulation(brokers=1)
        simulation.topic(replicas=1)
        simulation.connect().send(produce("t", acks=1))
        arise(simulation, UncleanShutdown(1))
        simulation.advance(SESSION_MS)
        assert simulation.partition().leader_log.log_end_offset == 1

    def test_removed_it_starts_all_the_same(self, simulation: Simulation) -> None:
        arisen = arise(simulation, UncleanShutdown(1))
        remove(simulation, arisen)
        assert (arisen.is_done, arisen.is_over) == (False, True)
        simulation.advance(SESSION_MS)
        assert state(simulation, 1) == "running"

    def test_killed_again_the_fault_is_done_at_the_next_start(self, simulation: Simulation) -> None:
        arisen = arise(simulation, UncleanShutdown(1))
        simulation.kill(1)
        simulation.advance(2 * SESSION_MS)
        assert not arisen.is_done
        simulation.start(1)
        assert arisen.is_done

    def test_unclean_shutdown_refuses_a_killed_broker(self, simulation: Simulation) -> None:
        simulation.kill(1)
        with pytest.raises(ValueError, match="running or paused or stopping, but broker 1 is killed"):
            arise(simulation, UncleanShutdown(1))


class TestRollingRestart:
    def test_each_in_turn(self, simulation: Simulation) -> None:
        arisen = arise(simulation, RollingRestart(100))
        seen = []
        for _ in range(4):
            seen.append([state(simulation, broker_id) for broker_id in (1, 2, 3)])
            simulation.advance(100)
        up, down = "running", "stopped"
        assert seen == [[down, up, up], [up, down, up], [up, up, down], [up, up, up]]
        assert (arisen.is_done, arisen.is_over, arisen.hits) == (True, True, 3)
        assert simulation.partition().isr_ids == [1, 2, 3]
        assert simulation.cluster.probe.listeners == simulation.cluster.probe.listeners[:1]  # no listener is left

    def test_a_rolling_restart_waits_until_a_broker_is_in_all_isrs(self, simulation: Simulation) -> None:
        simulation.followers("lagging:5000", broker=1)
        arise(simulation, RollingRestart(100))
        simulation.connect(2).send(produce("t", acks=1))
        simulation.advance(5_000)
        assert [state(simulation, broker_id) for broker_id in (1, 2, 3)] == ["running"] * 3
        simulation.advance(100)
        assert state(simulation, 2) == "stopped"

    def test_a_controller_that_takes_its_time(self) -> None:
        simulation = Simulation(config={"fakebroker.controller.delay.ms": "50"})
        simulation.topic()
        arisen = arise(simulation, RollingRestart(100))
        assert state(simulation, 1) == "stopping"
        simulation.advance(299)
        assert [state(simulation, broker_id) for broker_id in (1, 2)] == ["starting", "running"]
        simulation.advance(2_000)
        assert arisen.is_done
        assert simulation.partition().isr_ids == [1, 2, 3]

    def test_nothing_that_is_acknowledged_by_all_is_lost(self, simulation: Simulation) -> None:
        arise(simulation, RollingRestart(0))
        assert simulation.partition().isr_ids == [1, 2, 3]
        leader_id = simulation.partition().leader_id
        client = simulation.connect(leader_id)
        client.send(produce("t"))
        arise(simulation, RollingRestart(10))
        simulation.advance(100)
        partition = simulation.partition()
        assert {replica.log.log_end_offset for replica in partition.replicas.values()} == {1}
        assert partition.high_watermark == 1

    def test_removed_it_ends_with_the_one_in_turn(self, simulation: Simulation) -> None:
        arisen = arise(simulation, RollingRestart(100))
        remove(simulation, arisen)
        simulation.advance(1_000)
        assert [state(simulation, broker_id) for broker_id in (1, 2, 3)] == ["running"] * 3
        assert (arisen.hits, arisen.is_done, arisen.is_over) == (0, False, True)

    def test_a_rolling_restart_starts_a_stopped_or_killed_broker_in_its_turn(self, simulation: Simulation) -> None:
        arisen = arise(simulation, RollingRestart(100))
        simulation.kill(2)
        simulation.advance(100)
        assert [state(simulation, broker_id) for broker_id in (1, 2, 3)] == ["running", "killed", "running"]
        simulation.advance(SESSION_MS)
        simulation.advance(200)
        assert [state(simulation, broker_id) for broker_id in (1, 2, 3)] == ["running"] * 3
        assert (arisen.is_done, arisen.hits) == (True, 3)

    def test_a_rolling_restart_leaves_out_a_paused_broker(self, simulation: Simulation) -> None:
        arisen = arise(simulation, RollingRestart(100))
        simulation.pause(3)
        simulation.advance(SESSION_MS)
        assert [state(simulation, broker_id) for broker_id in (2, 3)] == ["stopped", "paused"]  # 2 had to wait for it
        simulation.advance(100)
        assert state(simulation, 3) == "paused"
        assert (arisen.is_done, arisen.hits) == (True, 2)

    def test_a_topic_that_goes_is_not_waited_for(self, simulation: Simulation) -> None:
        arisen = arise(simulation, RollingRestart(100))
        simulation.followers("frozen", broker=1)
        simulation.connect(2).send(produce("t", acks=1))
        simulation.advance(1_000)
        assert arisen.hits == 0
        simulation.delete_topic()
        simulation.advance(1_000)
        assert arisen.is_done

    def test_all_must_be_up_before(self, simulation: Simulation) -> None:
        simulation.stop(3)
        with pytest.raises(ValueError, match="'rolling_restart' needs a broker that is running, but broker 3 is stop"):
            arise(simulation, RollingRestart())


def test_the_journal_tells_what_befell_them() -> None:
    journal = Journal()
    simulation = Simulation(journal=journal)
    arise(simulation, GcPause(1, 10))
    simulation.advance(10)
    names = [name for event in journal.events() if (name := type(event).__name__)[:5] in ("Fault", "Broke")]
    assert names[-4:] == ["FaultAdded", "BrokerPaused", "BrokerResumed", "FaultRemoved"]
    added = next(event for event in journal.events() if isinstance(event, FaultAdded))
    assert (added.fault, added.text) == ("a1", "gc_pause broker=1 ms=10")
