"""ListConfigResources, every version (apis/configs/list_config_resources.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.simulation import SimulatedClient, Simulation

LIST_CONFIG_RESOURCES = 74
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@pytest.fixture
def client() -> SimulatedClient:
    simulation = Simulation(brokers=2)
    simulation.topic("t", replicas=1)
    simulation.stop(2)
    controller = simulation.cluster.controller
    controller.group_configs.set("g", {"consumer.session.timeout.ms": "50000"})
    controller.client_metrics.set("m", {"interval.ms": "1000"})
    return simulation.connect()


def listed(client: SimulatedClient, version: int, *kinds: int) -> Any:
    answer = ask(client, LIST_CONFIG_RESOURCES, version, resource_types=kinds)
    resources = [
        (getattr(resource, "resource_type", CLIENT_METRICS), resource.resource_name)
        for resource in answer.config_resources
    ]
    return int(answer.error_code), resources


def test_v0_lists_subscriptions(client: SimulatedClient) -> None:
    assert listed(client, 0) == (0, [(CLIENT_METRICS, "m")])


def test_v1_lists_the_kinds_that_are_asked_for(client: SimulatedClient) -> None:
    assert listed(client, 1, GROUP) == (0, [(GROUP, "g")])
    assert listed(client, 1, BROKER, GROUP, BROKER) == (0, [(GROUP, "g"), (BROKER, "1")])
    assert listed(client, 1) == (
        0,
        [(GROUP, "g"), (CLIENT_METRICS, "m"), (BROKER_LOGGER, "1"), (BROKER, "1"), (TOPIC, "t")],
    )


@pytest.mark.parametrize("kind", [0, 1, 3, 64, -1])
def test_a_kind_that_is_none(client: SimulatedClient, kind: int) -> None:
    assert listed(client, 1, GROUP, kind) == (35, [])
