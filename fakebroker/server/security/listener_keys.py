"""The keys with which listeners verify tokens: `sasl.oauthbearer.jwks.endpoint.url`.

Theory   Those of the listeners of the start are kept beyond a reset, which gets them again before it changes anything.
         Keys of a server are fetched for these listeners only: no client that may alter settings can make the broker
         fetch something. Keys of a file are read when the listener opens.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fakebroker.cluster.sasl.mechanisms import SaslMechanisms
from fakebroker.core.security.identity import Listener
from fakebroker.core.security.sasl.signed_jwt import Verify

if TYPE_CHECKING:
    from fakebroker.server.oauth.http_keys import HttpKeys


class ListenerKeys:
    """Gives the keys to the mechanisms of the present cluster. Use it on one running event loop."""

    def __init__(self) -> None:
        self._of_servers: dict[str, HttpKeys] = {}  # of the listeners of the start, by URL
        self._of_files: dict[str, Verify] = {}

    async def begin(self, mechanisms: SaslMechanisms, broker_id: int, listener: Listener) -> None:
        """Give a listener of the start its keys, and refresh those of a server from now on. Raise ConfigError,
        and ModuleNotFoundError without the extra."""
        url = _missing(mechanisms, broker_id, listener)
        if not url:
            return
        from fakebroker.server.oauth.jwks import is_of_server  # imported here: few clusters have such keys

        if is_of_server(url):
            from fakebroker.server.oauth.http_keys import HttpKeys

            if url not in self._of_servers:
                keys = HttpKeys(url, mechanisms.token_config(broker_id, listener))
                await keys.begin()
                self._of_servers[url] = keys
            mechanisms.keys[url] = self._of_servers[url].verify
        else:
            if url not in self._of_files:
                self._of_files[url] = _read(url)
            mechanisms.keys[url] = self._of_files[url]

    async def renew(self) -> None:
        """Get the keys of the listeners of the start again. Raise ConfigError; the listeners have those of before
        then."""
        files = {url: _read(url) for url in self._of_files}
        servers = list(self._of_servers.values())
        fetched = await asyncio.gather(*(keys.fetch() for keys in servers), return_exceptions=True)
        for outcome in fetched:
            if isinstance(outcome, BaseException):
                raise outcome
        for keys, new_keys in zip(servers, fetched, strict=True):
            assert not isinstance(new_keys, BaseException)
            keys.use(new_keys)
        self._of_files.update(files)

    def read(self, mechanisms: SaslMechanisms, broker_id: int, listener: Listener) -> None:
        """Read the file of keys of a listener that was added. Raise ConfigError, also for keys of a server."""
        if url := _missing(mechanisms, broker_id, listener):
            mechanisms.keys[url] = _read(url)

    def stop(self) -> None:
        """Refresh no keys any more."""
        for keys in self._of_servers.values():
            keys.stop()
        self._of_servers.clear()


def _read(url: str) -> Verify:
    from fakebroker.server.oauth.jwks import verifier_of

    return verifier_of(url)


def _missing(mechanisms: SaslMechanisms, broker_id: int, listener: Listener) -> str:
    """Return the URL of the keys of a listener; "" if it has none, they are there, or they are the cluster's."""
    if not listener.has_sasl:
        return ""
    url = mechanisms.jwks_url(broker_id, listener)
    return "" if url in mechanisms.keys else url
