"""Apache Kafka and fakebroker judge the same tokens with the keys of the same server."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Event, Thread
from typing import Any

import pytest

pytest.importorskip("joserfc", reason="the extra security is not installed")

from joserfc.jwk import ECKey, OctKey
from support.key_sets import ACCEPTED, CHOICES, OTHER, OTHER_RSA, OURS, RSA, WIDER, entry, set_and_token, signed
from support.watchdog import wait_until

from conformance.frames import request
from conformance.sasl.sign_tokens import AUDIENCE, ISSUER
from conformance.security.user_steps import bearer
from conformance.targets.boxes import BOXES, KEYS_URL
from conformance.targets.kafka_box import KafkaBox, Unavailable, fetch_kafka
from conformance.targets.wire import SocketConnection
from fakebroker import FakeCluster
from fakebroker.protocol.messages import decode_response

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.filterwarnings("ignore:Key size should be")]

HANDSHAKE, AUTHENTICATE = 17, 36
LISTENER = "SASL_PLAINTEXT"
CLAIMS = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": 1_700_000_000, "exp": 4_000_000_000}
TAKEN, INVALID = b"", b'{"status":"invalid_token"}'
KEYS = [entry(OURS, kid="first"), entry(RSA, kid="rsa"), {"kty": "EC", "kid": "unusable", "crv": "P-256"}]


class KeyServer:
    """A server of one set of keys, each request on a thread of its own. It responds while `is_open` is set."""

    def __init__(self) -> None:
        self.keys = KEYS
        self.is_open = Event()
        self.is_open.set()
        keys_server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                keys_server.is_open.wait()
                body = json.dumps({"keys": keys_server.keys}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/keys"

    def close(self) -> None:
        self.is_open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Side:
    """A listener with OAUTHBEARER, and the server of its keys."""

    def __init__(self, place: tuple[str, int], server: KeyServer) -> None:
        self.server = server
        self._place = place
        self._numbers = count()

    def judge(self, token: str) -> bytes | None:
        """Return the response to a token: empty if it is taken. None stands for a closed connection."""
        connection = SocketConnection(self._place)
        connection.send(request(HANDSHAKE, 1, {"mechanism": "OAUTHBEARER"}, 1))
        connection.send(request(AUTHENTICATE, 1, {"auth_bytes": bearer(token)}, 2))
        wait_until(lambda: len(connection.arrivals) == 2 or connection.closed, "the response to a token")
        connection.close()
        if len(connection.arrivals) < 2:
            return None
        return bytes(decode_response(AUTHENTICATE, 1, connection.arrivals[1].frame)[1].auth_bytes)  # type: ignore[union-attr]

    def await_judgement(self, token: str, judgement: bytes) -> None:
        """Wait for the judgement of a token after a change of the keys. Tokens that name unknown keys have the keys
        fetched."""

        def is_there() -> bool:
            if self.judge(token) == judgement:
                return True
            self.judge(signed(OURS, {"alg": "ES256", "kid": f"unknown-{next(self._numbers)}"}, CLAIMS))
            return False

        wait_until(is_there, "the fetch of keys")


@pytest.fixture(scope="module")
def sides() -> Iterator[dict[str, Side]]:
    """Return both sides by name, each with a server of its own."""
    try:
        fetch_kafka()
    except Unavailable as reason:
        pytest.skip(str(reason))
    signed_box = BOXES["signed"]
    with ExitStack() as stack:
        servers = [KeyServer() for _ in range(2)]
        for server in servers:
            stack.callback(server.close)
        ours, kafkas = (
            {name: text.replace(KEYS_URL, server.url) for name, text in signed_box.config.items()} for server in servers
        )
        kafka = stack.enter_context(FakeCluster(brokers=1, listeners=[LISTENER], config=ours))
        options = [option.replace(KEYS_URL, servers[1].url) for option in signed_box.java_options]
        box = KafkaBox(1, kafkas, listeners=[LISTENER], java_options=options)
        stack.callback(box.stop)
        box.start()
        host, _, port = kafka.bootstrap(LISTENER).rpartition(":")
        yield {
            "fakebroker": Side((host, int(port)), servers[0]),
            "Kafka": Side(box.others[LISTENER, 1], servers[1]),
        }


def token(key: Any = OURS, kid: str | None = "first", alg: str | None = None, **claims: Any) -> str:
    header = {"alg": alg or ("ES256" if isinstance(key, ECKey) else "RS256")} | ({} if kid is None else {"kid": kid})
    return signed(key, header, {name: value for name, value in (CLAIMS | claims).items() if value is not None})


def test_a_new_key_is_refused_until_it_is_fetched(sides: dict[str, Side]) -> None:
    for side in sides.values():
        side.server.keys = KEYS
        side.await_judgement(token(), TAKEN)
        side.server.is_open.clear()
        side.server.keys = [*KEYS, entry(OTHER, kid="later")]
        later = token(OTHER, "later")
        assert side.judge(later) == INVALID
        side.server.is_open.set()
        side.await_judgement(later, TAKEN)
        side.server.keys = KEYS
        side.await_judgement(later, INVALID)
        assert side.judge(token()) == TAKEN


def test_tokens_are_judged_as_by_kafka(sides: dict[str, Side]) -> None:
    for side in sides.values():
        side.server.keys = KEYS
        side.await_judgement(token(), TAKEN)
    secret = OctKey.import_key(str(RSA.as_dict(private=False)["n"]))
    tokens = {
        "right": token(),
        "right, of RSA": token(RSA, "rsa"),
        "right, by PSS": token(RSA, "rsa", "PS512"),
        "without kid": token(kid=None),
        "unknown kid": token(kid="nobody"),
        "wrong key": token(OTHER),
        "kid of another type": token(kid="rsa"),
        "kid of a key that is left out": token(kid="unusable"),
        "another curve": token(WIDER, "first", "ES384"),
        "none": token(alg="none"),
        "none with a signature": f"{token(alg='none')}AAAA",
        "HMAC with a part of the public key": token(secret, "rsa", "HS256"),
        "wrong issuer": token(iss=f"{ISSUER}/"),
        "without issuer": token(iss=None),
        "wrong audience": token(aud="another"),
        "without audience": token(aud=None),
        "expired": token(exp=1_700_000_001),
        "without expiry": token(exp=None),
    }
    judged = {
        name: {token_name: side.judge(text) for token_name, text in tokens.items()} for name, side in sides.items()
    }
    assert judged["fakebroker"] == judged["Kafka"]
    accepted = [token_name for token_name, verdict in judged["Kafka"].items() if verdict == TAKEN]
    assert accepted == ["right", "right, of RSA", "right, by PSS", "without kid"]


def test_kafka_takes_the_key_of_a_token_from_the_same_sets(sides: dict[str, Side]) -> None:
    """A key of another type, by which a set is recognized when it is fetched, has no effect on the choice."""
    judged: dict[str, dict[str, bytes | None]] = {name: {} for name in sides}
    for name in CHOICES:
        keys, text, _ = set_and_token(name, CLAIMS)
        sign = OTHER_RSA if token_is_ec(text) else OTHER
        for side_name, side in sides.items():
            side.server.keys = [*keys, entry(sign, kid=f"set of {name}")]
            side.await_judgement(token(sign, f"set of {name}"), TAKEN)
            judged[side_name][name] = side.judge(text)
    assert judged["fakebroker"] == judged["Kafka"]
    assert {name: verdict == TAKEN for name, verdict in judged["Kafka"].items()} == {
        name: result == ACCEPTED for name, (*_, result) in CHOICES.items()
    }


def token_is_ec(text: str) -> bool:
    return b'"ES256"' in urlsafe_b64decode(text.partition(".")[0] + "==")
