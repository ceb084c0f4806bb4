"""Delegation tokens, every version, over PLAINTEXT: none is issued (apis/security/)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import request
from support.simulation import SimulatedClient, Simulation

CREATE, RENEW, EXPIRE, DESCRIBE = 38, 39, 40, 41
NOT_ALLOWED = 64
DAY = timedelta(days=1)
TOKEN: dict[str, Any] = {
    "owner_principal_type": None,
    "owner_principal_name": None,
    "renewers": [],
    "max_lifetime": DAY,
}


@pytest.fixture
def client() -> SimulatedClient:
    return Simulation().connect()


@pytest.mark.parametrize("version", served_versions(CREATE))
def test_no_token_is_created_for_the_requester(client: SimulatedClient, version: int) -> None:
    answer = ask(client, CREATE, version, **TOKEN)
    assert (answer.error_code, answer.token_id, answer.hmac) == (NOT_ALLOWED, "", b"")
    assert (answer.principal_type, answer.principal_name) == ("User", "ANONYMOUS")
    assert getattr(answer, "token_requester_principal_name", "ANONYMOUS") == "ANONYMOUS"


def test_no_token_is_created_for_another_owner(client: SimulatedClient) -> None:
    answer = ask(client, CREATE, 3, **TOKEN | {"owner_principal_type": "User", "owner_principal_name": "u"})
    assert (answer.principal_name, answer.token_requester_principal_name) == ("u", "ANONYMOUS")


@pytest.mark.parametrize("version", served_versions(RENEW))
def test_no_token_is_renewed_or_expired(client: SimulatedClient, version: int) -> None:
    assert ask(client, RENEW, version, hmac=b"x", renew_period=DAY).error_code == NOT_ALLOWED
    assert ask(client, EXPIRE, version, hmac=b"x", expiry_time_period=DAY).error_code == NOT_ALLOWED


def test_a_time_that_there_is_not_is_minus_one(client: SimulatedClient) -> None:
    client.send(request(RENEW, 1, {"hmac": b"x", "renew_period": DAY}))
    ((_, frame),) = client.answers
    assert frame == bytes.fromhex("00000001 0040 ffffffffffffffff 00000000")


@pytest.mark.parametrize("version", served_versions(DESCRIBE))
@pytest.mark.parametrize("owners", [None, [], [{"principal_type": "User", "principal_name": "u"}]])
def test_none_is_described(client: SimulatedClient, version: int, owners: Any) -> None:
    answer = ask(client, DESCRIBE, version, owners=owners)
    assert (answer.error_code, answer.tokens) == (NOT_ALLOWED, ())
