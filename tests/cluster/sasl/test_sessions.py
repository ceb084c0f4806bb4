"""Sessions of authenticated clients: how long they last, and how they are renewed (KIP-368)."""

from __future__ import annotations

from typing import Any

import pytest
from support.requests import batch, produce
from support.sasl_client import CONFIG, ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED, SaslClient, add_user
from support.simulation import Simulation

from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.protocol.messages import decode_response

HOUR_MS = 3_600_000
DELAY_MS = 100
NOT_IDLE = {"connections.max.idle.ms": "-1"}


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=1, config=CONFIG | NOT_IDLE | {"connections.max.reauth.ms": str(HOUR_MS)})


@pytest.fixture
def client(simulation: Simulation) -> SaslClient:
    return SaslClient(simulation)


def test_the_client_learns_how_long_its_session_lasts(simulation: Simulation) -> None:
    assert SaslClient(simulation).plain().session_lifetime.total_seconds() == 3600
    assert SaslClient(Simulation(brokers=1, config=CONFIG)).plain().session_lifetime.total_seconds() == 0


def test_a_session_ends_with_the_next_request_after_its_last_millisecond(
    simulation: Simulation, client: SaslClient
) -> None:
    client.plain()
    simulation.advance(HOUR_MS)
    assert client.answers()
    simulation.advance(1)
    assert client.closed is None
    assert not client.answers()
    assert client.closed == "the session of the client has expired"


def test_a_client_renews_its_session_also_after_its_end(simulation: Simulation, client: SaslClient) -> None:
    client.plain()
    for _ in range(3):
        simulation.advance(HOUR_MS + 5)
        assert client.plain().session_lifetime.total_seconds() == 3600
        assert client.answers()


def test_another_principal_is_refused(simulation: Simulation, client: SaslClient) -> None:
    client.plain()
    simulation.advance(2000)
    assert client.plain("bob", "word") is None
    simulation.advance(DELAY_MS)
    frame = client.client.answers[-1][1]
    assert frame[5:7] == SASL_AUTHENTICATION_FAILED.to_bytes(2, "big")
    assert b"Cannot change principals during re-authentication from User.alice: User.bob" in frame


def test_another_mechanism_is_refused_with_the_next_token(simulation: Simulation, client: SaslClient) -> None:
    client.plain()
    simulation.advance(2000)
    assert client.handshake("SCRAM-SHA-256").error_code == 0
    before = len(client.client.answers)
    client.authenticate(b"n,,n=alice,r=x")
    simulation.advance(DELAY_MS)
    assert len(client.client.answers) == before
    assert client.closed == (
        "failed authentication: SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for "
        "re-authentication of mechanism 'PLAIN'"
    )


def test_an_unsupported_mechanism_of_a_renewal_has_no_response(client: SaslClient) -> None:
    client.plain()
    assert client.handshake("GSSAPI") is None
    assert client.closed == "failed authentication: Unsupported SASL mechanism GSSAPI"


def test_a_wrong_password_ends_the_connection(simulation: Simulation, client: SaslClient) -> None:
    client.plain()
    simulation.advance(2000)
    client.plain(password="wrong")
    simulation.advance(DELAY_MS)
    assert client.closed is not None


def test_a_session_is_renewed_at_most_once_a_second(simulation: Simulation, client: SaslClient) -> None:
    client.plain()
    assert client.plain().error_code == 0
    simulation.advance(999)
    assert client.handshake("PLAIN").error_code == ILLEGAL_SASL_STATE
    simulation.advance(1)
    assert client.plain().error_code == 0


def test_a_request_during_a_renewal_is_refused(simulation: Simulation, client: SaslClient) -> None:
    client.plain()
    client.handshake("PLAIN")
    assert not client.answers()
    simulation.advance(DELAY_MS)
    assert client.closed is not None


def test_a_mechanism_may_have_sessions_of_its_own_length() -> None:
    prefix = "listener.name.sasl_plaintext."
    config = {f"{prefix}connections.max.reauth.ms": "7000", f"{prefix}scram-sha-256.connections.max.reauth.ms": "8000"}
    simulation = Simulation(brokers=1, config=CONFIG | config)
    add_user(simulation, "carol", "word")
    assert SaslClient(simulation).plain().session_lifetime.total_seconds() == 7
    assert SaslClient(simulation).scram("carol", "word").session_lifetime.total_seconds() == 8


def test_a_quota_counts_by_the_user_of_the_login() -> None:
    simulation = Simulation(brokers=1, config=CONFIG)
    simulation.topic("t", replicas=1)
    simulation.cluster.members.client_quotas.alter(QuotaEntity("alice", None), {"producer_byte_rate": 10})
    alice, bob = SaslClient(simulation), SaslClient(simulation)
    alice.plain()
    bob.plain("bob", "word")
    for client in (alice, bob):
        client.client.send(produce("t", records=batch(b"x" * 1000)))
    assert throttled_ms(alice) > 0
    assert throttled_ms(bob) == 0


def throttled_ms(client: SaslClient) -> int:
    """Return the throttle time of the last response, to a Produce."""
    answer: Any = decode_response(0, 9, client.client.answers[-1][1])[1]
    return int(answer.throttle_time.total_seconds() * 1000)


def test_sessions_of_a_user_end_on_request() -> None:
    simulation = Simulation(brokers=1, config=CONFIG)
    clients = [SaslClient(simulation) for _ in range(4)]
    for client in clients[:2]:
        client.plain()
    clients[2].plain("bob", "word")
    clients[3].handshake("PLAIN")
    assert simulation.cluster.admin.expire_sessions("alice", simulation.now) == 2
    assert clients[2].answers()
    assert not clients[0].answers()
    assert clients[0].closed == "the session of the client has expired"
    assert clients[1].plain().error_code == 0  # it renews its session, and has no end again
    assert clients[1].answers()
    assert simulation.cluster.admin.expire_sessions(None, simulation.now) == 2


def test_skipped_time_does_not_end_a_session() -> None:
    simulation = Simulation(brokers=1, config=CONFIG | NOT_IDLE | {"connections.max.reauth.ms": "5000"})
    client = SaslClient(simulation)
    client.plain()
    simulation.cluster.skip(60_000)
    simulation.skipped_ms += 60_000
    simulation.run_until(0)
    assert client.answers()
