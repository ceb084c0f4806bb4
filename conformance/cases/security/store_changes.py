"""Key stores and trust stores that a running broker is told, and that it cannot use."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.config_frames import BROKER, SET, Operation, incremental
from conformance.scenario import Case, Send, Settle

_PREFIX = "listener.name.ssl.ssl"
_NOWHERE = "/nowhere/store"


def _store(kind: str, **settings: str) -> Sequence[Operation]:
    return [(f"{_PREFIX}.{kind}.{name.replace('_', '.')}", SET, value) for name, value in settings.items()]


# Kafka's broker has a key store of PEM, given at the start; fakebroker has the certificate of the cluster in its place.
_WRONG: dict[str, Sequence[Operation]] = {
    "pem-file": _store("keystore", type="PEM", location=_NOWHERE),
    "pkcs12-file": _store("keystore", type="PKCS12", location=_NOWHERE, password="x"),
    "jks-file": _store("keystore", type="JKS", location=_NOWHERE, password="x"),
    "type": _store("keystore", type="FOO", location=_NOWHERE, password="x"),
    "type-in-small-letters": _store("keystore", type="pem", location=_NOWHERE, password="x"),
    "no-password": _store("keystore", type="PKCS12", location=_NOWHERE),
    "password-of-pem": _store("keystore", type="PEM", location=_NOWHERE, password="x"),
    "key-beside-a-file": _store("keystore", type="PEM", location=_NOWHERE, key="x", certificate_chain="y"),
    "key-without-a-chain": _store("keystore", type="PEM", key="x"),
    "key-of-another-type": _store("keystore", type="PKCS12", key="x", certificate_chain="y"),
    "chain-without-a-key": _store("keystore", type="PEM", certificate_chain="y"),
    "trusted-pem-file": _store("truststore", type="PEM", location=_NOWHERE),
    "trusted-pkcs12-file": _store("truststore", type="PKCS12", location=_NOWHERE),
    "trusted-type": _store("truststore", type="FOO", location=_NOWHERE),
    "trusted-password-of-pem": _store("truststore", type="PEM", location=_NOWHERE, password="x"),
    "trusted-password-alone": _store("truststore", password="x"),
    "trusted-beside-a-file": _store("truststore", type="PEM", location=_NOWHERE, certificates="x"),
    "trusted-of-another-type": _store("truststore", type="PKCS12", certificates="x"),
    "trusted-is-no-certificate": _store("truststore", type="PEM", certificates="x"),
}

CASES: list[Case] = [
    Case(
        f"store-changes/{what}",
        "a store that a listener cannot use is refused before anything changes",
        (Send((incremental((BROKER, "1", operations), validate_only=what != "pem-file"),)), Settle()),
        box="stores",
    )
    for what, operations in _WRONG.items()
]
