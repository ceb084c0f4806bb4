"""Brokers that crash, are paused and come back, to the millisecond (cluster/lives.py)."""

from __future__ import annotations

import pytest
from support.answers import NONE, NOT_LEADER, TIMED_OUT, answers
from support.messages import decode_response
from support.requests import metadata, produce
from support.simulation import Simulation

from fakebroker.core.replication.partition import NO_LEADER

SESSION_MS = 9_000  # broker.session.timeout.ms
HEARS_MS = 15  # fakebroker.metadata.delay.ms
DELAY = {"fakebroker.controller.delay.ms": "30"}


def leads(simulation: Simulation) -> tuple[int, list[int]]:
    """Return the leader and the ISR."""
    partition = simulation.partition()
    return partition.leader_id, partition.isr_ids


class TestKill:
    def test_the_leader_stays_it_until_its_session_ends(self, simulation: Simulation) -> None:
        simulation.kill(1)
        simulation.advance(SESSION_MS - 1)
        assert leads(simulation) == (1, [1, 2, 3])
        simulation.advance(1)
        assert leads(simulation) == (2, [2, 3])

    def test_its_clients_lose_their_connections_at_once(self, simulation: Simulation) -> None:
        simulation.followers("frozen")
        client = simulation.connect()
        client.send(produce("t", timeout_ms=500))
        simulation.kill(1)
        assert (client.closed, client.closed_ms) == ("broker 1 was killed", 0)
        assert simulation.listening == {2, 3}
        assert simulation.connect(1).closed is not None
        simulation.advance(2 * SESSION_MS)
        assert client.answers == []

    def test_others_are_told_that_it_lives_until_its_session_ends(self, simulation: Simulation) -> None:
        simulation.kill(1)
        brokers = [_brokers(simulation)]
        simulation.advance(SESSION_MS)
        brokers.append(_brokers(simulation))
        assert brokers == [[1, 2, 3], [2, 3]]

    def test_acks_all_waits_for_a_killed_follower_until_it_is_fenced(self, simulation: Simulation) -> None:
        client = simulation.connect()
        simulation.kill(3)
        client.send(produce("t", timeout_ms=30_000))
        simulation.advance(30_000)
        assert answers(client) == [(SESSION_MS, NONE, 0)]

    def test_a_killed_replica_delays_acks_all_until_its_timeout(self, simulation: Simulation) -> None:
        client = simulation.connect()
        simulation.kill(3)
        client.send(produce("t", timeout_ms=500))
        simulation.advance(30_000)
        assert answers(client) == [(500, TIMED_OUT, 0)]

    def test_a_leader_shrinks_its_isr_at_its_periodic_check(self) -> None:
        simulation = Simulation(config={"replica.lag.time.max.ms": "2000"})
        simulation.topic()
        client = simulation.connect()
        simulation.kill(3)
        client.send(produce("t", timeout_ms=30_000))
        simulation.advance(30_000)
        assert answers(client) == [(3_000, NONE, 0)]  # it looks every 1,000 ms, and 2,000 are not more than 2,000

    def test_it_may_not_register_while_its_last_life_has_a_session(self, simulation: Simulation) -> None:
        epoch = simulation.cluster.registry[1].epoch
        simulation.kill(1)
        simulation.advance(4_000)
        simulation.start(1)
        assert simulation.cluster.lives.state_of(1) == "starting"
        assert simulation.listening == {2, 3}
        simulation.advance(SESSION_MS - 4_000)
        assert simulation.cluster.lives.state_of(1) == "running"
        assert simulation.listening == {1, 2, 3}
        assert simulation.cluster.registry[1].epoch > epoch
        assert leads(simulation) == (2, [1, 2, 3])

    def test_it_finds_its_log_as_it_was(self) -> None:
        simulation = Simulation(brokers=1)
        simulation.topic(replicas=1)
        simulation.connect().send(produce("t", timeout_ms=500))
        simulation.kill(1)
        simulation.advance(SESSION_MS)
        assert simulation.partition().leader_id == NO_LEADER
        simulation.start(1)
        partition = simulation.partition()
        assert (partition.leader_id, partition.leader_log.log_end_offset, partition.high_watermark) == (1, 1, 1)

    def test_killed_before_it_is_back_it_stays_away(self, simulation: Simulation) -> None:
        simulation.kill(1)
        simulation.start(1)
        simulation.kill(1)
        simulation.advance(2 * SESSION_MS)
        assert simulation.cluster.lives.state_of(1) == "killed"
        simulation.start(1)
        assert simulation.cluster.lives.state_of(1) == "running"

    def test_two_die_within_a_session(self, simulation: Simulation) -> None:
        simulation.kill(1)
        simulation.advance(1_000)
        simulation.kill(2)
        simulation.advance(SESSION_MS - 1_000)
        assert leads(simulation) == (2, [2, 3])  # killed, but its session has not ended
        simulation.advance(1_000)
        assert leads(simulation) == (3, [3])


