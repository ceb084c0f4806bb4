"""InitProducerId, every version (apis/produce/init_producer_id.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import INIT_PRODUCER_ID
from support.simulation import SimulatedClient, Simulation

VERSIONS = served_versions(INIT_PRODUCER_ID)

NOT_COORDINATOR, INVALID_REQUEST = 16, 42

DEFAULTS = {
    "transactional_id": None,
    "transaction_timeout": timedelta(minutes=1),
    "producer_id": -1,
    "producer_epoch": -1,
}


def asked(client: SimulatedClient, version: int, **values: Any) -> tuple[int, int, int]:
    """(error, id, epoch)."""
    answer = ask(client, INIT_PRODUCER_ID, version, **(DEFAULTS | values))
    return int(answer.error_code), answer.producer_id, answer.producer_epoch


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=3)


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_producer_gets_an_id_with_epoch_0(client: SimulatedClient, version: int) -> None:
    code, producer_id, epoch = asked(client, version)

    assert (code, epoch) == (0, 0)
    assert producer_id >= 0


def test_no_id_is_given_twice_in_the_cluster(simulation: Simulation) -> None:
    clients = [simulation.connect(broker_id) for broker_id in (1, 2, 3)]
    given = [asked(client, 5)[1] for _ in range(1_100) for client in clients]  # more than a broker's block holds

    assert len(set(given)) == len(given)


@pytest.mark.parametrize("version", served_versions(INIT_PRODUCER_ID, 3))
def test_a_producer_that_brings_its_id_gets_a_fresh_one(client: SimulatedClient, version: int) -> None:
    _, first, _ = asked(client, version)
    code, second, epoch = asked(client, version, producer_id=first, producer_epoch=0)

    assert (code, epoch) == (0, 0)
    assert second != first


@pytest.mark.parametrize("version", served_versions(INIT_PRODUCER_ID, 3))
@pytest.mark.parametrize("values", [{"producer_id": 5}, {"producer_epoch": 0}], ids=["id only", "epoch only"])
def test_an_id_without_an_epoch_or_the_reverse_is_refused(
    client: SimulatedClient, version: int, values: dict[str, int]
) -> None:
    assert asked(client, version, **values) == (INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_transactional_id_is_refused(client: SimulatedClient, version: int) -> None:
    assert asked(client, version, transactional_id="") == (INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_transactional_id_is_of_its_coordinator(client: SimulatedClient, version: int) -> None:
    assert asked(client, version, transactional_id="tx") == (NOT_COORDINATOR, -1, -1)
