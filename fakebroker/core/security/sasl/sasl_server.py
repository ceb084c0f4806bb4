"""The server's side of one SASL exchange, and the three ways in which it fails.

Theory   A client sends tokens, and each one gets a challenge, until the exchange is complete. Kafka answers the three
         failures differently. A SaslAuthenticationError has a message for the client. A SaslError has one for the log
         alone: it could tell a stranger which users exist. An UnexpectedTokenError stands for an exception in Kafka's
         own code: the connection is closed at once and without a response.
Source   javax.security.sasl.SaslServer; clients/.../common/errors/SaslAuthenticationException.java;
         clients/.../security/authenticator/SaslServerAuthenticator.java handleSaslToken @ 4.4.
Units    wall milliseconds.
"""

from __future__ import annotations

from typing import ClassVar, Final

MOST_BYTES: Final = 32_768
"""The longest message that is read as text. Its patterns and its JSON take milliseconds, in which all clients wait."""


class SaslServer:
    """One exchange.

    is_complete       the client is authenticated
    authorization_id  the name of its principal, once the exchange is complete
    expires_ms        when its credential expires; None if it never does
    by_token          it has authenticated with a delegation token
    refusal           the usual message for a client that is refused; empty if it is the same for all mechanisms
    """

    refusal: ClassVar[str] = ""

    def __init__(self) -> None:
        self.is_complete = False
        self.authorization_id = ""
        self.expires_ms: int | None = None
        self.by_token = False

    def evaluate_response(self, response: bytes) -> bytes:
        """Take a token of the client, and return the challenge. Raise one of the errors below."""
        raise NotImplementedError

    def claims(self, response: bytes) -> str:
        """Return the name of the principal that the client will have if this token is accepted; empty if the token does
        not tell. Change nothing."""
        raise NotImplementedError


class SaslAuthenticationError(Exception):
    """A refusal with a message for the client."""


class SaslError(Exception):
    """A refusal with a reason that the client does not learn."""


class UnexpectedTokenError(Exception):
    """A token for which Kafka's code throws a runtime exception."""


def text_of(response: bytes) -> str:
    """Return a message as text. Raise SaslError if it is too long."""
    if len(response) > MOST_BYTES:
        raise SaslError(f"the message has {len(response)} bytes; at most {MOST_BYTES} are read")
    return response.decode(errors="replace")
