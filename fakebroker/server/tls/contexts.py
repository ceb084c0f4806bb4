"""The contexts of TLS that the brokers present in a handshake: a context of OpenSSL for each listener, by Kafka's
`ssl.` settings.

Theory   A context is made when a connection needs it and used until its settings or the presented certificate change.
         So new certificates count for new connections, as in Kafka. When settings of a broker are set, also to the
         same values, files of its stores that have changed are read again.
Source   clients/.../common/security/ssl/{SslFactory,DefaultSslEngineFactory}.java @ 4.0;
         core/.../server/metadata/DynamicConfigPublisher.scala reloadUpdatedFilesWithoutConfigChange @ 4.0.
Differs  Stores are PEM or PKCS#12; `ssl.cipher.suites`, providers and algorithms of Java have no effect. Trust: the CA
         of the cluster, beside the trust store.
"""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import invalid_dynamic
from fakebroker.core.errors import ConfigError
from fakebroker.server.clock_in_hand import MAX_ADVANCE_MS
from fakebroker.server.tls.certificates import OF_CLIENTS, VALID, Certificates
from fakebroker.server.tls.reconfiguration import (
    StoreEntry,
    incompatible,
    unusable_keystore,
    unusable_truststore,
    with_stores,
    wrong_settings,
)
from fakebroker.server.tls.stores import Identity, identity_of, trusted_by, truststore_name

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

__all__ = ["CHOICES", "Contexts"]

log = logging.getLogger("fakebroker")

NOTHING: Final = "nothing"
_WRONG_HOST: Final = "wrong host"
CHOICES: Final = (*OF_CLIENTS[:-1], _WRONG_HOST, *OF_CLIENTS[-1:], NOTHING)

_ANOTHER_HOST: Final = "wrong-host.invalid"
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class _Store(NamedTuple):
    """The key store and the trust store of a listener, as they were read: the settings, what its files were like, and
    the certificate that it presents."""

    settings: tuple[object, ...]
    stamps: tuple[object, ...]
    alias: str
    certificate: Certificate | None


