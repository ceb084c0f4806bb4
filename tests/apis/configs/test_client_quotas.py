"""DescribeClientQuotas and AlterClientQuotas, every version (apis/configs/, core/quota/client_quotas.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.requests import produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.network.connection import ChannelMuteState

DESCRIBE, ALTER = 48, 49
INVALID_REQUEST = 42
Entity = list[tuple[str, str | None]]


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=2)


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def alter(
    client: SimulatedClient, *entries: tuple[Entity, dict[str, float | None]], version: int = 1, check: bool = False
) -> list[tuple[int, str | None]]:
    changes = [
        {
            "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
            "ops": [
                {"key": key, "value": 0.0 if value is None else value, "remove": value is None}
                for key, value in ops.items()
            ],
        }
        for entity, ops in entries
    ]
    answer = ask(client, ALTER, version, entries=changes, validate_only=check)
    return [(int(entry.error_code), entry.error_message) for entry in answer.entries]


def described(client: SimulatedClient, *filters: tuple[str, int, str | None], strict: bool = False) -> Any:
    components = [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in filters]
    answer = ask(client, DESCRIBE, 1, components=components, strict=strict)
    if answer.error_code:
        return int(answer.error_code), answer.error_message
    return {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {v.key: v.value for v in entry.values}
        for entry in answer.entries
    }


@pytest.mark.parametrize("version", [0, 1])
def test_what_is_set_is_described_by_any_broker(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    both: Entity = [("user", "u"), ("client-id", None)]
    assert alter(client, (both, {"producer_byte_rate": 5.0, "request_percentage": 7.5}), version=version) == [(0, None)]
    key = (("client-id", None), ("user", "u"))
    other = simulation.connect(2)
    assert described(other) == {key: {"producer_byte_rate": 5.0, "request_percentage": 7.5}}
    alter(other, (both, {"producer_byte_rate": None}))
    assert described(client) == {key: {"request_percentage": 7.5}}
    alter(client, (both, {"request_percentage": None, "consumer_byte_rate": None}))
    assert described(client) == {}


def test_what_is_only_checked_is_not_set(client: SimulatedClient) -> None:
    assert alter(client, ([("user", "u")], {"producer_byte_rate": 5.0}), check=True) == [(0, None)]
    assert described(client) == {}


def test_it_holds_from_the_next_request_on(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.topic("t", replicas=1)
    alter(client, ([("client-id", "test")], {"producer_byte_rate": 1.0}))
    client.send(produce("t", acks=1))
    assert client.connection.state is ChannelMuteState.THROTTLED


def test_filters(client: SimulatedClient) -> None:
    entities: list[Entity] = [
        [("user", "u")],
        [("user", None)],
        [("client-id", "c")],
        [("client-id", "c"), ("user", "u")],
    ]
    for entity in entities:
        alter(client, (entity, {"producer_byte_rate": 1.0}))
    alter(client, ([("ip", "1.2.3.4")], {"connection_creation_rate": 9.0}))
    names = [tuple(entity) for entity in entities]
    assert list(described(client, ("user", 0, "u"))) == [names[3], names[0]]
    assert list(described(client, ("user", 0, "u"), strict=True)) == [names[0]]
    assert list(described(client, ("user", 2, None))) == [names[3], names[0], names[1]]
    assert list(described(client, ("user", 1, None))) == [names[1]]
    assert list(described(client, ("user", 2, None), ("client-id", 0, "c"))) == [names[3]]
    assert list(described(client, ("ip", 2, None))) == [(("ip", "1.2.3.4"),)]
    assert len(described(client)) == 5
    assert described(client, strict=True) == {}


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ([("group", 2, None)], 35),
        ([("", 2, None)], INVALID_REQUEST),
        ([("user", 3, None)], INVALID_REQUEST),
        ([("user", 0, None)], INVALID_REQUEST),
        ([("user", 1, "u")], INVALID_REQUEST),
        ([("user", 2, "u")], INVALID_REQUEST),
        ([("user", 2, None), ("user", 2, None)], INVALID_REQUEST),
        ([("user", 2, None), ("ip", 2, None)], INVALID_REQUEST),
    ],
)
def test_filters_that_cannot_be(client: SimulatedClient, filters: Any, code: int) -> None:
    assert described(client, *filters)[0] == code


def test_each_entity_on_its_own_and_the_first_of_one_that_comes_twice(client: SimulatedClient) -> None:
    good: Entity = [("user", "u")]
    answers = alter(
        client,
        (good, {"producer_byte_rate": 1.0}),
        ([("ip", "nobody.invalid")], {"connection_creation_rate": 1.0}),
        (good, {"producer_byte_rate": 2.0}),
    )
    assert answers == [
        (INVALID_REQUEST, "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})"),
        (INVALID_REQUEST, "nobody.invalid is not a valid IP or resolvable host."),
    ]
    assert described(client) == {(("user", "u"),): {"producer_byte_rate": 1.0}}
