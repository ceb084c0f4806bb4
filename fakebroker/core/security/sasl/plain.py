"""PLAIN (RFC 4616): the client sends its name and password as they are.

Source   clients/.../security/plain/internals/{PlainSaslServer,PlainServerCallbackHandler}.java @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hmac import compare_digest
from typing import Final, final

from fakebroker.core.security.sasl.jaas_config import LoginModule
from fakebroker.core.security.sasl.sasl_server import SaslAuthenticationError, SaslServer

MECHANISM: Final = "PLAIN"
LOGIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_USER: Final = "user_"
_TOKENS: Final = 3
_MOST_TOKENS: Final = 4  # Kafka cuts off no more


@final
class PlainSaslServer(SaslServer):
    """An exchange of one message. `authenticate` checks a name and a password."""

    refusal = "Authentication failed: Invalid username or password"

    def __init__(self, authenticate: Callable[[str, str], bool]) -> None:
        super().__init__()
        self._authenticate = authenticate

    def evaluate_response(self, response: bytes) -> bytes:
        tokens = _tokens(response)
        if len(tokens) != _TOKENS:
            raise SaslAuthenticationError(
                f"Invalid SASL/PLAIN response: expected 3 tokens, got {min(len(tokens), _MOST_TOKENS)}"
            )
        authorization_id, username, password = tokens
        if not username:
            raise SaslAuthenticationError("Authentication failed: username not specified")
        if not password:
            raise SaslAuthenticationError("Authentication failed: password not specified")
        if not self._authenticate(username, password):
            raise SaslAuthenticationError(self.refusal)
        if authorization_id not in ("", username):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.authorization_id = username
        self.is_complete = True
        return b""

    def claims(self, response: bytes) -> str:
        tokens = _tokens(response)
        return tokens[1] if len(tokens) == _TOKENS else ""


def authenticator_of(module: LoginModule | None, users: Mapping[str, str]) -> Callable[[str, str], bool]:
    """Return the check of names and passwords against `users`, and for other names against the options `user_NAME` of a
    login module."""
    options = module.options if module is not None and module.name == LOGIN_MODULE else {}

    def authenticate(username: str, password: str) -> bool:
        expected = users.get(username, options.get(_USER + username))
        return expected is not None and compare_digest(_bytes(expected), _bytes(password))

    return authenticate


def _tokens(response: bytes) -> list[str]:
    """Return the tokens of a message, but not more than show that they are too many."""
    return response.decode(errors="replace").split("\0", _MOST_TOKENS)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
