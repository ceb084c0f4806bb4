"""The contexts of TLS that the brokers present in a handshake: a context of OpenSSL for each listener, by Kafka's
`ssl.` settings.

Theory   A context is made when a connection needs it and used until its settings or the presented certificate change.
         So new certificates count for new connections, as in Kafka.
Source   clients/.../common/security/ssl/{SslFactory,DefaultSslEngineFactory}.java @ 4.0.
Differs  Stores are PEM or PKCS#12; `ssl.cipher.suites`, providers and algorithms of Java have no effect. Trust: the CA
         of the cluster, beside the trust store.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import ConfigError
from fakebroker.server.tls.certificates import Certificates
from fakebroker.server.tls.stores import Identity, identity_of, trusted_by, truststore_name

__all__ = ["CHOICES", "Contexts"]

log = logging.getLogger("fakebroker")

VALID: Final = "valid"
NOTHING: Final = "nothing"
CHOICES: Final = (VALID, "expired", "not yet valid", "wrong host", "unknown issuer", NOTHING)

_HOUR: Final = timedelta(hours=1)
_WRONG_HOST: Final = "wrong-host.invalid"
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class Contexts:
    """The contexts of a cluster's listeners. `wall_ms` is the time of the cluster's clock."""

    def __init__(self, certificates: Certificates, wall_ms: Callable[[], int]) -> None:
        self._certificates = certificates
        self._wall_ms = wall_ms
        self._presented = VALID
        self._ends_ms: int | None = None
        self._made: dict[tuple[object, ...], ssl.SSLContext] = {}
        self._refused: dict[tuple[int, str], tuple[object, ...]] = {}  # settings that could not be used
        self._usable: dict[tuple[int, str], ssl.SSLContext] = {}  # the last one of each broker and listener

    def present(self, what: str, lifetime_ms: int | None = None) -> None:
        """Present `what` of CHOICES in the handshakes from now on. With a lifetime the certificate expires when that
        has passed on the cluster's clock. Raises ValueError."""
        if what not in CHOICES:
            raise ValueError(f"brokers can present {', '.join(CHOICES)}, not {what!r}")
        if lifetime_ms is not None and (what != VALID or lifetime_ms <= 0):
            raise ValueError(
                f"a lifetime is a number of milliseconds above 0 of a valid certificate, not {lifetime_ms!r}"
            )
        self._presented = what
        self._ends_ms = None if lifetime_ms is None else self._wall_ms() + lifetime_ms
        self.renew()

    def renew(self) -> None:
        """Make new contexts for the next connections, of the certificate of now."""
        self._made.clear()
        self._refused.clear()

    def context(self, config: BrokerConfig, broker_id: int, listener: str) -> ssl.SSLContext | None:
        """Return the context for a new connection at the listener of a broker, which has these settings; None if the
        handshake is to stall. If the settings cannot be used, that of the listener's last ones that could. Raises
        ConfigError if there were none."""
        if self._presented == NOTHING:
            return None
        is_over = self._ends_ms is not None and self._wall_ms() >= self._ends_ms
        presented = "expired" if is_over else self._presented
        key = (presented, *_settings(config))
        where = broker_id, listener
        made = self._made.get(key)
        if made is None and self._is_new(where, key):
            try:
                made = self._made[key] = self._new(config, presented)
            except ConfigError as error:
                if where not in self._usable:
                    raise
                log.error("new connections have the certificate of before: %s", error)
                self._refused[where] = key
        if made is not None:
            self._usable[where] = made
        return self._usable[where]

    def _is_new(self, where: tuple[int, str], key: tuple[object, ...]) -> bool:
        """Return False for settings that this listener could not use the last time."""
        return self._refused.get(where) != key

    def _new(self, config: BrokerConfig, presented: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.num_tickets = 0  # they would cost each connect a tenth; few clients resume a session
        versions = [_VERSIONS[name] for name in config.ssl_enabled_protocols if name in _VERSIONS]
        if not versions:
            raise ConfigError(f"ssl.enabled.protocols must name TLSv1.2 or TLSv1.3: {config.ssl_enabled_protocols}")
        context.minimum_version, context.maximum_version = min(versions), max(versions)
        identity = self._own(presented) or identity_of(config, self._certificates.folder)
        identity = identity or Identity(self._certificates.valid)
        try:
            # without any password OpenSSL would ask for one at the terminal, and all clients would wait
            context.load_cert_chain(identity.chain, password=identity.password or "")
        except (OSError, ValueError) as error:  # SSLError is an OSError; a password that is too long a ValueError
            raise ConfigError(_unusable(identity, error)) from None
        context.load_verify_locations(self._certificates.ca)
        if trusted := trusted_by(config):
            try:
                context.load_verify_locations(cadata=trusted)
            except (ssl.SSLError, TypeError):
                raise ConfigError(f"{truststore_name(config)} has no certificate in the form PEM") from None
        context.verify_mode = _CLIENT_AUTH[config.ssl_client_auth]
        return context

    def _own(self, presented: str) -> Identity | None:
        """Return the certificate that stands for a mistake; None for the valid one."""
        if presented == VALID:
            return None
        issue, hosts = self._certificates.issue, self._certificates.hosts
        made: Path
        match presented:
            case "expired":
                made = issue(presented, hosts, ends=-_HOUR)
            case "not yet valid":
                made = issue(presented, hosts, begins=_HOUR)
            case "wrong host":
                made = issue(presented, [_WRONG_HOST])
            case _:
                made = issue(presented, hosts, is_foreign=True)
        return Identity(made)


def _unusable(identity: Identity, error: OSError | ValueError) -> str:
    """Return what is wrong with a key store that OpenSSL cannot load."""
    pem = identity.chain.read_bytes() if identity.chain.is_file() else b""
    for mark, what in ((b"CERTIFICATE-----", "certificate"), (b"PRIVATE KEY-----", "key (append it to the file)")):
        if mark not in pem:
            return f"the key store {identity.chain} has no {what}"
    reason = error.reason if isinstance(error, ssl.SSLError) else error
    if b"ENCRYPTED" in pem and (identity.password is None or reason is None):
        reason = f"ssl.key.password is {'missing' if identity.password is None else 'wrong'}, and its key is encrypted"
    return f"the key store {identity.chain} cannot be used: {reason}"


def _settings(config: BrokerConfig) -> tuple[object, ...]:
    """Return the settings on which a context depends."""
    return (
        config.ssl_client_auth,
        config.ssl_enabled_protocols,
        config.ssl_keystore_type,
        config.ssl_keystore_location,
        config.ssl_keystore_password,
        config.ssl_keystore_certificate_chain,
        config.ssl_keystore_key,
        config.ssl_key_password,
        config.ssl_truststore_type,
        config.ssl_truststore_location,
        config.ssl_truststore_password,
        config.ssl_truststore_certificates,
    )
