"""Who a client is, and by which listener it came in.

Source   clients/.../common/security/auth/KafkaPrincipal.java; clients/.../common/network/ListenerName.java @ 4.0.
Differs  One listener, without TLS or SASL, so everybody is ANONYMOUS.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class KafkaPrincipal(NamedTuple):
    """Whom quotas, and one day ACLs, are about."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"


class Listener(NamedTuple):
    """A door of a broker: its name, and what is spoken there. `address` is the one by which a client came in, if
    clients are told to find all brokers at the address that they use themselves."""

    name: str
    security_protocol: str
    address: str = ""


ANONYMOUS: Final = KafkaPrincipal("User", "ANONYMOUS")
PLAINTEXT: Final = Listener("PLAINTEXT", "PLAINTEXT")
