"""OAUTHBEARER (RFC 7628): the client sends a token of an authorization server.

Theory   The message of the client, where ^A is the byte 1:

           n,[a=AUTHZID],^Aauth=Bearer TOKEN[^Aname=value ...]^A^A

         A token that is refused gets a challenge with the reason as JSON. The client then sends a single ^A, and gets
         the failure. The session ends with the token.
Source   clients/.../security/oauthbearer/internals/{OAuthBearerSaslServer,OAuthBearerClientInitialResponse}.java @ 4.4.
Differs  A message of more than 32 KiB is not read. It is refused as an invalid token, or without one as a message of a
         wrong form. Kafka reads 512 KiB.
Units    wall milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple, final

from fakebroker.core.security.sasl.sasl_server import (
    MOST_BYTES,
    SaslAuthenticationError,
    SaslError,
    SaslServer,
    UnexpectedTokenError,
    text_of,
)
from fakebroker.core.security.sasl.scram import SASL_NAME

MECHANISM: Final = "OAUTHBEARER"
_SEPARATOR: Final = "\x01"
_VALUE: Final = "[\\x21-\\x7e \t\r\n]++"  # a separator follows, so a run is never given back
_INITIAL: Final = re.compile(
    f"n,(?:a=(?P<authzid>{SASL_NAME}))?,{_SEPARATOR}(?P<pairs>(?:[A-Za-z]+={_VALUE}{_SEPARATOR})*+){_SEPARATOR}"
)
_AUTH: Final = re.compile(r"(?P<scheme>[A-Za-z0-9_]+)[ ]+(?P<token>[-_~+/.a-zA-Z0-9]+=*)")
_BEARER: Final = b"\x01auth=Bearer "
_AFTER_ERROR: Final = b"\x01"


class OAuthBearerToken(NamedTuple):
    """A valid token: the name of its principal, and when it expires."""

    principal_name: str
    expires_ms: int


class TokenRefused(Exception):
    """A token that is not valid. `status` and `scope` are the fields of the challenge; the text is for the log."""

    def __init__(self, reason: str, status: str = "invalid_token", scope: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope


@final
class OAuthBearerSaslServer(SaslServer):
    """An exchange of one message, or two after a refusal. `validate` returns the token, or raises TokenRefused."""

    refusal = '{"status":"invalid_token"}'

    def __init__(self, validate: Callable[[str], OAuthBearerToken]) -> None:
        super().__init__()
        self._validate = validate
        self._error = ""

    def evaluate_response(self, response: bytes) -> bytes:
        if response == _AFTER_ERROR and self._error:
            raise SaslAuthenticationError(self._error)
        self._error = ""
        try:
            authorization_id, token = self._accepted(response)
        except TokenRefused as refused:
            scope = "" if refused.scope is None else f', "scope":"{refused.scope}"'
            self._error = f'{{"status":"{refused.status}"{scope}}}'
            return self._error.encode()
        if authorization_id not in ("", token.principal_name):
            raise SaslAuthenticationError(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({token.principal_name})"
            )
        self.authorization_id, self.expires_ms = token
        self.is_complete = True
        return b""

    def claims(self, response: bytes) -> str:
        try:
            return self._accepted(response)[1].principal_name
        except (SaslError, UnexpectedTokenError, TokenRefused):
            return ""

    def _accepted(self, response: bytes) -> tuple[str, OAuthBearerToken]:
        """Return the authorization id and the token of a message. Raise TokenRefused for one that is not valid."""
        if len(response) > MOST_BYTES and _BEARER in response:
            raise TokenRefused(f"the message has {len(response)} bytes; at most {MOST_BYTES} are read")
        authorization_id, token = _read(text_of(response))
        return authorization_id, self._validate(token)


def _read(message: str) -> tuple[str, str]:
    """Return the authorization id and the token of a client's first message."""
    match = _INITIAL.fullmatch(message)
    if match is None:
        raise SaslError("Invalid OAUTHBEARER client first message")
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split(_SEPARATOR) if pair)
    auth = pairs.get("auth")
    if auth is None:
        raise SaslError("Invalid OAUTHBEARER client first message: 'auth' not specified")
    auth_match = _AUTH.fullmatch(auth)
    if auth_match is None:
        raise SaslError("Invalid OAUTHBEARER client first message: invalid 'auth' format")
    if auth_match["scheme"].lower() != "bearer":  # Kafka fails while it makes the message of this error
        raise UnexpectedTokenError(f"the scheme of an OAUTHBEARER login is {auth_match['scheme']}, not Bearer")
    return match["authzid"] or "", auth_match["token"]
