"""Hanging transactions: a partition has records of one that its coordinator does not have, so it never ends."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.simulation import SimulatedClient, Simulation
from support.transacting import produce
from support.transactions import MARKERS, end, init, with_coordinator

DESCRIBE_PRODUCERS = 61
INVALID_STATE, ABORTABLE = 48, 120
VERIFICATION = "transaction.partition.verification.enable"
BEFORE_VERSION_2 = 9  # of Produce


def set_verification(simulation: Simulation, value: str | None) -> None:
    simulation.cluster.admin.alter_broker_configs({VERIFICATION: value}, simulation.now)


def open_since(client: SimulatedClient) -> list[int]:
    answer = ask(client, DESCRIBE_PRODUCERS, 0, topics=[{"name": "t", "partition_indexes": [0]}])
    return [producer.current_txn_start_offset for producer in answer.topics[0].partitions[0].active_producers]


def abort(client: SimulatedClient, producer: tuple[int, int]) -> int:
    """Abort the transaction like kafka-transactions.sh abort."""
    marker: dict[str, Any] = {
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "transaction_result": False,
        "topics": [{"name": "t", "partition_indexes": [0]}],
        "coordinator_epoch": 0,
    }
    answer = ask(client, MARKERS, 1, markers=[marker])
    return int(answer.markers[0].topics[0].partitions[0].error_code)


def test_without_verification_a_transaction_hangs_and_an_admin_aborts_it() -> None:
    simulation = with_coordinator(transaction_partition_verification_enable="false")
    client = simulation.connect()
    _, *producer = init(client)
    lost = producer[0], producer[1]
    assert produce(client, lost, version=BEFORE_VERSION_2) == 0
    assert end(client, lost, version=4)[0] == INVALID_STATE  # its coordinator has nothing to end
    log = simulation.partition("t", 0).leader_log
    assert (open_since(client), log.last_stable_offset, log.log_end_offset) == ([0], 0, 1)
    assert abort(client, lost) == 0
    assert (open_since(client), log.last_stable_offset, log.log_end_offset) == ([-1], 2, 2)


@pytest.mark.parametrize(("version", "error"), [(9, INVALID_STATE), (11, ABORTABLE)])
def test_verification_is_turned_off_and_on_while_brokers_run(version: int, error: int) -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, *producer = init(client)
    lost = producer[0], producer[1]
    assert produce(client, lost, version=version) == error
    set_verification(simulation, "false")
    assert produce(client, lost, version=version) == 0
    assert abort(client, lost) == 0
    set_verification(simulation, None)
    assert produce(client, lost, sequence=1, version=version) == error
    assert end(client, lost, version=4)[0] == INVALID_STATE


def test_a_broker_may_have_it_otherwise() -> None:
    simulation = with_coordinator()
    simulation.cluster.members.broker_configs.alter({VERIFICATION: "false"}, 1)
    client = simulation.connect()
    _, *producer = init(client)
    assert produce(client, (producer[0], producer[1]), version=BEFORE_VERSION_2) == 0