class TestPause:
    def test_nothing_is_answered_and_nothing_lost(self, simulation: Simulation) -> None:
        client = simulation.connect()
        simulation.pause(1)
        client.send(produce("t", timeout_ms=500))
        simulation.advance(3_000)
        assert (client.answers, client.closed) == ([], None)
        simulation.resume(1)
        assert answers(client) == [(3_000, NONE, 0)]

    def test_its_timers_are_late(self, simulation: Simulation) -> None:
        simulation.followers("frozen")
        client = simulation.connect()
        client.send(produce("t", timeout_ms=500))
        simulation.pause(1)
        simulation.advance(3_000)
        assert client.answers == []
        simulation.resume(1)
        assert answers(client) == [(3_000, TIMED_OUT, 0)]

    def test_a_client_that_connects_during_a_pause_is_accepted_afterwards(self, simulation: Simulation) -> None:
        simulation.pause(2)
        client = simulation.connect(2)
        client.send(metadata(None))
        simulation.advance(3_000)
        assert (client.answers, client.closed, client.reading_paused) == ([], None, True)
        simulation.resume(2)
        assert [at_ms for at_ms, _ in client.answers] == [3_000]
        assert not client.reading_paused

    def test_a_pause_within_the_session_changes_nothing(self, simulation: Simulation) -> None:
        simulation.pause(1)
        simulation.advance(SESSION_MS - 1)
        simulation.resume(1)
        simulation.advance(SESSION_MS)
        assert leads(simulation) == (1, [1, 2, 3])
        assert simulation.partition().leader_epoch == 0

    def test_a_longer_one_costs_the_leadership_and_it_learns_that_late(self, simulation: Simulation) -> None:
        simulation.followers("frozen", broker=3)
        client = simulation.connect()
        client.send(produce("t", timeout_ms=60_000))
        simulation.pause(1)
        simulation.advance(SESSION_MS)
        assert leads(simulation) == (2, [2, 3])
        assert client.answers == []
        epoch = simulation.cluster.registry[1].epoch
        simulation.advance(1_000)
        simulation.resume(1)
        simulation.advance(HEARS_MS - 1)
        assert answers(client) == []
        simulation.advance(1)
        assert answers(client) == [(SESSION_MS + 1_000 + HEARS_MS, NOT_LEADER, 0)]
        assert simulation.cluster.registry[1].epoch == epoch
        assert leads(simulation) == (2, [1, 2, 3])

    def test_a_paused_follower_delays_acks_all(self, simulation: Simulation) -> None:
        client = simulation.connect()
        simulation.pause(3)
        client.send(produce("t", timeout_ms=30_000))
        simulation.advance(700)
        simulation.resume(3)
        assert answers(client) == [(700, NONE, 0)]

    def test_it_can_be_killed(self, simulation: Simulation) -> None:
        client = simulation.connect()
        simulation.pause(1)
        simulation.advance(1_000)
        simulation.kill(1)
        assert client.closed == "broker 1 was killed"
        simulation.advance(SESSION_MS - 1_000)
        assert leads(simulation) == (2, [2, 3])  # its session counts from when it fell silent
        simulation.start(1)
        assert simulation.connect(1).closed is None

    def test_connections_that_are_idle_are_not_closed_while_it_stands(self) -> None:
        simulation = Simulation(config={"connections.max.idle.ms": "1000", "broker.session.timeout.ms": "60000"})
        client = simulation.connect(2)
        simulation.pause(2)
        simulation.advance(5_000)
        assert client.closed is None
        simulation.resume(2)
        simulation.advance(1_001)
        assert client.closed is not None


