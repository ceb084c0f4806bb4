"""DescribeCluster, every version (apis/cluster/describe_cluster.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

DESCRIBE_CLUSTER = 60

# As for the newest version: what an older one has no field for is left out.
REQUEST: dict[str, Any] = {
    "include_cluster_authorized_operations": False,
    "endpoint_type": 1,
    "include_fenced_brokers": False,
}


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=3)


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


@pytest.mark.parametrize("version", served_versions(DESCRIBE_CLUSTER))
def test_the_brokers_that_run_are_told(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    simulation.stop(2)
    answer = ask(client, DESCRIBE_CLUSTER, version, **REQUEST)

    assert (answer.error_code, answer.error_message) == (0, None)
    assert answer.cluster_id == simulation.cluster.metadata.cluster_id
    assert answer.controller_id == 1
    assert [(broker.broker_id, broker.host, broker.port, broker.rack) for broker in answer.brokers] == [
        (1, "127.0.0.1", 0, None),
        (3, "127.0.0.1", 0, None),
    ]
    assert getattr(answer, "endpoint_type", 1) == 1


@pytest.mark.parametrize("include", [False, True])
def test_those_that_do_not_run_are_told_on_request(
    simulation: Simulation, client: SimulatedClient, include: bool
) -> None:
    simulation.stop(2)
    answer = ask(client, DESCRIBE_CLUSTER, 2, **REQUEST | {"include_fenced_brokers": include})

    expected = {1: False, 2: True, 3: False} if include else {1: False, 3: False}
    assert {broker.broker_id: broker.is_fenced for broker in answer.brokers} == expected


def test_a_broker_that_runs_again_is_not_fenced(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.stop(2)
    simulation.start(2)
    answer = ask(client, DESCRIBE_CLUSTER, 2, **REQUEST | {"include_fenced_brokers": True})

    assert [(broker.broker_id, broker.is_fenced) for broker in answer.brokers] == [(1, False), (2, False), (3, False)]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("endpoint_type", "error", "text"),
    [
        (2, 114, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"),
        (0, 115, "Unsupported endpoint type 0"),
        (3, 115, "Unsupported endpoint type 3"),
        (-1, 115, "Unsupported endpoint type -1"),
    ],
)
def test_only_broker_endpoints_are_described(
    client: SimulatedClient, version: int, endpoint_type: int, error: int, text: str
) -> None:
    answer = ask(client, DESCRIBE_CLUSTER, version, **REQUEST | {"endpoint_type": endpoint_type})

    assert (answer.error_code, answer.error_message) == (error, text)
    assert (answer.cluster_id, answer.controller_id, answer.brokers) == ("", -1, ())


@pytest.mark.parametrize("version", served_versions(DESCRIBE_CLUSTER))
def test_what_is_allowed_is_told_on_request(client: SimulatedClient, version: int) -> None:
    """Bits of CREATE 5, ALTER 7, DESCRIBE 8, CLUSTER_ACTION 9, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11 and
    IDEMPOTENT_WRITE 12 (AclOperation)."""
    allowed, not_asked = (
        ask(client, DESCRIBE_CLUSTER, version, **REQUEST | {"include_cluster_authorized_operations": wanted})
        for wanted in (True, False)
    )

    assert allowed.cluster_authorized_operations == sum(1 << code for code in (5, 7, 8, 9, 10, 11, 12))
    assert not_asked.cluster_authorized_operations == -(1 << 31)
