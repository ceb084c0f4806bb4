"""Apache Kafka takes tokens of fakebroker: it gets the key from the HTTP control."""

from __future__ import annotations

import pytest
from support.controlled import Controlled
from support.watchdog import wait_until

from conformance.frames import request
from conformance.sasl.sign_tokens import AUDIENCE, ISSUER
from conformance.security.user_steps import bearer
from conformance.targets.boxes import BOXES, KEYS_URL
from conformance.targets.kafka_box import KafkaBox, Unavailable, fetch_kafka
from conformance.targets.wire import SocketConnection
from fakebroker.protocol.messages import decode_response

pytestmark = [pytest.mark.languages, pytest.mark.clients]

HANDSHAKE, AUTHENTICATE = 17, 36
LISTENER = "SASL_PLAINTEXT"


def challenge(box: KafkaBox, token: str) -> bytes:
    """Return the broker's answer to a token: empty if it is taken."""
    connection = SocketConnection(box.others[LISTENER, 1])
    connection.send(request(HANDSHAKE, 1, {"mechanism": "OAUTHBEARER"}, 1))
    connection.send(request(AUTHENTICATE, 1, {"auth_bytes": bearer(token)}, 2))
    wait_until(lambda: len(connection.arrivals) == 2 or connection.closed, "the answer to a token")
    connection.close()
    return bytes(decode_response(AUTHENTICATE, 1, connection.arrivals[1].frame)[1].auth_bytes)  # type: ignore[union-attr]


def test_kafka_verifies_tokens_with_the_key_of_the_control() -> None:
    try:
        fetch_kafka()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with Controlled(brokers=1) as controlled:
        url = f"{str(controlled.http.base_url).rstrip('/')}/v1/oauth/jwks"
        signed = BOXES["signed"]
        config = {name: value.replace(KEYS_URL, url) for name, value in signed.config.items()}
        options = [option.replace(KEYS_URL, url) for option in signed.java_options]
        box = KafkaBox(1, config, listeners=[LISTENER], java_options=options)
        box.start()
        try:
            claims = {"aud": AUDIENCE, "iss": ISSUER}
            right, wrong = (
                controlled.http.post("/v1/oauth/tokens", json={"subject": "alice", "claims": claims_}).json()["token"]
                for claims_ in (claims, claims | {"iss": "another"})
            )
            assert challenge(box, right) == b""
            assert challenge(box, wrong) == b'{"status":"invalid_token"}'
        finally:
            box.stop()