class TestStop:
    def test_all_at_once_if_the_controller_takes_no_time(self, simulation: Simulation) -> None:
        simulation.stop(1)
        assert leads(simulation) == (2, [2, 3])
        assert simulation.cluster.lives.state_of(1) == "stopped"
        assert simulation.listening == {2, 3}
        simulation.start(1)
        assert leads(simulation) == (2, [1, 2, 3])
        assert simulation.listening == {1, 2, 3}

    def test_step_by_step_if_it_does(self) -> None:
        simulation = Simulation(config=DELAY)
        simulation.topic()
        client = simulation.connect()
        simulation.stop(1)
        seen = [(leads(simulation), simulation.cluster.lives.state_of(1))]
        for _ in range(2):
            simulation.advance(29)
            seen.append((leads(simulation), simulation.cluster.lives.state_of(1)))
            simulation.advance(1)
            seen.append((leads(simulation), simulation.cluster.lives.state_of(1)))
            client.send(produce("t", timeout_ms=500))
        before, after = (1, [1, 2, 3]), (2, [2, 3])
        assert seen == [
            (before, "stopping"),
            (before, "stopping"),
            (after, "stopping"),
            (after, "stopping"),
            (after, "stopped"),
        ]
        assert answers(client) == [(30, NOT_LEADER, -1)]
        assert client.closed_ms == 60

    def test_a_broker_that_leads_no_partition_stops_in_one_step(self) -> None:
        simulation = Simulation(config=DELAY)
        simulation.topic()
        simulation.stop(3)
        simulation.advance(30)
        assert (leads(simulation), simulation.cluster.lives.state_of(3)) == ((1, [1, 2]), "stopped")

    def test_started_it_registers_in_one_step_and_takes_part_in_the_next(self) -> None:
        simulation = Simulation(config=DELAY)
        simulation.topic()
        simulation.stop(3)
        simulation.advance(30)
        simulation.start(3)
        simulation.advance(59)
        assert simulation.cluster.lives.state_of(3) == "starting"
        simulation.advance(1)
        assert simulation.cluster.lives.state_of(3) == "running"

    def test_killed_while_it_stops(self) -> None:
        simulation = Simulation(config=DELAY)
        simulation.topic()
        simulation.stop(1)
        simulation.advance(30)
        simulation.kill(1)
        simulation.advance(30)
        assert simulation.cluster.lives.state_of(1) == "killed"
        assert not simulation.cluster.registry[1].is_fenced
        simulation.advance(SESSION_MS)
        assert simulation.cluster.registry[1].is_fenced

    def test_it_waits_until_a_silent_broker_is_fenced(self, simulation: Simulation) -> None:
        """The broker loses its leaderships at once, and keeps running."""
        simulation.kill(3)
        client = simulation.connect(1)
        simulation.stop(1)
        client.send(produce("t"))
        assert leads(simulation) == (2, [2, 3])
        assert (_brokers(simulation), answers(client)) == ([1, 2, 3], [(0, NOT_LEADER, -1)])
        simulation.advance(SESSION_MS - 1)
        assert (simulation.cluster.lives.state_of(1), client.closed) == ("stopping", None)
        simulation.advance(1)
        assert (simulation.cluster.lives.state_of(1), client.closed) == ("stopped", "broker 1 has stopped")
        assert (leads(simulation), _brokers(simulation)) == ((2, [2]), [2])

    def test_a_controlled_shutdown_waits_until_a_resumed_broker_has_the_metadata(self, simulation: Simulation) -> None:
        simulation.pause(3)
        simulation.stop(1)
        simulation.advance(1_000)
        simulation.resume(3)
        simulation.advance(HEARS_MS - 1)
        assert simulation.cluster.lives.state_of(1) == "stopping"
        simulation.advance(1)
        assert simulation.cluster.lives.state_of(1) == "stopped"

    @pytest.mark.parametrize("is_paused_again", [False, True])
    def test_a_fenced_broker_is_unfenced_if_the_controller_still_hears_it(self, is_paused_again: bool) -> None:
        """The controller takes 30 ms for the heartbeat of a broker that has the metadata again."""
        simulation = Simulation(config=DELAY)
        simulation.topic()
        simulation.pause(3)
        simulation.advance(SESSION_MS + 30)
        simulation.resume(3)
        simulation.advance(HEARS_MS + 29)
        assert simulation.cluster.registry[3].is_fenced
        if is_paused_again:
            simulation.pause(3)
        simulation.advance(1)
        assert simulation.cluster.registry[3].is_fenced == is_paused_again

    def test_a_broker_paused_after_the_controlled_shutdown_does_not_delay_it(self, simulation: Simulation) -> None:
        simulation.kill(3)
        simulation.advance(1_000)
        simulation.stop(1)
        simulation.pause(2)
        simulation.advance(SESSION_MS - 1_000)
        assert simulation.cluster.lives.state_of(1) == "stopped"
        assert not simulation.cluster.registry[2].is_fenced

    def test_a_broker_without_leaderships_stops_without_waiting(self, simulation: Simulation) -> None:
        simulation.kill(1)
        simulation.stop(3)
        assert simulation.cluster.lives.state_of(3) == "stopped"

    def test_it_may_be_killed_while_it_waits(self, simulation: Simulation) -> None:
        simulation.kill(3)
        simulation.advance(1_000)
        simulation.stop(1)
        simulation.kill(1)
        alive = []
        for elapsed_ms in (SESSION_MS - 1_000, 1_000):
            simulation.advance(elapsed_ms)
            alive.append(simulation.cluster.registry.is_alive(1))
        assert alive == [True, False]
        simulation.start(1)
        assert leads(simulation) == (2, [1, 2])

    def test_two_may_wait_for_the_same_one(self, simulation: Simulation) -> None:
        simulation.topic("u", replicas=3)
        simulation.move_leader(2, "u", 0)
        simulation.pause(3)
        simulation.stop(1)
        simulation.stop(2)
        assert [simulation.cluster.lives.state_of(broker) for broker in (1, 2)] == ["stopping"] * 2
        simulation.resume(3)
        simulation.advance(HEARS_MS)
        assert [simulation.cluster.lives.state_of(broker) for broker in (1, 2)] == ["stopped"] * 2
        assert leads(simulation) == (3, [3])

    def test_without_a_controlled_shutdown_its_leaderships_do_not_move_first(self) -> None:
        simulation = Simulation(config={"controlled.shutdown.enable": "false"})
        simulation.topic()
        simulation.stop(1)
        assert leads(simulation) == (1, [1, 2, 3])
        simulation.advance(SESSION_MS)
        assert leads(simulation) == (2, [2, 3])


