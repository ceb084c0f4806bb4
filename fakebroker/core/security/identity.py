"""The principal of a client, and the listener of its connection.

Source   clients/.../common/security/auth/KafkaPrincipal.java; clients/.../common/network/ListenerName.java @ 4.0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_SHOWN_CHARACTERS: Final = 1_000  # a token may have a subject of hundreds of kilobytes


class KafkaPrincipal(NamedTuple):
    """The subject of quotas, and later of ACLs."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"

    @property
    def shown(self) -> str:
        """Return the text for events, with at most 1,000 characters of the name: memory for events is bounded."""
        return f"{self.principal_type}:{self.name[:_SHOWN_CHARACTERS]}"


class Listener(NamedTuple):
    """A listener of a broker: its name and protocol. `address` is the one that the client used, if clients are to reach
    all brokers at the address that they use themselves."""

    name: str
    security_protocol: str
    address: str = ""

    @property
    def has_tls(self) -> bool:
        return self.security_protocol in (SSL, SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self.security_protocol in (SASL_PLAINTEXT, SASL_SSL)


USER: Final = "User"
ANONYMOUS: Final = KafkaPrincipal(USER, "ANONYMOUS")
PLAINTEXT: Final = Listener("PLAINTEXT", "PLAINTEXT")

# Security protocols.
SSL: Final = "SSL"
SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
SASL_SSL: Final = "SASL_SSL"
