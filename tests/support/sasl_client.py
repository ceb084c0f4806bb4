"""A client that authenticates by SASL in the simulation: each message of the exchange by itself, right or wrong."""

from __future__ import annotations

import hashlib
from typing import Any

from conformance.sasl.scram_exchange import HASHES, ScramExchange
from fakebroker.core.security.identity import SASL_PLAINTEXT, Listener
from fakebroker.protocol.messages import decode_response
from support.requests import request
from support.simulation import SimulatedClient, Simulation

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE, METADATA = 18, 17, 36, 3
LISTENER = Listener(SASL_PLAINTEXT, SASL_PLAINTEXT)
USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret" user_bob="word";'
CONFIG = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": USERS,
}
SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE = 58, 33, 34


class SaslClient:
    """A client of the listener with SASL. Each method sends one request and returns its response; None if there is none
    yet."""

    def __init__(self, simulation: Simulation, broker_id: int = 1) -> None:
        self.simulation = simulation
        self.client: SimulatedClient = simulation.connect(broker_id, listener=LISTENER)

    def ask(self, api_key: int, version: int, **values: Any) -> Any:
        before = len(self.client.answers)
        self.client.send(request(api_key, version, values, correlation_id=77))
        answers = self.client.answers[before:]
        return decode_response(api_key, version, answers[0][1])[1] if answers else None

    def handshake(self, mechanism: str, version: int = 1) -> Any:
        return self.ask(SASL_HANDSHAKE, version, mechanism=mechanism)

    def authenticate(self, token: bytes, version: int = 2) -> Any:
        return self.ask(SASL_AUTHENTICATE, version, auth_bytes=token)

    def plain(self, user: str = "alice", password: str = "secret", version: int = 2) -> Any:
        """Log in by PLAIN from the handshake on."""
        self.handshake("PLAIN")
        return self.authenticate(f"\0{user}\0{password}".encode(), version)

    def scram(self, user: str, password: str, mechanism: str = "SCRAM-SHA-256", **given: Any) -> Any:
        """Log in by SCRAM from the handshake on, and return the last response."""
        self.handshake(mechanism)
        exchange = ScramExchange(mechanism, user, password, **given)
        first = self.authenticate(exchange.first())
        if first is None or first.error_code:
            return first
        last = self.authenticate(exchange.final(bytes(first.auth_bytes)))
        if last is not None and not last.error_code:
            assert exchange.is_right(bytes(last.auth_bytes))
        return last

    def answers(self) -> bool:
        """Return True if a request is handled."""
        return self.ask(METADATA, 9, topics=None) is not None

    @property
    def closed(self) -> str | None:
        return self.client.closed

    @property
    def principal(self) -> str:
        return str(self.client.connection.principal)


def add_user(simulation: Simulation, name: str, password: str, mechanism: str = "SCRAM-SHA-256") -> None:
    """Store a SCRAM credential by AlterUserScramCredentials."""
    salted = hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), b"salt", 4096)
    upsertion = {
        "name": name,
        "mechanism": list(HASHES).index(mechanism) + 1,
        "iterations": 4096,
        "salt": b"salt",
        "salted_password": salted,
    }
    client = simulation.connect()
    client.send(request(51, 0, {"deletions": [], "upsertions": [upsertion]}))
    answer: Any = decode_response(51, 0, client.answers[-1][1])[1]
    [result] = answer.results
    assert result.error_code == 0
    client.disconnect()