@pytest.mark.parametrize(
    ("does", "asked", "problem"),
    [
        ("stop", "pause", "broker 2 is stopped: only one that is running can be paused"),
        ("kill", "resume", "broker 2 is killed: only one that is paused can be resumed"),
        ("pause", "stop", "broker 2 is paused: resume it before it is stopped, or kill it"),
        ("pause", "start", "broker 2 is paused, not stopped: resume it"),
    ],
)
def test_what_cannot_be_done_is_refused(simulation: Simulation, does: str, asked: str, problem: str) -> None:
    getattr(simulation, does)(2)
    with pytest.raises(ValueError, match=problem):
        getattr(simulation, asked)(2)


@pytest.mark.parametrize(
    ("does", "again"), [("stop", "stop"), ("stop", "kill"), ("kill", "stop"), ("pause", "pause"), ("start", "resume")]
)
def test_what_is_so_already_changes_nothing(simulation: Simulation, does: str, again: str) -> None:
    getattr(simulation, does)(2)
    state = simulation.cluster.lives.state_of(2)
    getattr(simulation, again)(2)
    assert simulation.cluster.lives.state_of(2) == state


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation()
    made.topic()
    return made


def _brokers(simulation: Simulation) -> list[int]:
    """Return the brokers in the Metadata of broker 2."""
    client = simulation.connect(2)
    client.send(metadata(None))
    return [broker.node_id for broker in decode_response(3, 12, client.answers[0][1])[1].brokers]
