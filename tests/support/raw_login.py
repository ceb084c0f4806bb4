"""A login over a socket, without a client library."""

from __future__ import annotations

from typing import Any

from conformance.sasl.scram_exchange import ScramExchange
from fakebroker import FakeCluster
from fakebroker.protocol.messages import decode_response
from fakebroker.protocol.produce_response import NodeEndpoint
from support.raw_client import RawClient
from support.requests import request

_HANDSHAKE, _AUTHENTICATE = 17, 36


def login(
    kafka: FakeCluster, user: str, password: str, mechanism: str = "PLAIN", listener: str = "SASL_PLAINTEXT"
) -> int:
    """Return the error code of a login at the first broker; 0 for a client that is authenticated."""
    return login_at(kafka.bootstrap(listener), user, password, mechanism)


def login_at(bootstrap_servers: str, user: str, password: str, mechanism: str = "PLAIN") -> int:
    host, _, port = bootstrap_servers.partition(",")[0].rpartition(":")
    with RawClient(NodeEndpoint(1, host, int(port), None)) as client:
        chosen = _ask(client, _HANDSHAKE, 1, mechanism=mechanism)
        if chosen.error_code:
            return int(chosen.error_code)
        if mechanism == "PLAIN":
            return int(_token(client, f"\0{user}\0{password}".encode()).error_code)
        exchange = ScramExchange(mechanism, user, password)
        first = _token(client, exchange.first())
        if first.error_code:
            return int(first.error_code)
        return int(_token(client, exchange.final(bytes(first.auth_bytes))).error_code)


def _token(client: RawClient, token: bytes) -> Any:
    return _ask(client, _AUTHENTICATE, 2, auth_bytes=token)


def _ask(client: RawClient, api_key: int, version: int, **values: Any) -> Any:
    return decode_response(api_key, version, client.ask(request(api_key, version, values)))[1]
