"""GetTelemetrySubscriptions (apis/configs/get_telemetry_subscriptions.py) and PushTelemetry
(apis/configs/push_telemetry.py), which belong together."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from support.asking import ask
from support.requests import API_VERSIONS
from support.simulation import SimulatedClient, Simulation

from fakebroker.protocol.compression import compress

GET, PUSH = 71, 72
ME = UUID(int=0xC0FFEE)
THROTTLED, INVALID_REQUEST, UNSUPPORTED_CODEC, INVALID_RECORD, UNKNOWN_SUBSCRIPTION, TOO_LARGE = (
    89,
    42,
    76,
    87,
    117,
    118,
)


@pytest.fixture
def simulation() -> Simulation:
    return Simulation()


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def get(client: SimulatedClient, me: UUID | None = ME) -> Any:
    return ask(client, GET, 0, client_instance_id=me)


def push(client: SimulatedClient, subscription_id: int, me: UUID | None = ME, **values: Any) -> int:
    defaults = {"terminating": False, "compression_type": 0, "metrics": b"m"}
    request_ = {"client_instance_id": me, "subscription_id": subscription_id} | defaults | values
    return int(ask(client, PUSH, 0, **request_).error_code)


def subscribe(simulation: Simulation, name: str, **texts: str) -> None:
    configs = {key.replace("_", "."): text for key, text in texts.items()}
    simulation.cluster.controller.client_metrics.set(name, configs)


def test_without_a_subscription_there_is_nothing_to_push(client: SimulatedClient) -> None:
    answer = get(client)

    assert (answer.error_code, answer.client_instance_id) == (0, ME)
    assert answer.requested_metrics == ()
    assert answer.push_interval.total_seconds() == 300
    assert answer.accepted_compression_types == (4, 3, 1, 2)
    assert (answer.telemetry_max_bytes, answer.delta_temporality) == (1_048_576, True)


def test_a_client_without_an_id_gets_one(client: SimulatedClient) -> None:
    first, second = get(client, None), get(client, None)

    assert None not in (first.client_instance_id, second.client_instance_id)
    assert first.client_instance_id != second.client_instance_id


def test_the_union_of_what_matches_at_the_shortest_interval(simulation: Simulation, client: SimulatedClient) -> None:
    subscribe(simulation, "one", metrics="a,b", interval_ms="60000", match="client_id=t.*")
    subscribe(simulation, "two", metrics="b,c", interval_ms="50000")
    subscribe(simulation, "three", metrics="d", interval_ms="100", match="client_id=es")  # the whole of it is to match
    answer = get(client)

    assert sorted(answer.requested_metrics) == ["a", "b", "c"]
    assert answer.push_interval.total_seconds() == 50


def test_a_subscription_to_all_metrics_lists_nothing_else(simulation: Simulation, client: SimulatedClient) -> None:
    subscribe(simulation, "one", metrics="a,b")
    subscribe(simulation, "two", metrics="*")

    assert get(client).requested_metrics == ("*",)


def test_software_is_what_api_versions_was_told(simulation: Simulation, client: SimulatedClient) -> None:
    subscribe(simulation, "one", metrics="a", match="client_software_name=mine,client_software_version=1[.]0")
    subscribe(simulation, "two", metrics="b", match="client_software_name=unknown")
    assert get(client).requested_metrics == ("b",)
    ask(client, API_VERSIONS, 3, client_software_name="mine", client_software_version="1.0")
    assert get(client, UUID(int=2)).requested_metrics == ("a",)
    ask(client, API_VERSIONS, 0)
    assert get(client, UUID(int=3)).requested_metrics == ("b",)


def test_it_may_ask_again_when_the_interval_is_over(simulation: Simulation, client: SimulatedClient) -> None:
    subscribe(simulation, "one", metrics="a", interval_ms="1000")
    assert get(client).error_code == 0
    simulation.advance(999)
    assert get(client).error_code == THROTTLED
    simulation.advance(1)
    assert get(client).error_code == 0


def test_it_may_ask_at_once_when_a_subscription_was_altered(simulation: Simulation, client: SimulatedClient) -> None:
    before = get(client)
    subscribe(simulation, "one", metrics="a")
    after = get(client)

    assert (before.error_code, after.error_code, after.requested_metrics) == (0, 0, ("a",))
    assert before.subscription_id != after.subscription_id
    subscribe(simulation, "one")
    assert get(client).subscription_id == before.subscription_id


def test_one_push_behind_a_question_and_then_one_each_interval(simulation: Simulation, client: SimulatedClient) -> None:
    subscription_id = get(client).subscription_id
    simulation.advance(5)

    assert push(client, subscription_id) == 0
    assert push(client, subscription_id) == THROTTLED
    simulation.advance(300_000)
    assert push(client, subscription_id) == 0


def test_another_subscription_is_unknown_and_then_it_may_ask_at_once(client: SimulatedClient) -> None:
    assert push(client, 5) == UNKNOWN_SUBSCRIPTION
    assert get(client).error_code == 0
    assert get(client).error_code == THROTTLED


def test_no_push_is_accepted_after_the_terminating_one(client: SimulatedClient) -> None:
    subscription_id = get(client).subscription_id

    assert push(client, subscription_id) == 0
    assert push(client, subscription_id, terminating=True) == 0  # however early
    assert push(client, subscription_id) == INVALID_REQUEST
    assert push(client, subscription_id) == THROTTLED


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_what_is_pushed_is_decompressed(client: SimulatedClient, codec: int) -> None:
    whole, broken = get(client), get(client, UUID(int=2))

    assert push(client, whole.subscription_id, compression_type=codec, metrics=compress(codec, b"m" * 99)) == 0
    assert (
        push(client, broken.subscription_id, UUID(int=2), compression_type=codec, metrics=b"not that codec")
        == INVALID_RECORD
    )


@pytest.mark.parametrize("codec", [-1, 5])
def test_a_codec_that_is_none(client: SimulatedClient, codec: int) -> None:
    assert push(client, get(client).subscription_id, compression_type=codec) == UNSUPPORTED_CODEC
    assert get(client).error_code == 0


@pytest.mark.parametrize(("size", "error"), [(100, 0), (101, TOO_LARGE)])
def test_telemetry_max_bytes(size: int, error: int) -> None:
    client = Simulation(config={"telemetry.max.bytes": "100"}).connect()

    assert push(client, get(client).subscription_id, metrics=bytes(size)) == error


@pytest.mark.parametrize("reserved", [None, UUID(int=1)])
def test_ids_that_are_nobodys_do_not_push(client: SimulatedClient, reserved: UUID | None) -> None:
    assert push(client, 0, reserved) == INVALID_REQUEST


def test_an_instance_goes_with_its_connection(simulation: Simulation, client: SimulatedClient) -> None:
    other = simulation.connect()
    assert get(client).error_code == 0
    assert get(other).error_code == THROTTLED
    client.disconnect()
    assert get(other).error_code == 0


def test_an_instance_is_forgotten_after_three_intervals() -> None:
    simulation = Simulation(config={"connections.max.idle.ms": "-1"})
    client = simulation.connect()
    subscription_id = get(client).subscription_id
    assert push(client, subscription_id, terminating=True) == 0
    simulation.advance(899_999)
    assert push(client, subscription_id, terminating=True) == INVALID_REQUEST
    simulation.advance(900_000)
    assert push(client, subscription_id, terminating=True) == 0
