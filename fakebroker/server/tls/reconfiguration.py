"""The checks of a key store and a trust store that the settings of a running broker name.

Theory   A listener that exists may get another certificate, of the same subject and for at least the same hosts, unless
         `ssl.allow.dn.changes` or `ssl.allow.san.changes` allow more. The responses have the words of Kafka, with the
         names of its classes. The certificate of the cluster stands for the key store of a listener that has none.
Source   clients/.../common/security/ssl/SslFactory.java createNewSslEngineFactory, CertificateEntries;
         clients/.../common/security/ssl/DefaultSslEngineFactory.java createKeystore, createTruststore @ 4.4.
Differs  Alternative names are in the order of the certificate, in Kafka in that of a hash set. A handshake of the old
         store with the new one, which Kafka tries at the listener between brokers, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.listener_names import prefixes_of

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, Name

_STORES: Final = ("ssl.keystore.", "ssl.truststore.", "ssl.key.")
_PEM: Final = "PEM"
_CONFIG: Final = "org.apache.kafka.common.config.ConfigException"
_INVALID: Final = "org.apache.kafka.common.errors.InvalidConfigurationException"
_KAFKA: Final = "org.apache.kafka.common.KafkaException"


class StoreEntry(NamedTuple):
    """The entry of a key store: its alias and the certificate of its key."""

    alias: str
    certificate: Certificate


def with_stores(open_config: BrokerConfig, listener: str, texts: Mapping[str, str]) -> BrokerConfig:
    """Return the settings of an open listener with the stores that these texts name, as far as they name any."""
    [prefix] = prefixes_of(listener)
    names = {name.removeprefix(prefix): text for name, text in texts.items() if name.startswith(prefix)}
    stores = BrokerConfig.parse({name: text for name, text in names.items() if name.startswith(_STORES)})
    attributes = {key.attribute for name, key in BrokerConfig.SETTINGS.items() if name.startswith(_STORES)}
    kept = {name: value for name, value in open_config.own.items() if name not in attributes}
    return open_config.layered(open_config.altered, {**kept, **stores})


def wrong_settings(config: BrokerConfig) -> str | None:
    """Return Kafka's words for settings of stores that do not fit together; None if they do."""
    return _wrong_keystore(config) or _wrong_truststore(config)


def _wrong_keystore(config: BrokerConfig) -> str | None:
    kind, path, password = config.ssl_keystore_type, config.ssl_keystore_location, config.ssl_keystore_password
    key, chain = config.ssl_keystore_key, config.ssl_keystore_certificate_chain
    wrong: str | None = None
    if key is not None:
        if kind != _PEM:
            wrong = f"SSL private key can be specified only for PEM, but key store type is {kind}."
        elif chain is None:
            wrong = "SSL private key is specified, but certificate chain is not specified."
        elif path is not None:
            wrong = "Both SSL key store location and separate private key are specified."
        elif password is not None:
            wrong = "SSL key store password cannot be specified with PEM format, only key password may be specified."
    elif chain is not None:
        wrong = "SSL certificate chain is specified, but private key is not specified"
    elif path is None:
        if password is not None:
            wrong = "SSL key store is not specified, but key store password is specified."
    elif kind == _PEM and password is not None:
        wrong = "SSL key store password cannot be specified with PEM format, only key password may be specified"
    elif kind != _PEM and password is None:
        wrong = "SSL key store is specified, but key store password is not specified."
    return None if wrong is None else f"{_INVALID}: {wrong}"


def _wrong_truststore(config: BrokerConfig) -> str | None:
    kind, path, password = config.ssl_truststore_type, config.ssl_truststore_location, config.ssl_truststore_password
    wrong: str | None = None
    if config.ssl_truststore_certificates is not None:
        if kind != _PEM:
            wrong = f"SSL trust store certs can be specified only for PEM, but trust store type is {kind}."
        elif path is not None:
            wrong = "Both SSL trust store location and separate trust certificates are specified."
        elif password is not None:
            wrong = "SSL trust store password cannot be specified for PEM format."
    elif password is not None and path is None:
        wrong = "SSL trust store is not specified, but trust store password is specified."
    elif password is not None and kind == _PEM:
        wrong = "SSL trust store password cannot be specified for PEM format."
    return None if wrong is None else f"{_INVALID}: {wrong}"


def unusable_keystore(config: BrokerConfig) -> str:
    """Return Kafka's words for a key store that cannot be used."""
    if config.ssl_keystore_key is not None:
        return f"{_INVALID}: Invalid PEM keystore configs"
    return _unusable(config.ssl_keystore_location, config.ssl_keystore_type)


def unusable_truststore(config: BrokerConfig) -> str:
    """Return Kafka's words for a trust store that cannot be used."""
    if (certificates := config.ssl_truststore_certificates) is not None:
        has_some = "BEGIN CERTIFICATE" in certificates
        wrong = "Invalid PEM truststore configs" if has_some else "No matching CERTIFICATE entries in PEM file"
        return f"{_INVALID}: {wrong}"
    return _unusable(config.ssl_truststore_location, config.ssl_truststore_type)


def _unusable(location: str | None, kind: str) -> str:
    if kind == _PEM:
        return f"{_INVALID}: Failed to load PEM SSL keystore {location}"
    return f"{_KAFKA}: Failed to load SSL keystore {location} of type {kind}"


def incompatible(old: StoreEntry, new: StoreEntry, config: BrokerConfig) -> str | None:
    """Return Kafka's words for a certificate that may not replace another one; None if it may."""
    names = old.certificate.subject, new.certificate.subject
    if not config.ssl_allow_dn_changes and _canonical(names[0]) != _canonical(names[1]):
        return (
            f"{_CONFIG}: Keystore DistinguishedName does not match:  existing={{alias={old.alias}, "
            f"DN={_text(names[0])}}}, new={{alias={new.alias}, DN={_text(names[1])}}}"
        )
    hosts = _alternative_names(old.certificate), _alternative_names(new.certificate)
    if not config.ssl_allow_san_changes and not {*hosts[0]} <= {*hosts[1]}:
        return (
            f"{_CONFIG}: Keystore SubjectAltNames do not match:  existing={{alias={old.alias}, "
            f"SAN=[{', '.join(hosts[0])}]}}, new={{alias={new.alias}, SAN=[{', '.join(hosts[1])}]}}"
        )
    return None


def _canonical(name: Name) -> list[frozenset[tuple[str, str]]]:
    """Return a name for a comparison: without regard to case, and to the width of white space."""
    return [
        frozenset((part.oid.dotted_string, " ".join(str(part.value).split()).casefold()) for part in parts)
        for parts in name.rdns
    ]


def _text(name: Name) -> str:
    return ", ".join(parts.rfc4514_string() for parts in reversed(name.rdns))


def _alternative_names(certificate: Certificate) -> list[str]:
    """Return the alternative names as Java's list shows each: the number of its kind, and the name."""
    from cryptography import x509

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    kinds: dict[type, int] = {x509.RFC822Name: 1, x509.DNSName: 2, x509.UniformResourceIdentifier: 6, x509.IPAddress: 7}
    return [f"[{kinds.get(type(name), 0)}, {_java_text(name.value)}]" for name in names]


def _java_text(value: Any) -> str:
    if getattr(value, "version", 4) == 6:
        return ":".join(f"{int(group, 16):x}" for group in value.exploded.split(":"))
    return str(value)
