"""Public keys of tokens from an authorization server (server/oauth/http_keys.py)."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext
from typing import Any

import pytest
from support.ports import free_ports, is_open
from support.watchdog import LIMIT_S, run, until, within

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import ConfigError
from fakebroker.core.security.sasl.oauth_bearer import TokenRefused
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.oauth import http_keys
from fakebroker.server.oauth.http_keys import HttpKeys
from fakebroker.server.oauth.jwks import is_of_server
from fakebroker.server.oauth.tokens import TokenSigner
from fakebroker.server.turn.turns import turns

pytest.importorskip("joserfc", reason="the extra security is not installed")

SIGNER, LATER = TokenSigner(), TokenSigner()
TOKEN = SIGNER.sign({"sub": "alice"})
CLAIMS = {"sub": "alice"}
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
PREFIX = "listener.name.sasl_plaintext.oauthbearer.sasl"
ENDPOINT = "sasl.oauthbearer.jwks.endpoint."


_TURNS_TO_TAKE = 5  # from accepting a connection to the first step of `take`


@pytest.fixture(autouse=True)
def without_limits_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a fetch follow another one at once, and take as long as a busy machine needs."""
    monkeypatch.setattr(http_keys, "_REPRIEVE_S", 0.0)
    monkeypatch.setattr(http_keys, "_MOST_S", LIMIT_S)


