"""Public keys of tokens from an authorization server: `sasl.oauthbearer.jwks.endpoint.url` with http or https.

Theory   The keys are fetched before the listeners open; if that fails, the cluster does not start. Then a task fetches
         them each `refresh.ms`, and at once when a token names a key that is unknown. That token is refused; the client
         tries again. A fetch that fails is repeated, each pause twice as long as the one before, until
         `retry.backoff.max.ms` have passed. The known keys stay meanwhile.
         A client that is not authenticated may name any key. So a key that stays unknown is fetched once a minute, and
         only the last 16 are remembered. A fetch that follows another one within 300 ms is left out, unless that had no
         keys: all clients together cause a few fetches a second at most. A key that a server gets within these 300 ms
         is found by the next fetch: for its own id after a minute. The first fetch does not count: Kafka's start takes
         longer, and here a test may change the keys at once.
         HTTP is read by h11 from asyncio's streams: a thread would delay the end of the process.
         Only the name of the host is looked up in one.
Source   clients/.../security/oauthbearer/internals/secured/{RefreshingHttpsJwks,Retry}.java @ 4.4; jose4j's HttpsJwks @
         0.9.6, which leaves out fetches.
Differs  Redirects are not followed. `https` trusts what OpenSSL trusts (`SSL_CERT_FILE`), and no trust store of a
         `sasl.jaas.config`. Kafka also wants the URL in a system property. A response has at most 1 MiB, and takes at
         most 10 s. The interval of `refresh.ms` begins with each fetch.
Units    milliseconds of real time, also if the clock of the cluster is a manual one: the server is outside of it.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from math import inf
from typing import Any, Final, NamedTuple, final
from urllib.parse import SplitResult, urlsplit

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import ConfigError
from fakebroker.extras import not_installed
from fakebroker.server.oauth.jwks import EXTRA, SETTING, is_of_server, parse_keys, verify_with
from fakebroker.server.oauth.public_keys import PublicKey

try:
    import h11
except ModuleNotFoundError:
    raise ModuleNotFoundError(not_installed("a server of keys of tokens", "h11", EXTRA), name="h11") from None

log = logging.getLogger("fakebroker")

_MOST_BYTES: Final = 1 << 20
_MOST_S: Final = 10.0
_READ_BYTES: Final = 1 << 13
_MISSING_IDS: Final = 16
_MISSING_ID_S: Final = 60.0
_MISSING_ID_CHARACTERS: Final = 1_000
_REPRIEVE_S: Final = 0.3
_PORTS: Final = {"http": 80, "https": 443}


class _Pauses(NamedTuple):
    """Seconds between two refreshes, before the first repetition, and of all repetitions."""

    refresh_s: float
    backoff_s: float
    backoff_max_s: float


class FetchedKeys(NamedTuple):
    """The keys of a response. Numbers are in the order in which fetches begin."""

    number: int
    keys: list[PublicKey]


@final
class HttpKeys:
    """The keys of one URL. Use it on one running event loop."""

    def __init__(self, url: str, config: BrokerConfig) -> None:
        """Raise ConfigError for a URL that names no server."""
        self._url = url
        self._parts = _parts(url)
        self._tls = ssl.create_default_context() if self._parts.scheme == "https" else None
        self._pauses = _Pauses(
            max(config.sasl_oauthbearer_jwks_endpoint_refresh_ms, 1) / 1000,
            config.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms / 1000,
            config.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms / 1000,
        )
        self._numbers = count(1)
        self._used = FetchedKeys(0, [])
        self._missing: dict[str, float] = {}  # the ids of unknown keys, and until when they are not fetched again
        self._refreshed_s = -inf  # when the keys were fetched again, on the clock of the event loop
        self._left_out = ""  # what the log says of keys that cannot be used
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Fetch the keys, and refresh them from now on. Raise ConfigError."""
        self.use(await self.fetch())
        self._task = asyncio.get_running_loop().create_task(self._refresh())

    def use(self, fetched: FetchedKeys) -> None:
        """Verify tokens with these keys, as after a start. Keys that were requested before the present ones are
        dropped."""
        self._use(fetched)
        self._missing.clear()
        self._refreshed_s = -inf

    def _use(self, fetched: FetchedKeys) -> None:
        if fetched.number > self._used.number:
            self._used = fetched

    def stop(self) -> None:
        """Fetch no more keys."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token with a valid signature. Raise TokenRefused."""
        return verify_with(self._used.keys, token, self._expedite)

    def _expedite(self, key_id: object) -> None:
        """Fetch the keys at once for an unknown one, unless that was done for it a moment ago."""
        if not isinstance(key_id, str) or len(key_id) > _MISSING_ID_CHARACTERS:
            return
        now_s = asyncio.get_running_loop().time()
        until_s = self._missing.pop(key_id, 0.0)
        if until_s > now_s:
            self._missing[key_id] = until_s  # the last of the 16 again
            return
        self._missing[key_id] = now_s + _MISSING_ID_S
        if len(self._missing) > _MISSING_IDS:
            del self._missing[next(iter(self._missing))]
        self._wanted.set()

    async def _refresh(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._pauses.refresh_s):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()
            await self._repeat()

    async def _repeat(self) -> None:
        loop = asyncio.get_running_loop()
        if self._used.keys and loop.time() - self._refreshed_s < _REPRIEVE_S:
            return
        end_s, pause_s = loop.time() + self._pauses.backoff_max_s, self._pauses.backoff_s
        while True:
            try:
                self._use(await self.fetch())
            except ConfigError as error:
                pause_s = min(pause_s, end_s - loop.time())
                if pause_s <= 0:
                    log.warning("the keys of tokens stay as they are: %s", error)
                    return
                await asyncio.sleep(pause_s)
                pause_s *= 2
            else:
                self._refreshed_s = loop.time()
                for key in self._used.keys:
                    if key.key_id is not None:
                        self._missing.pop(key.key_id, None)
                return

    async def fetch(self) -> FetchedKeys:
        """Return the keys that the server has now. Raise ConfigError."""
        number = next(self._numbers)
        try:
            async with asyncio.timeout(_MOST_S):
                content = await self._get()
        except TimeoutError:
            raise self._failed(f"no whole response within {_MOST_S:g} s") from None
        except (OSError, h11.RemoteProtocolError) as error:
            raise self._failed(f"{type(error).__name__} {error}") from None
        keys, left_out = await asyncio.to_thread(parse_keys, content, self._url)  # that of many keys takes long
        if left_out and left_out != self._left_out:
            log.warning(left_out)
        self._left_out = left_out
        return FetchedKeys(number, keys)

    async def _get(self) -> bytes:
        """Return the body of the response."""
        parts = self._parts
        port = parts.port or _PORTS[parts.scheme]
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=self._tls)
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            host = parts.netloc.rpartition("@")[2]
            headers = [("Host", host), ("Accept", "application/json"), ("Connection", "close")]
            http = h11.Connection(h11.CLIENT)
            writer.write(http.send(h11.Request(method="GET", target=target, headers=headers)) or b"")
            http.send(h11.EndOfMessage())
            return await self._body(http, reader)
        finally:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

    async def _body(self, http: h11.Connection, reader: asyncio.StreamReader) -> bytes:
        """Read the response to its end. A server may leave the connection open."""
        body, received = bytearray(), 0
        while not isinstance(event := http.next_event(), h11.EndOfMessage):
            match event:
                case h11.NEED_DATA:
                    await asyncio.sleep(0)  # the bytes may be there already, and take long
                    part = await reader.read(_READ_BYTES)
                    if not part and http.their_state is h11.SEND_RESPONSE:
                        raise self._failed("the server ends the connection without a response")
                    received += len(part)
                    if received > _MOST_BYTES:
                        raise self._failed(f"the response has more than {_MOST_BYTES} bytes")
                    http.receive_data(part)
                case h11.Response() if event.status_code != 200:
                    reason = bytes(event.reason).decode("latin-1")
                    raise self._failed(f"the server responds with {event.status_code} {reason}")
                case h11.Data():
                    body += event.data
        return bytes(body)

    def _failed(self, reason: str) -> ConfigError:
        return ConfigError(f"{SETTING}: {self._url} cannot be read: {reason}")


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode(
            "idna"
        )  # UnicodeError, a ValueError, for a label that is empty or too long
        if is_of_server(url) and host and parts.port != 0 and url.isascii() and url.isprintable() and " " not in url:
            return parts
    except ValueError:
        pass
    raise ConfigError(f"{SETTING}={url}: a server is named as in https://localhost:8443/keys")
