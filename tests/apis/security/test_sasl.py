"""SaslHandshake and SaslAuthenticate, every version, at a listener without SASL (apis/security/)."""

from __future__ import annotations

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
ILLEGAL_SASL_STATE = 34


@pytest.fixture
def client() -> SimulatedClient:
    return Simulation().connect()


@pytest.mark.parametrize("version", served_versions(SASL_HANDSHAKE))
def test_a_handshake_gets_no_mechanisms_and_the_connection_stays_open(client: SimulatedClient, version: int) -> None:
    for mechanism in ("PLAIN", ""):
        answer = ask(client, SASL_HANDSHAKE, version, mechanism=mechanism)
        assert (answer.error_code, answer.mechanisms) == (ILLEGAL_SASL_STATE, ())


@pytest.mark.parametrize("version", served_versions(SASL_AUTHENTICATE))
def test_a_sasl_authenticate_gets_illegal_sasl_state_each_time(client: SimulatedClient, version: int) -> None:
    for _ in range(2):
        answer = ask(client, SASL_AUTHENTICATE, version, auth_bytes=b"\0u\0p")
        assert answer.error_code == ILLEGAL_SASL_STATE
        assert answer.error_message == "SaslAuthenticate request received after successful authentication"
        assert answer.auth_bytes == b""
