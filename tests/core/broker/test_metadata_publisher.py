"""Coordinators are informed of deleted topics, also those of a broker that was paused meanwhile."""

from __future__ import annotations

from support import transactions
from support.asking import ask
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


def test_the_coordinator_has_no_transaction_when_the_topic_of_its_log_is_deleted() -> None:
    simulation = transactions.with_coordinator(transaction_state_log_num_partitions="1")
    client = simulation.connect()
    _, producer_id, epoch = transactions.init(client)
    assert transactions.add(client, (producer_id, epoch), 0) == {0: NONE}
    simulation.delete_topic("__transaction_state")
    [described] = ask(client, transactions.DESCRIBE_TXN, 0, transactional_ids=["tx"]).transaction_states
    assert int(described.error_code) == NOT_COORDINATOR
    assert transactions.end(client, (producer_id, epoch))[0] == NOT_COORDINATOR
