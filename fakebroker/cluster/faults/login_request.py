"""A request of a login, as the engine of faults sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fakebroker.core.security.identity import KafkaPrincipal
from fakebroker.network.connection import Connection
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.headers import RequestHeader


class LoginRequest(NamedTuple):
    """ApiVersions, SaslHandshake or SaslAuthenticate of a client that is not authenticated, or authenticates again.

    mechanism  of the exchange; empty before the client chooses one
    claims     returns the principal that the client claims to be; None if this request does not tell
    go_on      handles the request. Its response goes to the plan of the connection. If the client is refused, the plan
               is removed instead
    refuse     refuses the client as a failed login: an error, a message (empty for Kafka's), the reason for the journal
    """

    connection: Connection
    header: RequestHeader
    frame: bytes
    mechanism: str
    claims: Callable[[], KafkaPrincipal | None]
    go_on: Callable[[], object]
    refuse: Callable[[ErrorCode, str, str], None]