class Contexts:
    """The contexts of a cluster's listeners. `wall_ms` is the time of the cluster's clock."""

    def __init__(self, certificates: Certificates, wall_ms: Callable[[], int]) -> None:
        self._certificates = certificates
        self._wall_ms = wall_ms
        self._presented = VALID
        self._ends_ms: int | None = None
        self._made: dict[tuple[object, ...], ssl.SSLContext] = {}  # those that a listener uses, and a few more
        # By broker and listener: the last stores and the last context that could be used, and settings that could not.
        self._stores: dict[tuple[int, str], _Store] = {}
        self._usable: dict[tuple[int, str], ssl.SSLContext] = {}
        self._refused: dict[tuple[int, str], tuple[object, ...]] = {}
        self._last: _Store | None = None

    def reset(self, wall_ms: Callable[[], int]) -> None:
        """Present a valid certificate, as at the start, on another clock. Read the files of stores again."""
        self._wall_ms = wall_ms
        self._presented, self._ends_ms = VALID, None
        self._stores.clear()
        self.renew()

    def present(self, what: str, lifetime_ms: int | None = None) -> None:
        """Present `what` of CHOICES in the handshakes from now on, with a new certificate. With a lifetime it expires
        when that has passed on the cluster's clock. Raises ValueError."""
        if what not in CHOICES:
            raise ValueError(f"brokers can present {', '.join(CHOICES)}, not {what!r}")
        if lifetime_ms is not None and (what != VALID or not 1 <= lifetime_ms <= MAX_ADVANCE_MS):
            raise ValueError(f"a lifetime is 1 to {MAX_ADVANCE_MS} milliseconds, of a valid certificate only")
        if what == VALID:
            self._certificates.renew()
        self._presented = what
        self._ends_ms = None if lifetime_ms is None else self._wall_ms() + lifetime_ms
        self.renew()

    def renew(self) -> None:
        """Make new contexts for the next connections, of the certificate of now."""
        self._made.clear()
        self._refused.clear()
        self._last = None

    def context(self, config: BrokerConfig, broker_id: int, listener: str) -> ssl.SSLContext | None:
        """Return the context for a new connection at the listener of a broker, which has these settings; None if the
        handshake is to stall. If the settings cannot be used, that of the listener's last ones that could. Raises
        ConfigError if there were none."""
        if self._presented == NOTHING:
            return None
        is_over = self._ends_ms is not None and self._wall_ms() >= self._ends_ms
        presented = "expired" if is_over else self._presented
        where = broker_id, listener
        wanted = (presented, *_settings(config))
        if self._refused.get(where) == wanted:
            return self._usable[where]
        try:
            self._usable[where] = self._context_of(where, config, presented)
        except ConfigError as error:
            if where not in self._usable:
                raise
            log.error("new connections have the certificate of before: %s", error)
            self._refused[where] = wanted
        return self._usable[where]

    def keep(self, broker_id: int, listeners: Collection[str]) -> None:
        """Drop what other listeners of that broker used."""
        for used in (self._stores, self._usable, self._refused):
            for where in [where for where in used if where[0] == broker_id and where[1] not in listeners]:
                del used[where]

    def validate(self, config: BrokerConfig, broker_id: int, listener: str, texts: Mapping[str, str]) -> None:
        """Raise KafkaError if a listener with these settings may not have other stores that the texts name for it. As
        in Kafka, a file of before that has changed is no reason: `reload` leaves it."""
        store = self._stores.get((broker_id, listener))
        if store is None:
            return
        proposed = with_stores(config, listener, texts)
        if _settings(proposed) == _settings(config):
            return
        if (wrong := self._refusal(store, proposed)) is not None:
            raise invalid_dynamic(f"Validation of dynamic config update of SSLFactory failed: {wrong}")

    def _refusal(self, store: _Store, proposed: BrokerConfig) -> str | None:
        """Return Kafka's words for stores that may not replace others; None if they may."""
        if (wrong := wrong_settings(proposed)) is not None:
            return wrong
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        wrong = unusable_keystore(proposed)
        try:
            new = self._store_of(proposed)
            self._load_identity(context, proposed, VALID)
            wrong = unusable_truststore(proposed)
            self._load_trust(context, proposed)
        except ConfigError as error:
            log.error("settings of a listener are refused: %s", error)
            return wrong
        if store.certificate is None or new.certificate is None:
            return None
        return incompatible(
            StoreEntry(store.alias, store.certificate), StoreEntry(new.alias, new.certificate), proposed
        )

    def reload(self, config: BrokerConfig, broker_id: int, listener: str) -> None:
        """Read the stores of a listener again if its settings name others, or if a file has changed. A file that may
        not replace the one of before has no effect."""
        where = broker_id, listener
        store = self._stores.get(where)
        if store is not None and (_settings(config), _stamps(config)) != (store.settings, store.stamps):
            if (wrong := self._refusal(store, config)) is not None:
                log.error("new connections have the certificate of before: %s", wrong)
                return
            self._stores[where] = store._replace(settings=())
            self._refused.pop(where, None)
            self.context(config, broker_id, listener)

    def _context_of(self, where: tuple[int, str], config: BrokerConfig, presented: str) -> ssl.SSLContext:
        store = self._stores.get(where)
        if store is None or store.settings != _settings(config):
            store = self._store_of(config)
        key = (presented, store.settings, store.stamps)
        made = self._made.get(key)
        if made is None:
            made = self._new(config, presented)
            in_use = {*self._usable.values()}
            self._made = {kept: context for kept, context in self._made.items() if context in in_use}
            self._made[key] = made
        self._stores[where] = store
        return made

    def _store_of(self, config: BrokerConfig) -> _Store:
        """Return the present stores of a listener with these settings. Raises ConfigError."""
        from cryptography import x509

        settings, stamps = _settings(config), _stamps(config)
        if self._last is not None and (settings, stamps) == (self._last.settings, self._last.stamps):
            return self._last  # thousands of brokers may have the same key store, and its password takes long
        identity = self._identity(config)
        certificate = None
        with suppress(OSError, ValueError):  # OpenSSL gives the reason
            certificate = x509.load_pem_x509_certificate(identity.chain.read_bytes())
        self._last = _Store(settings, stamps, identity.alias, certificate)
        return self._last

    def _identity(self, config: BrokerConfig) -> Identity:
        return identity_of(config, self._certificates.private) or Identity(self._certificates.valid)

    def _new(self, config: BrokerConfig, presented: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.num_tickets = 0  # they would cost each connect a tenth; few clients resume a session
        versions = [_VERSIONS[name] for name in config.ssl_enabled_protocols if name in _VERSIONS]
        if not versions:
            raise ConfigError(f"ssl.enabled.protocols must name TLSv1.2 or TLSv1.3: {config.ssl_enabled_protocols}")
        context.minimum_version, context.maximum_version = min(versions), max(versions)
        self._load_identity(context, config, presented)
        self._load_trust(context, config)
        context.verify_mode = _CLIENT_AUTH[config.ssl_client_auth]
        return context

    def _load_identity(self, context: ssl.SSLContext, config: BrokerConfig, presented: str) -> None:
        identity = self._mistake(presented) or self._identity(config)
        try:
            # without any password OpenSSL would ask for one at the terminal, and all clients would wait
            context.load_cert_chain(identity.chain, password=identity.password or "")
        except (OSError, ValueError) as error:  # SSLError is an OSError; a password that is too long a ValueError
            raise ConfigError(_unusable(identity, error)) from None

    def _load_trust(self, context: ssl.SSLContext, config: BrokerConfig) -> None:
        context.load_verify_locations(self._certificates.ca)
        if trusted := trusted_by(config):
            try:
                context.load_verify_locations(cadata=trusted)
            except (ssl.SSLError, TypeError):
                raise ConfigError(f"{truststore_name(config)} has no certificate in the form PEM") from None

    def _mistake(self, presented: str) -> Identity | None:
        """Return the certificate that stands for a mistake; None for the valid one."""
        if presented == VALID:
            return None
        if presented == _WRONG_HOST:
            return Identity(self._certificates.issue(presented, [_ANOTHER_HOST]))
        return Identity(self._certificates.issue(presented, self._certificates.hosts, presented))


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


def _stamps(config: BrokerConfig) -> tuple[object, ...]:
    """Return what changes with the files of the stores."""
    return _stamp(config.ssl_keystore_location), _stamp(config.ssl_truststore_location)


def _stamp(location: str | None) -> object:
    if location is None:
        return None
    try:
        status = os.stat(location)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
