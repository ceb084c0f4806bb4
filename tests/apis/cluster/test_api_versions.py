"""ApiVersions, every version (apis/cluster/api_versions.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.messages import decode_response
from support.requests import API_VERSIONS, Produced, api_versions, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.apis import registry

VERSIONS = served_versions(API_VERSIONS)

INVALID_REQUEST = 42
METADATA = 3


@pytest.fixture
def client() -> SimulatedClient:
    simulation = Simulation()
    simulation.topic()
    return simulation.connect()


def asked(client: SimulatedClient, version: int, name: str = "test", software_version: str = "1.0") -> Any:
    return ask(client, API_VERSIONS, version, client_software_name=name, client_software_version=software_version)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_keys_come_in_order_and_once(client: SimulatedClient, version: int) -> None:
    keys = [entry.api_key for entry in asked(client, version).api_keys]

    assert keys == sorted(key for key, api in registry.load().items() if api.is_advertised)


@pytest.mark.parametrize("version", VERSIONS)
def test_it_may_be_asked_again_and_again(client: SimulatedClient, version: int) -> None:
    assert asked(client, version) == asked(client, version)


def test_it_may_be_asked_between_other_requests(client: SimulatedClient) -> None:
    client.send(produce("t"), api_versions(0, correlation_id=2), produce("t"))

    first, versions, second = (frame for _, frame in client.answers)
    assert [Produced(frame).partitions for frame in (first, second)] == [{0: (0, 0)}, {0: (0, 1)}]
    assert decode_response(API_VERSIONS, 0, versions)[0] == 2


@pytest.mark.parametrize(
    ("cluster", "node", "error"),
    [
        (None, -1, 0),
        ("here", 1, 0),
        ("here", 2, 129),
        ("elsewhere", 1, 129),
        ("", 1, 129),
        (None, 1, 42),
        ("here", -1, 42),
    ],
)
def test_a_client_that_names_another_cluster_or_broker_gets_an_error(
    client: SimulatedClient, cluster: str | None, node: int, error: int
) -> None:
    """The connection stays open."""
    nothing = {"topics": [], "include_topic_authorized_operations": False}
    here = ask(client, METADATA, 12, **nothing).cluster_id
    values: dict[str, Any] = {"cluster_id": here if cluster == "here" else cluster, "node_id": node}
    answer = ask(client, API_VERSIONS, 5, client_software_name="test", client_software_version="1.0", **values)
    assert (int(answer.error_code), bool(answer.api_keys)) == (error, error == 0)
    assert ask(client, METADATA, 12, **nothing).cluster_id == here


@pytest.mark.parametrize("version", served_versions(API_VERSIONS, 1))
def test_nothing_is_throttled(client: SimulatedClient, version: int) -> None:
    assert asked(client, version).throttle_time.total_seconds() == 0


@pytest.mark.parametrize("version", served_versions(API_VERSIONS, 3))
def test_features_are_those_of_what_is_served(client: SimulatedClient, version: int) -> None:
    answer = asked(client, version)
    supported = {feature.name: (feature.min_version, feature.max_version) for feature in answer.supported_features}
    finalized = {feature.name: feature.max_version_level for feature in answer.finalized_features}

    assert answer.finalized_features_epoch == 1
    assert (supported["metadata.version"], finalized["metadata.version"]) == ((7, 33), 33)
    assert ("group.version" in finalized) == (68 in registry.load())
    assert ("transaction.version" in finalized) == (26 in registry.load() and registry.load()[26].serves(5))
    # Features with a lowest level of 0 are in the response from v4 on.
    assert supported.keys() == (finalized.keys() if version >= 4 else {"metadata.version"})


@pytest.mark.parametrize("version", served_versions(API_VERSIONS, 3))
@pytest.mark.parametrize("text", ["a", "librdkafka", "apache-kafka-java", "4.1.0", "v2.0.0-rc.1", "A1", "0"])
def test_software_of_kafkas_form_is_taken(client: SimulatedClient, version: int, text: str) -> None:
    assert asked(client, version, name=text, software_version=text).error_code == 0


@pytest.mark.parametrize("version", served_versions(API_VERSIONS, 3))
@pytest.mark.parametrize("text", ["", "-a", "a-", ".a", "a.", "a b", "a_b", "ä", "a\n"])
@pytest.mark.parametrize("field", ["name", "software_version"])
def test_software_of_another_form_is_refused_in_the_layout_of_its_version(
    client: SimulatedClient, version: int, text: str, field: str
) -> None:
    answer = asked(client, version, **{field: text})

    assert (int(answer.error_code), answer.api_keys) == (INVALID_REQUEST, ())
