"""Racks of brokers, and the responses that have them (core/broker_registry.py, cluster/members.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import METADATA
from support.simulation import Simulation

DESCRIBE_CLUSTER = 60


def racks(answer: Any) -> dict[int, str | None]:
    racks_ = {}
    for broker in answer.brokers:
        racks_[int(getattr(broker, "broker_id", getattr(broker, "node_id", -1)))] = broker.rack
    return racks_


@pytest.mark.parametrize("version", served_versions(METADATA)[1:])
def test_metadata_tells_where_brokers_stand(version: int) -> None:
    client = Simulation(brokers=3, racks={1: "a", 3: "c"}).connect()
    answer = ask(
        client,
        METADATA,
        version,
        topics=[],
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    assert racks(answer) == {1: "a", 2: None, 3: "c"}


@pytest.mark.parametrize("version", served_versions(DESCRIBE_CLUSTER))
def test_describe_cluster_tells_where_brokers_stand(version: int) -> None:
    client = Simulation(brokers=2, racks={2: "b"}).connect()
    answer = ask(
        client,
        DESCRIBE_CLUSTER,
        version,
        include_cluster_authorized_operations=False,
        endpoint_type=1,
        include_fenced_brokers=False,
    )
    assert racks(answer) == {1: None, 2: "b"}


def test_all_stand_in_the_rack_of_the_settings_unless_they_have_their_own() -> None:
    simulation = Simulation(brokers=3, config={"broker.rack": "here"}, racks={2: "there"})
    registry = simulation.cluster.registry
    assert [registry[broker_id].rack for broker_id in registry.broker_ids] == ["here", "there", "here"]


def test_a_rack_survives_the_broker() -> None:
    simulation = Simulation(brokers=2, racks={2: "b"})
    simulation.cluster.registry[2].set_endpoint("127.0.0.1", 9092)
    simulation.stop(2)
    simulation.start(2)
    assert simulation.cluster.registry[2].endpoint().rack == "b"


def test_a_rack_of_an_unknown_broker_is_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no broker 4: the ids are 1 to 3"):
        Simulation(brokers=3, racks={4: "d"})
