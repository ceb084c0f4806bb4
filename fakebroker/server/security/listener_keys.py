"""The keys with which listeners verify tokens: `sasl.oauthbearer.jwks.endpoint.url`.

Theory   Keys of a file are read when a listener opens. Keys of a server are fetched for the listeners of the start
         only: no client that may alter settings can make the broker fetch something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakebroker.cluster.sasl.mechanisms import SaslMechanisms
from fakebroker.core.security.identity import Listener

if TYPE_CHECKING:
    from fakebroker.server.oauth.http_keys import HttpKeys


class ListenerKeys:
    """Gives the keys to the mechanisms of the present cluster. Use it on one running event loop."""

    def __init__(self) -> None:
        self._fetched: list[HttpKeys] = []

    async def fetch(self, mechanisms: SaslMechanisms, broker_id: int, listener: Listener) -> None:
        """Fetch the keys of a listener, if a server has them, and refresh them from now on. Raise ConfigError."""
        url = _missing(mechanisms, broker_id, listener)
        if url.startswith(("http:", "https:")):
            from fakebroker.server.oauth.http_keys import HttpKeys  # imported here: few clusters have such keys

            keys = HttpKeys(url, mechanisms.token_config(broker_id, listener))
            await keys.begin()
            self._fetched.append(keys)
            mechanisms.keys[url] = keys.verify

    def read(self, mechanisms: SaslMechanisms, broker_id: int, listener: Listener) -> None:
        """Read the file of keys of a listener. Raise ConfigError, also for keys of a server that were not fetched."""
        if url := _missing(mechanisms, broker_id, listener):
            from fakebroker.server.oauth.jwks import verifier_of  # imported here: few clusters have such keys

            mechanisms.keys[url] = verifier_of(url)

    def stop(self) -> None:
        """Refresh no keys any more."""
        while self._fetched:
            self._fetched.pop().stop()


def _missing(mechanisms: SaslMechanisms, broker_id: int, listener: Listener) -> str:
    """Return the URL of the keys of a listener; "" if it has none, they are there, or they are the cluster's."""
    if not listener.has_sasl:
        return ""
    url = mechanisms.jwks_url(broker_id, listener)
    return "" if url in mechanisms.keys else url