class KeyServer:
    """A server of one set of keys. `response` is all that it sends; None stalls."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.url = ""
        self.response: bytes | None = b""
        self.closes = True
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.serve_keys(SIGNER.jwks)

    def serve_keys(self, keys: Any) -> None:
        body = json.dumps(keys).encode()
        self.response = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                self.requests.append(await within(reader.readuntil(b"\r\n\r\n"), "a request for keys"))
                await within(self.goes_on.wait(), "the end of a stall")
                if self.response is not None:
                    writer.write(self.response)
                if self.response is None or not self.closes:
                    await within(reader.read(), "the end of the client")
        finally:
            writer.close()
            with suppress(OSError):
                await within(writer.wait_closed(), "the end of the connection")
            self.connections -= 1


@asynccontextmanager
async def key_server(tls: SSLContext | None = None) -> AsyncIterator[KeyServer]:
    keys = KeyServer()
    server = await asyncio.start_server(keys.take, "127.0.0.1", 0, ssl=tls)
    async with server:
        scheme = "http" if tls is None else "https"
        keys.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys?set=1"
        yield keys
        server.close()
        await turns(_TURNS_TO_TAKE)
        await until(lambda: keys.connections == 0, "the end of the connections")


@asynccontextmanager
async def fetched(server: KeyServer, **pauses: int) -> AsyncIterator[HttpKeys]:
    config = {f"{ENDPOINT}{name.replace('_', '.')}": str(value) for name, value in pauses.items()}
    keys = HttpKeys(server.url, BrokerConfig().with_text(config))
    await keys.begin()
    try:
        yield keys
    finally:
        keys.stop()


def is_taken(keys: HttpKeys, token: str) -> bool:
    try:
        return keys.verify(token) == CLAIMS
    except TokenRefused:
        return False


def renamed(signer: TokenSigner, key_id: str) -> dict[str, Any]:
    return {"keys": [key | {"kid": key_id} for key in signer.jwks["keys"]]}


def test_keys_are_fetched_before_the_first_token() -> None:
    async def test() -> None:
        async with key_server() as server, fetched(server) as keys:
            assert keys.verify(TOKEN) == CLAIMS
            assert not is_taken(keys, LATER.sign(CLAIMS))
            [request] = server.requests
            assert request.startswith(b"GET /keys?set=1 HTTP/1.1\r\nHost: 127.0.0.1:")

    run(test())


def test_an_unknown_key_is_fetched_once_a_minute() -> None:
    async def test() -> None:
        async with key_server() as server:
            server.serve_keys(renamed(SIGNER, "old"))
            async with fetched(server) as keys:
                assert not is_taken(keys, TOKEN)  # Its key has another id.
                await until(lambda: len(server.requests) == 2, "a second fetch")
                server.serve_keys(SIGNER.jwks)
                assert not is_taken(keys, TOKEN)  # The id is known to be unknown.
                assert keys._wanted.is_set() is False
                keys._missing.clear()
                assert not is_taken(keys, TOKEN)
                await until(lambda: is_taken(keys, TOKEN), "the key")
                assert len(server.requests) == 3
                assert keys._missing == {}

    run(test())


def test_an_unknown_key_is_fetched_again_after_a_minute_of_tries() -> None:
    async def test() -> None:
        async with key_server() as server, fetched(server) as keys:
            keys._expedite("often")
            keys._expedite("other")
            [(_, until_s), _] = keys._missing.items()
            assert until_s > asyncio.get_running_loop().time()
            keys._expedite("often")
            assert list(keys._missing) == ["other", "often"]
            assert keys._missing["often"] == until_s
            await until(lambda: len(server.requests) == 2, "the fetch")
            keys._missing["often"] = 0.0
            keys._expedite("often")
            assert keys._missing["often"] >= until_s
            await until(lambda: len(server.requests) == 3, "the next fetch")

    run(test())


def test_fetches_for_many_unknown_keys_have_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with key_server() as server, fetched(server) as keys:
            monkeypatch.setattr(http_keys, "_REPRIEVE_S", 600.0)
            keys._expedite("first")
            await until(lambda: keys._refreshed_s > 0, "a fetch")
            for number in range(20):
                keys._expedite(str(number))
                await until(lambda: not keys._wanted.is_set(), "the task")
            await turns(_TURNS_TO_TAKE)
            assert len(server.requests) == 2
            keys.use(await keys.fetch())
            keys._expedite("later")
            await until(lambda: len(server.requests) == 4, "a fetch")

    run(test())


def test_a_set_without_keys_is_fetched_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        monkeypatch.setattr(http_keys, "_REPRIEVE_S", 600.0)
        async with key_server() as server:
            server.serve_keys({"keys": []})
            async with fetched(server) as keys:
                keys._expedite("first")
                await until(lambda: keys._refreshed_s > 0, "a fetch")
                server.serve_keys(SIGNER.jwks)
                assert not is_taken(keys, TOKEN)
                await until(lambda: is_taken(keys, TOKEN), "the key")

    run(test())


def test_ids_of_unknown_keys_take_little_memory() -> None:
    async def test() -> None:
        async with key_server() as server, fetched(server) as keys:
            for number in range(100):
                keys._expedite(str(number))
            keys._expedite("x" * 1_001)
            keys._expedite(None)
            assert list(keys._missing) == [str(number) for number in range(84, 100)]

    run(test())


def test_keys_are_fetched_again_after_the_interval() -> None:
    async def test() -> None:
        async with key_server() as server, fetched(server, refresh_ms=1) as keys:
            server.serve_keys(LATER.jwks)
            await until(lambda: is_taken(keys, LATER.sign(CLAIMS)), "the new key")
            assert not is_taken(keys, TOKEN)

    run(test())


TOO_LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}"
UNAVAILABLE = b"HTTP/1.1 503 Later\r\n\r\n"


def test_a_fetch_that_fails_is_repeated() -> None:
    async def test() -> None:
        pauses = {"refresh_ms": 1, "retry_backoff_ms": 1, "retry_backoff_max_ms": 600_000}
        async with key_server() as server, fetched(server, **pauses) as keys:
            server.response = UNAVAILABLE
            so_far = len(server.requests)
            await until(lambda: len(server.requests) >= so_far + 4, "repetitions")
            assert keys.verify(TOKEN) == CLAIMS
            server.serve_keys(LATER.jwks)
            await until(lambda: is_taken(keys, LATER.sign(CLAIMS)), "the new key")

    run(test())


@pytest.mark.parametrize(
    ("response", "words"),
    [(UNAVAILABLE, ["the server responds with 503 Later"]), (TOO_LONG, ["without sending complete message body"])],
    ids=["unavailable", "long"],
)
def test_keys_stay_while_they_cannot_be_fetched(
    response: bytes, words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with key_server() as server, fetched(server, refresh_ms=1, retry_backoff_max_ms=0) as keys:
            server.response = response
            await until(lambda: "the keys of tokens stay as they are" in caplog.text, "a warning")
            assert any(word in caplog.text for word in words)
            assert keys.verify(TOKEN) == CLAIMS
            server.serve_keys(LATER.jwks)
            await until(lambda: is_taken(keys, LATER.sign(CLAIMS)), "the new key")

    with caplog.at_level(logging.WARNING, "fakebroker"):
        run(test())


def test_keys_that_cannot_be_used_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with key_server() as server:
            server.serve_keys({"keys": [{"kty": "EC"}, *SIGNER.jwks["keys"]]})
            async with fetched(server, refresh_ms=1) as keys:
                await until(lambda: len(server.requests) > 3, "refreshes")
                assert keys.verify(TOKEN) == CLAIMS
                server.serve_keys({"keys": [{"kty": "X"}, *LATER.jwks["keys"]]})
                await until(lambda: is_taken(keys, LATER.sign(CLAIMS)), "the new key")

    run(test())
    messages = [record.getMessage() for record in caplog.records if record.name == "fakebroker"]
    without_curve, of_another_type = (message.partition("keys[0] ")[2] for message in messages)
    assert "'crv' is required" in without_curve  # the rest are words of the library
    assert of_another_type == "is of the type 'X', and not EC or RSA"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"


@pytest.mark.parametrize("form", [CHUNKED, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"])
def test_a_response_is_read_of_a_server_that_leaves_the_connection_open(form: bytes) -> None:
    async def test() -> None:
        async with key_server() as server:
            body = json.dumps(SIGNER.jwks).encode()
            server.response, server.closes = form % (len(body), body), False
            async with fetched(server) as keys:
                assert keys.verify(TOKEN) == CLAIMS

    run(test())


def test_a_response_in_chunks_is_read() -> None:
    async def test() -> None:
        async with key_server() as server:
            body = json.dumps(SIGNER.jwks).encode()
            server.response = CHUNKED % (len(body), body)
            async with fetched(server) as keys:
                assert keys.verify(TOKEN) == CLAIMS

    run(test())


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "the server responds with 404 Not Found"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "the server responds with 302 Found"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "without sending complete message body"),
        (TOO_LONG, "without sending complete message body"),
        (CHUNKED % (1 << 64, b"{}"), "without sending complete message body"),
        (CHUNKED % (1 << 80, b"{}"), "illegal chunk header"),
        (b"HTTP/1.1 200 OK\r\n\r\n[]", "is no set of keys"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "is no set of keys"),
        (b"SSH-2.0\r\n", "without a response"),
        (b"SSH-2.0\r\n\r\n", "illegal status line"),
        (b"", "without a response"),
        (b"HTTP/1.1 200 OK\r\nX: " + b" " * (1 << 17), "Receive buffer too long"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000, "more than 1048576 bytes"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (1 << 20), "more than 1048576 bytes"),
        (None, "no whole response within"),
    ],
    ids=[
        *("missing", "moved", "short", "long", "long chunk", "longer chunk", "no keys", "no keys of a length"),
        *("a line", "no HTTP", "nothing", "large header", "many responses", "large", "stalled"),
    ],
)
def test_a_cluster_does_not_start_without_its_keys(
    response: bytes | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if response is None:
        monkeypatch.setattr(http_keys, "_MOST_S", 0.05)

    async def test() -> None:
        async with key_server() as server:
            server.response = response
            with pytest.raises(ConfigError, match=words) as refused:
                await of_keys(server.url).start()
            assert f"{ENDPOINT}url: {server.url} " in str(refused.value)

    run(test())


def of_keys(url: str, brokers: int = 1, others: Sequence[str] = ()) -> AsyncFakeCluster:
    config = {f"{PREFIX}.server.callback.handler.class": HANDLER, f"{PREFIX}.oauthbearer.jwks.endpoint.url": url}
    listeners = ["SASL_PLAINTEXT"]
    for number, other in enumerate(others):
        prefix = PREFIX.replace("sasl_plaintext", f"other{number}")
        config |= {f"{prefix}.server.callback.handler.class": HANDLER}
        config |= {f"{prefix}.oauthbearer.jwks.endpoint.url": other}
        listeners.append(f"OTHER{number}=SASL_PLAINTEXT://127.0.0.1:0")
    return AsyncFakeCluster(brokers=brokers, listeners=listeners, config=config)


@pytest.mark.parametrize(
    "url",
    [
        *("http://", "http://localhost:x/keys", "http://localhost/a b", "https:///keys", "http://["),
        *("http://a..b/", "http://.../", f"http://{'x' * 70}/", "http://.local/"),
    ],
)
def test_a_url_without_a_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="a server is named as in") as refused:
        run(of_keys(url).start())
    assert f"{ENDPOINT}url={url}: " in str(refused.value)


def test_a_host_with_a_name_of_more_characters_than_names_have_is_not_found() -> None:
    with pytest.raises(ConfigError, match="cannot be read: "):
        run(of_keys(f"http://{'.'.join(['a' * 60] * 10)}/keys").start())


def test_the_scheme_of_a_url_has_no_case() -> None:
    assert is_of_server("HTTP://127.0.0.1/keys")
    assert is_of_server("Https:")
    assert not is_of_server("FILE:///keys.json")
    assert not is_of_server("httpx:")

    async def test() -> None:
        async with key_server() as server:
            server.url = server.url.replace("http:", "HTTP:")
            async with fetched(server):
                assert server.requests

    run(test())


def test_a_server_of_keys_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, http_keys.__name__)
    monkeypatch.setitem(sys.modules, "h11", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs h11, which is not installed: pip install '.\[security\]'"):
        run(of_keys("http://localhost/keys").start())


def test_a_server_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be read: ConnectionRefusedError"):
        run(of_keys(f"http://127.0.0.1:{free_ports(1)}/keys").start())


def test_a_cluster_fetches_its_keys_for_each_life() -> None:
    async def test() -> None:
        async with key_server() as server:
            before = asyncio.all_tasks()
            async with of_keys(server.url) as kafka:
                assert kafka.server.driver.cluster.sasl.mechanisms.keys[server.url](TOKEN) == CLAIMS
                server.serve_keys(LATER.jwks)
                await kafka.reset()
                assert kafka.server.driver.cluster.sasl.mechanisms.keys[server.url](LATER.sign(CLAIMS)) == CLAIMS
            assert len(server.requests) == 2
            await until(lambda: asyncio.all_tasks() <= before, "the end of the task")

    run(test())


@pytest.mark.parametrize("response", [UNAVAILABLE, None], ids=["unavailable", "stalled"])
def test_a_reset_without_the_keys_changes_nothing(response: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with key_server() as server, of_keys(server.url, brokers=2) as kafka:
            kafka.create_topic("t")
            await kafka.brokers[2].stop()
            server.response = response
            with monkeypatch.context() as patch:
                patch.setattr(http_keys, "_MOST_S", 0.05)
                with pytest.raises(ConfigError, match="cannot be read"):
                    await kafka.reset()
            assert kafka.server.driver.cluster.sasl.mechanisms.keys[server.url](TOKEN) == CLAIMS
            assert list(kafka.server.driver.cluster.metadata.topic_names()) == ["t"]
            assert not is_open(kafka.brokers[2].endpoint.port)
            server.serve_keys(SIGNER.jwks)
            await kafka.reset()
            assert kafka.server.driver.cluster.sasl.mechanisms.keys[server.url](TOKEN) == CLAIMS
            assert is_open(kafka.brokers[2].endpoint.port)

    run(test())


def test_the_case_of_the_scheme_has_no_meaning() -> None:
    async def test() -> None:
        async with key_server() as server:
            url = server.url.replace("http", "HTTP")
            async with of_keys(url) as kafka:
                assert kafka.server.driver.cluster.sasl.mechanisms.keys[url](TOKEN) == CLAIMS

    run(test())


def test_a_reset_takes_the_keys_of_all_servers_or_none() -> None:
    async def test() -> None:
        async with key_server() as one, key_server() as other, of_keys(one.url, others=[other.url]) as kafka:
            verify = kafka.server.driver.cluster.sasl.mechanisms.keys[one.url]
            one.serve_keys(LATER.jwks)
            other.response = UNAVAILABLE
            with pytest.raises(ConfigError, match="cannot be read"):
                await kafka.reset()
            assert verify(TOKEN) == CLAIMS
            with pytest.raises(TokenRefused):
                verify(LATER.sign(CLAIMS))

    run(test())


def test_keys_that_were_requested_before_the_present_ones_are_dropped() -> None:
    async def test() -> None:
        async with key_server() as server, fetched(server) as keys:
            server.goes_on.clear()
            keys._expedite("unknown")
            await until(lambda: len(server.requests) == 2, "the fetch of an unknown key")
            held, server.goes_on = server.goes_on, asyncio.Event()
            server.goes_on.set()
            old = server.response
            server.serve_keys(LATER.jwks)
            keys.use(await keys.fetch())
            assert is_taken(keys, LATER.sign(CLAIMS))
            server.response = old
            held.set()
            await until(lambda: server.connections == 0, "the end of the first fetch")
            await until(lambda: keys._refreshed_s > 0, "its keys")
            assert is_taken(keys, LATER.sign(CLAIMS))
            assert not is_taken(keys, TOKEN)

    run(test())


def test_a_reset_does_not_reset_a_later_life() -> None:
    async def test() -> None:
        async with key_server() as server, of_keys(server.url) as kafka:
            server.goes_on.clear()
            resetting = asyncio.ensure_future(kafka.reset())
            await until(lambda: len(server.requests) == 2, "the fetch of the reset")
            held, server.goes_on = server.goes_on, asyncio.Event()
            server.goes_on.set()
            await kafka.stop()
            await kafka.start()
            kafka.create_topic("t")
            held.set()
            with pytest.raises(RuntimeError, match="stopped before its reset"):
                await resetting
            assert list(kafka.server.driver.cluster.metadata.topic_names()) == ["t"]

    run(test())


def test_a_cluster_stops_while_a_reset_waits_for_keys() -> None:
    async def test() -> None:
        async with key_server() as server, of_keys(server.url) as kafka:
            server.goes_on.clear()
            resetting = asyncio.ensure_future(kafka.reset())
            await until(lambda: len(server.requests) == 2, "the fetch of the reset")
            await kafka.stop()
            assert not resetting.done()
            server.goes_on.set()
            with pytest.raises(RuntimeError, match="the cluster is not running"):
                await resetting

    run(test())


def test_a_server_with_tls_needs_a_trusted_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with AsyncFakeCluster(brokers=1, listeners=["SSL"]) as kafka:
            [listener] = kafka.listeners
            config = kafka.server.driver.config_of(1, listener)
            contexts = kafka.server.listeners.contexts
            assert contexts is not None
            async with key_server(contexts.context(config, 1, listener.name)) as server:
                with pytest.raises(ConfigError, match="certificate verify failed"):
                    await of_keys(server.url).start()
                monkeypatch.setenv("SSL_CERT_FILE", str(kafka.tls.ca))
                async with of_keys(server.url) as trusting:
                    assert trusting.server.driver.cluster.sasl.mechanisms.keys[server.url](TOKEN) == CLAIMS

    run(test())
