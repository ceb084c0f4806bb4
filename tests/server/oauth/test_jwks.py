"""Public keys of tokens from a file: `sasl.oauthbearer.jwks.endpoint.url` (server/oauth/jwks.py)."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from support.sasl_client import CONFIG, LISTENER, SaslClient
from support.simulation import START_WALL_MS, Simulation
from support.watchdog import run

from fakebroker import FakeCluster
from fakebroker.core.errors import ConfigError
from fakebroker.core.security.sasl.oauth_bearer import TokenRefused
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.oauth.jwks import parse_keys, verifier_of
from fakebroker.server.oauth.tokens import TokenSigner

pytest.importorskip("joserfc", reason="the extra security is not installed")

HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
PREFIX = "listener.name.sasl_plaintext.oauthbearer.sasl"
SIGNER = TokenSigner()
NOW_S = START_WALL_MS // 1000


def settings(path: Path) -> dict[str, Any]:
    return {
        f"{PREFIX}.server.callback.handler.class": HANDLER,
        f"{PREFIX}.oauthbearer.jwks.endpoint.url": path.as_uri(),
    }


def written(folder: Path, content: Any) -> Path:
    path = folder / "keys of another.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def logs_in(simulation: Simulation, token: str) -> bool:
    client = SaslClient(simulation)
    assert client.handshake("OAUTHBEARER").error_code == 0
    answer = client.ask(36, 2, auth_bytes=f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    return answer is not None and not answer.auth_bytes and answer.error_code == 0


def test_a_listener_takes_the_tokens_of_the_keys_in_its_file(tmp_path: Path) -> None:
    url = written(tmp_path, SIGNER.jwks).as_uri()
    simulation = Simulation(brokers=1, config=CONFIG | settings(tmp_path / "keys of another.json"))
    mechanisms = simulation.cluster.sasl.mechanisms
    assert mechanisms.jwks_url(1, LISTENER) == url
    own = TokenSigner()
    mechanisms.verify, mechanisms.keys[url] = own.verify, verifier_of(url)
    claims = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 3600}

    assert logs_in(simulation, SIGNER.sign(claims))
    assert not logs_in(simulation, own.sign(claims))
    assert not logs_in(simulation, SIGNER.sign(claims | {"exp": NOW_S - 3600}))


def test_without_the_class_that_checks_signatures_no_key_is_read(tmp_path: Path) -> None:
    given = settings(tmp_path / "nowhere.json")
    del given[f"{PREFIX}.server.callback.handler.class"]
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"], config=CONFIG | given) as kafka:
        assert kafka.bootstrap_servers


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file"),
        ("no json", "is no set of keys"),
        ("[]", "is no set of keys"),
        ('{"keys": 5}', "is no set of keys"),
        ('{"keys": [5]}', "is no set of keys"),
        ('{"keys": null}', "is no set of keys"),
        ("{}", "is no set of keys"),
        ('{"keys": {}}', "is no set of keys"),
        ('{"keys": [""]}', "is no set of keys"),
        ("\xff", "is no set of keys"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_at_the_start(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "keys of another.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    cluster = AsyncFakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"], config=CONFIG | settings(path))
    with pytest.raises(ConfigError, match=words) as refused:
        run(cluster.start())
    assert "jwks.endpoint.url" in str(refused.value)


@pytest.mark.parametrize(
    "url", ["file://elsewhere/keys.json", "http://localhost/keys", "keys.json", "file://[", "http://["]
)
def test_a_url_that_is_no_file_of_this_machine_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="keys are read from a file"):
        verifier_of(url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///a%00b", "cannot be read: embedded null byte"),
        ("file:///\ud800", "cannot be read: .*surrogates not allowed"),
        ("file:///dev/zero", "/dev/zero cannot be read: it is a pipe, a socket or a device, and not a file"),
        ("file:///", "/ cannot be read: it is a directory"),
        (f"file:///{'a' * 5000}", "cannot be read: File name too long"),
    ],
)
def test_what_is_no_file_is_refused(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        verifier_of(url)
    assert str(refused.value).startswith("sasl.oauthbearer.jwks.endpoint.url: ")


def test_the_scheme_of_a_file_has_no_case(tmp_path: Path) -> None:
    url = written(tmp_path, SIGNER.jwks).as_uri()
    assert verifier_of(url.replace("file:", "FILE:"))(SIGNER.sign({"sub": "alice"})) == {"sub": "alice"}


def test_a_key_of_another_type_or_use_does_not_verify(tmp_path: Path) -> None:
    [key] = SIGNER.jwks["keys"]
    token = SIGNER.sign({"sub": "alice"})
    symmetric = {"kty": "oct", "k": "AAAA", "kid": "fakebroker"}
    for keys in ([], [symmetric], [key | {"kid": "other"}], [key | {"use": "enc"}]):
        verify = verifier_of(written(tmp_path, {"keys": keys}).as_uri())
        with pytest.raises(TokenRefused, match="no key with the id 'fakebroker' is for ES256"):
            verify(token)
    without_id = {name: value for name, value in key.items() if name not in ("kid", "use", "alg")}
    with pytest.raises(TokenRefused):
        verifier_of(written(tmp_path, {"keys": [without_id]}).as_uri())(token)
    assert verifier_of(written(tmp_path, {"keys": [symmetric, key]}).as_uri())(token) == {"sub": "alice"}


UNUSABLE: list[Any] = [
    {"kty": "EC", "crv": "P-256"},
    {"kty": "EC", "crv": "P-9", "x": "AA", "y": "AA"},
    {"kty": "RSA", "n": "AA", "e": "AQAB"},
    {"kty": "RSA", "n": "ALv9", "e": "AQAB", "kid": [1]},
    {"kty": "\n" * 10_000},
    {"kty": []},
    {"kty": "oct", "k": "AAAA"},
    {},
    None,
]


@pytest.mark.parametrize("unusable", UNUSABLE, ids=range(len(UNUSABLE)))
def test_a_key_that_cannot_be_used_is_left_out(unusable: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, {"keys": [unusable, *SIGNER.jwks["keys"]]})
    assert verifier_of(path.as_uri())(SIGNER.sign({"sub": "alice"})) == {"sub": "alice"}
    [warning] = caplog.messages
    assert f"jwks.endpoint.url: {path} has keys that cannot be used: keys[0] " in warning
    assert (len(warning) < 500, "\n" in warning) == (True, False)


def test_a_set_without_a_usable_key_refuses_all_tokens(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = written(tmp_path, {"keys": UNUSABLE})
    with FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"], config=CONFIG | settings(path)):
        pass
    [warning] = caplog.messages
    assert warning.endswith(", and 6 more")
    with pytest.raises(TokenRefused, match="no key with the id"):
        verifier_of(path.as_uri())(SIGNER.sign({"sub": "alice"}))


def test_the_private_members_of_a_key_are_not_read() -> None:
    """The search for the primes takes seconds for a few thousand bits, and no other thread runs meanwhile."""
    modulus = b64encode(((1 << 32_767) + 1).to_bytes(4_096, "big")).decode().rstrip("=")
    key = {"kty": "RSA", "n": modulus, "e": "AQAB", "d": "AQAB"}
    keys, left_out = parse_keys(json.dumps({"keys": [key]}).encode(), "here")
    assert (len(keys), left_out) == (1, "")
    assert not keys[0].key.is_private
