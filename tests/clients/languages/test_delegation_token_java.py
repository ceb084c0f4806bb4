"""A delegation token that is renewed and expires on a manual clock. Of the clients, only Apache Kafka's own log in by
one."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from support.client_programs import program
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import request
from support.watchdog import LIMIT_S

from conformance.clients.builds import SECURED
from conformance.clients.process import ClientProcess
from fakebroker import FakeCluster
from fakebroker.core.journal.events import Login

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]

HANDSHAKE, AUTHENTICATE, CREATE, RENEW = 17, 36, 38, 39
SASL, HOUR_MS, DAY_MS = "SASL_PLAINTEXT", 3_600_000, 86_400_000
DEFAULT = timedelta(milliseconds=-1)


def test_a_token_is_renewed_and_expires() -> None:
    [java] = [client for client in SECURED if client.name == "java"]
    command, folder = program(java)
    config: dict[str, str | int | bool] = {
        "delegation.token.secret.key": "key",
        "delegation.token.expiry.time.ms": DAY_MS,
        "connection.failed.authentication.delay.ms": 0,  # while the clock stands a refusal would wait
    }
    users = {"owner": "secret"}
    with FakeCluster(brokers=1, listeners=[SASL], config=config, users=users, clock="manual") as kafka:
        kafka.create_topic("orders", partitions=1)
        token = as_owner(kafka, CREATE, renewers=[], max_lifetime=DEFAULT)
        settings = login_of(kafka, token)
        with ClientProcess(command, folder, {"do": "nothing"}, 20 * LIMIT_S) as process:
            assert "value" not in process.hear(), "it knows no such play"
            play = player(process, settings)
            assert play("created") == {"value": "created"}
            kafka.clock.advance(DAY_MS - HOUR_MS)
            as_owner(kafka, RENEW, hmac=token.hmac, renew_period=DEFAULT)
            kafka.clock.advance(DAY_MS - HOUR_MS)
            assert play("renewed") == {"value": "renewed"}
            kafka.clock.advance(2 * HOUR_MS)
            refused = play("expired")
            assert refused.get("error") == "SaslAuthenticationException", refused
        logins = [event for event in kafka.journal if isinstance(event, Login) and event.mechanism != "PLAIN"]
        assert {(login.principal, login.error) for login in logins} == {
            ("User:owner", "NONE"),
            ("", "SASL_AUTHENTICATION_FAILED"),
        }


def as_owner(kafka: FakeCluster, api_key: int, **values: Any) -> Any:
    """Return the response to a request of the owner, over a connection of its own."""
    with RawClient(kafka.brokers[1].endpoint) as owner:

        def ask(api_key: int, version: int, **values: Any) -> Any:
            _, answer = decode_response(api_key, version, owner.ask(request(api_key, version, values)))
            assert answer.error_code == 0
            return answer

        ask(HANDSHAKE, 1, mechanism="PLAIN")
        ask(AUTHENTICATE, 2, auth_bytes=b"\0owner\0secret")
        return ask(api_key, 2, **values)


def login_of(kafka: FakeCluster, token: Any) -> dict[str, Any]:
    """Return the settings of a client that logs in by a token, as Kafka's documentation has them."""
    password = b64encode(token.hmac).decode()
    settings = kafka.client_settings("java", SASL, mechanism="SCRAM-SHA-256", user=token.token_id, password=password)
    jaas = settings["sasl.jaas.config"].removesuffix(";") + ' tokenauth="true";'
    return {**settings, "sasl.jaas.config": jaas}


def player(process: ClientProcess, settings: dict[str, Any]) -> Callable[[str], dict[str, str]]:
    """Return a function that lets a new client send a value and read it, or tells its error."""

    def play(value: str) -> dict[str, str]:
        process.say({"do": "round trip", "settings": settings, "value": value, "topic": "orders"})
        return process.hear()

    return play
