"""SCRAM-SHA-256 and SCRAM-SHA-512: neither side sends the password.

Theory   The messages:

           client first  n,,n=USER,r=NONCE[,tokenauth=true]
           server first  r=NONCE+OURS,s=SALT,i=ITERATIONS
           client final  c=biws,r=NONCE+OURS,p=PROOF
           server final  v=SIGNATURE

         The proof shows that the client has the client key, of which the broker keeps a hash. The signature shows that
         the broker has the server key. With `tokenauth=true` the user is the id of a delegation token, and the password
         is its HMAC; the client then acts as the owner of the token.
         The broker does two HMACs and a hash for each login, whatever a client sends: iterations are the client's work.
Source   clients/.../security/scram/internals/{ScramSaslServer,ScramMessages,ScramServerCallbackHandler}.java @ 4.4.
Differs  Extensions are put into the signed text in the order of the message. Kafka's order of several is random, so
         such a login fails there now and then. A message of more than 32 KiB is not read, and refused as one of a wrong
         form. In Kafka a long name, or many extensions, overflow the stack of its pattern: the connection stays open
         and is not answered.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from hmac import compare_digest
from typing import Final, NamedTuple, final

from fakebroker.core.security.sasl.sasl_server import (
    SaslAuthenticationError,
    SaslError,
    SaslServer,
    UnexpectedTokenError,
    text_of,
)
from fakebroker.core.security.sasl.scram_formatter import (
    MIN_ITERATIONS,
    ScramKeys,
    ScramMechanism,
    hash_of,
    hmac_of,
    username_of,
    xor,
)

# The character classes of ScramMessages.AbstractScramMessage.
# A comma, which is in none of them, follows each name and value. So a run is taken whole and never given back (`++`).
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]++"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]++"
SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authzid>{SASL_NAME}))?,(?:m={_VALUE},)?"
    rf"n=(?P<name>{SASL_NAME}),r=(?P<nonce>{_PRINTABLE})(?P<extensions>{_EXTENSIONS})"
)
_CLIENT_FINAL: Final = re.compile(
    rf"c=(?P<channel>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS},p=(?P<proof>{_BASE64})"
)
_TOKEN_AUTH: Final = "tokenauth"


class Credential(NamedTuple):
    """The credential against which a login is checked. `owner` is the principal's name, `expires_ms` the end of a
    delegation token."""

    keys: ScramKeys | None
    owner: str
    expires_ms: int | None = None


class _Exchange(NamedTuple):
    """The exchange after its first message: what is signed so far, and against what the proof is checked."""

    first_bare: str
    server_first: str
    nonce: str
    keys: ScramKeys
    credential: Credential


@final
class ScramSaslServer(SaslServer):
    """An exchange of two messages.

    find_user   returns the keys of a user; None if it has none
    find_token  returns the credential of a delegation token; None if there is no such token
    nonce       returns the broker's part of the nonce
    """

    def __init__(
        self,
        mechanism: ScramMechanism,
        find_user: Callable[[str], ScramKeys | None],
        find_token: Callable[[str], Credential | None],
        nonce: Callable[[], str],
    ) -> None:
        super().__init__()
        self._mechanism = mechanism
        self._find_user = find_user
        self._find_token = find_token
        self._nonce = nonce
        self._exchange: _Exchange | None = None

    def evaluate_response(self, response: bytes) -> bytes:
        message = text_of(response)
        if self._exchange is None:
            return self._begin(message).encode()
        return self._end(message, self._exchange).encode()

    def claims(self, response: bytes) -> str:
        if self._exchange is not None:
            return self._exchange.credential.owner
        try:
            match = _CLIENT_FIRST.fullmatch(text_of(response))
            name = "" if match is None else username_of(match["name"])
        except (SaslError, ValueError):
            return ""
        if match is None:
            return ""
        if not _is_by_token(_extensions(match)):
            return name
        token = self._find_token(name)
        return "" if token is None else token.owner

    def _begin(self, message: str) -> str:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            raise SaslError("Invalid SCRAM client first message format")
        extensions = _extensions(match)
        self.by_token = _is_by_token(extensions)
        nonce = self._nonce()
        try:
            username = username_of(match["name"])
        except ValueError as error:
            raise SaslError(f"Authentication failed: Credentials could not be obtained: {error}") from None
        credential = self._credential(username)
        keys = credential.keys
        if keys is None:
            raise SaslError("Authentication failed: Invalid user credentials")
        if (match["authzid"] or username) != username:
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if keys.iterations < MIN_ITERATIONS:
            raise SaslError(f"Iterations {keys.iterations} is less than the minimum {MIN_ITERATIONS}")
        in_first = ",".join(f"{name}={value}" for name, value in extensions.items())
        first_bare = f"n={match['name']},r={match['nonce']}" + (f",{in_first}" if in_first else "")
        both = match["nonce"] + nonce
        server_first = f"r={both},s={b64encode(keys.salt).decode()},i={keys.iterations}"
        self._exchange = _Exchange(first_bare, server_first, both, keys, credential)
        return server_first

    def _credential(self, username: str) -> Credential:
        if not self.by_token:
            return Credential(self._find_user(username), username)
        token = self._find_token(username)
        if token is None:
            raise SaslError(f"Token Authentication failed: Invalid tokenId : {username}")
        return token

    def _end(self, message: str, exchange: _Exchange) -> str:
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None:
            raise SaslError("Invalid SCRAM client final message format")
        if match["nonce"] != exchange.nonce:
            raise SaslError("Invalid client nonce in the final client message.")
        channel = b64encode(b64decode(match["channel"])).decode()
        signed = f"{exchange.first_bare},{exchange.server_first},c={channel},r={match['nonce']}".encode()
        keys = exchange.keys
        signature = hmac_of(self._mechanism, keys.stored_key, signed)
        try:
            client_key = xor(signature, b64decode(match["proof"]))
        except ValueError:
            raise UnexpectedTokenError("the proof of a SCRAM login has the wrong length") from None
        if not compare_digest(hash_of(self._mechanism, client_key), keys.stored_key):
            raise SaslError("Invalid client credentials")
        self.authorization_id = exchange.credential.owner
        self.expires_ms = exchange.credential.expires_ms
        self.is_complete = True
        return f"v={b64encode(hmac_of(self._mechanism, keys.server_key, signed)).decode()}"


def _extensions(first: re.Match[str]) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in first["extensions"].split(",") if pair)


def _is_by_token(extensions: Mapping[str, str]) -> bool:
    return extensions.get(_TOKEN_AUTH, "").lower() == "true"
