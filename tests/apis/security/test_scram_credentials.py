"""AlterUserScramCredentials and DescribeUserScramCredentials (apis/security/, core/security/scram_credentials.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.simulation import SimulatedClient, Simulation

DESCRIBE, ALTER = 50, 51
NOT_FOUND, DUPLICATE, UNACCEPTABLE, UNSUPPORTED, UNKNOWN = 91, 92, 93, 33, -1


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=2)


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def upsertion(name: str, mechanism: int = 1, iterations: int = 4096, password: bytes = b"p") -> dict[str, Any]:
    return {
        "name": name,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": b"s",
        "salted_password": password,
    }


def alter(client: SimulatedClient, *upsertions: dict[str, Any], delete: tuple[tuple[str, int], ...] = ()) -> Any:
    deletions = [{"name": name, "mechanism": mechanism} for name, mechanism in delete]
    answer = ask(client, ALTER, 0, deletions=deletions, upsertions=upsertions)
    return {result.user: int(result.error_code) for result in answer.results}


def described(client: SimulatedClient, *users: str) -> dict[str, Any]:
    answer = ask(client, DESCRIBE, 0, users=[{"name": user} for user in users] or None)
    assert (answer.error_code, answer.error_message) == (0, "")
    return {
        result.user: [(info.mechanism, info.iterations) for info in result.credential_infos]
        if result.error_code == 0
        else int(result.error_code)
        for result in answer.results
    }


def test_they_are_kept_for_all_brokers(simulation: Simulation, client: SimulatedClient) -> None:
    assert alter(client, upsertion("b"), upsertion("a", 2, 16_384)) == {"b": 0, "a": 0}
    assert alter(client, upsertion("a", 1, 5000)) == {"a": 0}
    other = simulation.connect(2)
    assert described(other) == {"a": [(1, 5000), (2, 16_384)], "b": [(1, 4096)]}
    assert described(other, "b", "nobody") == {"b": [(1, 4096)], "nobody": NOT_FOUND}
    assert described(other, "a", "a") == {"a": DUPLICATE}


def test_they_are_deleted_one_by_one(client: SimulatedClient) -> None:
    alter(client, upsertion("a", 1))
    alter(client, upsertion("a", 2))
    assert alter(client, delete=(("a", 1), ("nobody", 1))) == {"a": 0, "nobody": NOT_FOUND}
    assert described(client) == {"a": [(2, 4096)]}
    assert alter(client, delete=(("a", 1),)) == {"a": NOT_FOUND}
    assert alter(client, delete=(("a", 2),)) == {"a": 0}
    assert described(client) == {}


def test_a_user_named_twice_is_not_altered(client: SimulatedClient) -> None:
    alter(client, upsertion("a"))
    assert alter(client, upsertion("u"), upsertion("v"), upsertion("u", 2)) == {"v": 0, "u": DUPLICATE}
    assert alter(client, upsertion("a", 2), delete=(("a", 1),)) == {"a": DUPLICATE}
    assert alter(client, delete=(("a", 1), ("a", 1))) == {"a": DUPLICATE}
    assert alter(client, delete=(("a", 2), ("a", 1))) == {"a": NOT_FOUND}  # an error before: the second is passed over
    assert described(client) == {"a": [(1, 4096)], "v": [(1, 4096)]}


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (upsertion(""), UNACCEPTABLE),
        (upsertion("u", 0), UNSUPPORTED),
        (upsertion("u", 3), UNSUPPORTED),
        (upsertion("u", iterations=4095), UNACCEPTABLE),
        (upsertion("u", iterations=16_385), UNACCEPTABLE),
        (upsertion("u", password=b""), UNKNOWN),
    ],
)
def test_what_none_can_be(client: SimulatedClient, bad: dict[str, Any], code: int) -> None:
    assert alter(client, bad, upsertion("good")) == {"good": 0, bad["name"]: code}
    assert described(client) == {"good": [(1, 4096)]}
