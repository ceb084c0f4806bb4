"""Delegation tokens over their whole life, and logins with them (core/security/delegation_tokens.py)."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.requests import request
from support.sasl_client import CONFIG, SaslClient
from support.simulation import START_WALL_MS, Simulation

CREATE, RENEW, EXPIRE, DESCRIBE = 38, 39, 40, 41
DAY_MS, WEEK_MS = 86_400_000, 604_800_000
TOKENS = CONFIG | {"delegation.token.secret.key": "key", "connections.max.idle.ms": "-1"}
NOT_ALLOWED, DISABLED, INVALID_TYPE, NOT_FOUND, MISMATCH, EXPIRED = 64, 61, 67, 62, 63, 66


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=1, config=TOKENS)


def logged_in(simulation: Simulation, user: str = "alice") -> SaslClient:
    client = SaslClient(simulation)
    client.plain(user, {"alice": "secret", "bob": "word"}[user])
    return client


def create(client: SaslClient, lifetime_ms: int = -1, *renewers: str, **owner: Any) -> Any:
    values = {
        "owner_principal_type": owner.get("kind"),
        "owner_principal_name": owner.get("name"),
        "renewers": [{"principal_type": "User", "principal_name": name} for name in renewers],
        "max_lifetime": timedelta(milliseconds=lifetime_ms),
    }
    return client.ask(CREATE, 3, **values)


def renew(client: SaslClient, hmac: bytes, period_ms: int = -1) -> Any:
    return client.ask(RENEW, 2, hmac=hmac, renew_period=timedelta(milliseconds=period_ms))


def expire(client: SaslClient, hmac: bytes, period_ms: int = -1) -> Any:
    return client.ask(EXPIRE, 2, hmac=hmac, expiry_time_period=timedelta(milliseconds=period_ms))


def described(client: SaslClient, *owners: str) -> list[str]:
    principals = [{"principal_type": "User", "principal_name": owner} for owner in owners]
    answer = client.ask(DESCRIBE, 3, owners=principals or None)
    assert answer.error_code == 0
    return [token.token_id for token in answer.tokens]


def after_ms(time: datetime) -> int:
    return round(time.timestamp() * 1000) - START_WALL_MS


def test_a_token_lasts_a_day_and_at_most_a_week(simulation: Simulation) -> None:
    token = create(logged_in(simulation))
    assert (token.error_code, token.principal_name, token.token_requester_principal_name) == (0, "alice", "alice")
    assert [after_ms(token.issue_timestamp), after_ms(token.expiry_timestamp)] == [0, DAY_MS]
    assert after_ms(token.max_timestamp) == WEEK_MS
    assert (len(token.token_id), len(token.hmac)) == (22, 64)


@pytest.mark.parametrize(("lifetime_ms", "expiry_ms", "max_ms"), [(1000, 1000, 1000), (WEEK_MS * 2, DAY_MS, WEEK_MS)])
def test_a_lifetime_is_cut_at_that_of_the_broker(
    simulation: Simulation, lifetime_ms: int, expiry_ms: int, max_ms: int
) -> None:
    token = create(logged_in(simulation), lifetime_ms)
    assert (after_ms(token.expiry_timestamp), after_ms(token.max_timestamp)) == (expiry_ms, max_ms)


def test_a_token_expires_in_the_year_9999_at_the_latest() -> None:
    longest = str((1 << 63) - 1)
    config = TOKENS | {"delegation.token.max.lifetime.ms": longest, "delegation.token.expiry.time.ms": longest}
    client = logged_in(Simulation(brokers=1, config=config))
    token = create(client)
    assert (token.max_timestamp.year, token.expiry_timestamp.year) == (9999, 9999)
    assert renew(client, token.hmac).expiry_timestamp.year == 9999


def test_a_renewal_moves_the_expiry_up_to_the_maximum(simulation: Simulation) -> None:
    client = logged_in(simulation)
    token = create(client)
    for day in range(1, 10):
        simulation.advance(DAY_MS - 1000)
        answer = renew(client, token.hmac)
        now_ms = day * (DAY_MS - 1000)
        if now_ms > WEEK_MS:
            assert answer.error_code in (NOT_FOUND, EXPIRED)
        else:
            assert after_ms(answer.expiry_timestamp) == min(now_ms + DAY_MS, WEEK_MS)
    assert described(client) == []


def test_owner_and_renewers_may_renew_and_expire(simulation: Simulation) -> None:
    alice, bob = logged_in(simulation), logged_in(simulation, "bob")
    own, shared = create(alice), create(alice, -1, "bob")
    assert renew(bob, own.hmac).error_code == MISMATCH
    assert expire(bob, own.hmac).error_code == MISMATCH
    assert after_ms(renew(bob, shared.hmac, 5000).expiry_timestamp) == 5000
    assert after_ms(expire(bob, shared.hmac, 3000).expiry_timestamp) == 3000
    assert after_ms(expire(bob, shared.hmac).expiry_timestamp) == 0
    assert expire(bob, shared.hmac).error_code == NOT_FOUND
    assert renew(alice, b"x").error_code == NOT_FOUND


def test_tokens_are_described_by_owner_requester_and_renewer(simulation: Simulation) -> None:
    alice, bob = logged_in(simulation), logged_in(simulation, "bob")
    first, second = create(alice), create(alice, -1, "bob")
    third = create(bob, kind="User", name="carol")
    assert described(alice) == [first.token_id, second.token_id, third.token_id]
    assert described(alice, "bob") == [second.token_id, third.token_id]
    assert described(alice, "carol", "alice") == [first.token_id, second.token_id, third.token_id]
    assert described(alice, "dave") == []


def test_an_expired_token_is_removed_at_the_interval(simulation: Simulation) -> None:
    client = logged_in(simulation)
    token = create(client, 1000)
    simulation.advance(1000)
    assert renew(client, token.hmac, 500).error_code == 0
    simulation.advance(1)
    assert renew(client, token.hmac).error_code == EXPIRED
    assert expire(client, token.hmac, 0).error_code == EXPIRED
    assert described(client) == [token.token_id]
    simulation.advance(3_600_000)
    assert described(client) == []


def test_a_renewer_is_a_user(simulation: Simulation) -> None:
    values = {
        "owner_principal_type": None,
        "owner_principal_name": None,
        "renewers": [{"principal_type": "Group", "principal_name": "g"}],
        "max_lifetime": timedelta(0),
    }
    client = logged_in(simulation)
    client.client.send(request(CREATE, 3, values))
    assert client.client.answers[-1][1][5:7] == INVALID_TYPE.to_bytes(2, "big")


def test_without_a_key_there_are_no_tokens() -> None:
    client = logged_in(Simulation(brokers=1, config=CONFIG))
    assert create(client).error_code == DISABLED
    assert renew(client, b"x").error_code == DISABLED
    assert expire(client, b"x").error_code == DISABLED
    assert client.ask(DESCRIBE, 3, owners=None).error_code == DISABLED


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_client_logs_in_with_a_token_and_is_its_owner(simulation: Simulation, mechanism: str) -> None:
    token = create(logged_in(simulation), 60_000)
    client = SaslClient(simulation)
    password = b64encode(token.hmac).decode()
    answer = client.scram(token.token_id, password, mechanism, extensions=",tokenauth=true")
    assert (answer.error_code, answer.session_lifetime) == (0, timedelta(seconds=60))
    assert client.principal == "User:alice"
    assert create(client).error_code == NOT_ALLOWED
    assert client.ask(DESCRIBE, 3, owners=None).error_code == NOT_ALLOWED
    simulation.advance(60_000)
    assert client.answers()
    simulation.advance(1)
    assert not client.answers()


def test_a_wrong_hmac_and_a_removed_token_are_refused(simulation: Simulation) -> None:
    owner = logged_in(simulation)
    token = create(owner)
    extensions = ",tokenauth=true"
    assert SaslClient(simulation).scram(token.token_id, "wrong", extensions=extensions) is None
    password = b64encode(token.hmac).decode()
    assert SaslClient(simulation).scram(token.token_id, password) is None  # without tokenauth it is a user
    expire(owner, token.hmac)
    assert SaslClient(simulation).scram(token.token_id, password, extensions=extensions) is None


def test_a_login_with_an_expired_token_begins_a_session_that_has_ended(simulation: Simulation) -> None:
    token = create(logged_in(simulation), 1000)
    simulation.advance(2000)
    client = SaslClient(simulation)
    answer = client.scram(token.token_id, b64encode(token.hmac).decode(), extensions=",tokenauth=true")
    assert (answer.error_code, answer.session_lifetime) == (0, timedelta(0))
    assert not client.answers()
