"""Coordinators are informed of new and deleted topics, also those of a broker that was paused meanwhile."""

from __future__ import annotations

from support import transactions
from support.asking import ask
from support.consumer_member import ConsumerHarness, held
from support.offsets import commit, fetch, with_coordinator
from support.simulation import Simulation

NONE, NOT_COORDINATOR = 0, 16


def test_a_broker_that_was_paused_when_a_topic_was_deleted_forgets_its_committed_offsets() -> None:
    simulation = with_coordinator(Simulation())
    for topic in ("t", "other"):
        simulation.topic(topic)
    committed = {("t", 0): 5, ("other", 0): 7}
    assert set(commit(simulation, simulation.connect(), "g", dict(committed)).values()) == {NONE}
    simulation.pause(1)
    simulation.delete_topic("t")
    simulation.resume(1)
    simulation.advance(100)  # the broker catches up with the controller
    assert fetch(simulation, simulation.connect(), {"g": None})["g"] == {("other", 0): (7, -1, "")}


def test_a_broker_that_was_paused_when_a_topic_was_created_assigns_its_partitions() -> None:
    harness = ConsumerHarness(brokers=3, config={"group.consumer.assignment.interval.ms": "0"})
    joined = harness.join("m", "new")
    assert harness.heartbeat("m", joined.member_epoch) == joined._replace(assignment=None)
    harness.simulation.pause(1)
    topic = harness.topic("new", 1)
    harness.simulation.resume(1)
    harness.advance(100)  # the broker catches up with the controller
    assert held(harness.heartbeat("m", joined.member_epoch)) == {(topic, 0)}


def test_a_broker_that_was_paused_when_another_became_coordinator_has_no_groups() -> None:
    simulation = with_coordinator(Simulation())
    simulation.topic()
    assert commit(simulation, simulation.connect(1), "g", {("t", 0): 5}) == {("t", 0): NONE}
    simulation.pause(1)
    simulation.move_leader(2, "__consumer_offsets")
    simulation.resume(1)
    simulation.advance(100)  # the broker catches up with the controller
    offsets: dict[str, list[tuple[str, int]] | None] = {"g": [("t", 0)]}
    assert fetch(simulation, simulation.connect(1), offsets) == {"g": NOT_COORDINATOR}
    assert fetch(simulation, simulation.connect(2), offsets) == {"g": {("t", 0): (5, -1, "")}}


def test_the_coordinator_has_no_group_when_the_topic_of_its_log_is_deleted() -> None:
    simulation = with_coordinator(Simulation(config={"offsets.topic.num.partitions": "1"}))
    simulation.topic()
    client = simulation.connect()
    assert commit(simulation, client, "g", {("t", 0): 5}) == {("t", 0): NONE}
    simulation.delete_topic("__consumer_offsets")
    assert fetch(simulation, client, {"g": [("t", 0)]}) == {"g": NOT_COORDINATOR}


def test_the_coordinator_has_no_transaction_when_the_topic_of_its_log_is_deleted() -> None:
    simulation = transactions.with_coordinator(transaction_state_log_num_partitions="1")
    client = simulation.connect()
    _, producer_id, epoch = transactions.init(client)
    assert transactions.add(client, (producer_id, epoch), 0) == {0: NONE}
    simulation.delete_topic("__transaction_state")
    [described] = ask(client, transactions.DESCRIBE_TXN, 0, transactional_ids=["tx"]).transaction_states
    assert int(described.error_code) == NOT_COORDINATOR
    assert transactions.end(client, (producer_id, epoch))[0] == NOT_COORDINATOR
