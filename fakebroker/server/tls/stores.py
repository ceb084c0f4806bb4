"""The user's own certificates, from Kafka's settings `ssl.keystore.*` and `ssl.truststore.*`.

Source   clients/.../common/security/ssl/DefaultSslEngineFactory.java createKeystore, createTruststore @ 4.0.
Differs  The binary format of Java (JKS) is not read. Java writes PKCS#12 since version 9, whatever the file's name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.errors import ConfigError
from fakebroker.server.security.setting_files import read_setting_file

_PEM: Final = "PEM"
_TYPES: Final = ("JKS", "PKCS12", _PEM)  # of a file in the form PKCS#12 the type JKS is as good
_JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"


class Identity(NamedTuple):
    """A PEM file with a certificate, its chain and its key, which may have a password. `alias` is its name in Java."""

    chain: Path
    password: str | None = None
    alias: str = "kafka"


def identity_of(config: BrokerConfig, folder: Path) -> Identity | None:
    """Return the key store of the settings, converted into a file of `folder` where it has another form; None if there
    is none. Raises ConfigError."""
    chain, key = config.ssl_keystore_certificate_chain, config.ssl_keystore_key
    path = folder / "keystore.pem"
    if chain is not None or key is not None:
        if chain is None or key is None:
            raise ConfigError(
                "SSL certificate chain and key must be specified together: ssl.keystore.certificate.chain, "
                "ssl.keystore.key"
            )
        path.write_text(f"{key}\n{chain}\n")
        return Identity(path, config.ssl_key_password)
    if config.ssl_keystore_location is None:
        return None
    _check_type("ssl.keystore.type", config.ssl_keystore_type)
    content = read_setting_file("ssl.keystore.location", config.ssl_keystore_location)
    if config.ssl_keystore_type.upper() == _PEM:
        return Identity(Path(config.ssl_keystore_location), config.ssl_key_password)
    pem, alias = _pem_of_pkcs12(config.ssl_keystore_location, content, config.ssl_keystore_password)
    path.write_bytes(pem)
    return Identity(path, alias=alias)


def trusted_by(config: BrokerConfig) -> str:
    """Return the certificates of the trust store of the settings as PEM; an empty text if there are none. Raises
    ConfigError."""
    if config.ssl_truststore_certificates is not None:
        return config.ssl_truststore_certificates
    location = config.ssl_truststore_location
    if location is None:
        return ""
    _check_type("ssl.truststore.type", config.ssl_truststore_type)
    content = read_setting_file("ssl.truststore.location", location)
    if config.ssl_truststore_type.upper() == _PEM:
        return content.decode("latin-1")
    return _certificates_of_pkcs12(location, content, config.ssl_truststore_password).decode()


def truststore_name(config: BrokerConfig) -> str:
    """Return the name of the trust store of the settings, for a message."""
    if config.ssl_truststore_certificates is not None:
        return "ssl.truststore.certificates"
    return f"the trust store {config.ssl_truststore_location}"


def _check_type(setting: str, kind: str) -> None:
    if kind.upper() not in _TYPES:
        raise ConfigError(f"{setting} must be {', '.join(_TYPES[:-1])} or {_TYPES[-1]}, not {kind}")


def _pem_of_pkcs12(location: str, content: bytes, password: str | None) -> tuple[bytes, str]:
    """Return the key and the chain of a key store as PEM, and the alias."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    _refuse_jks(location, content)
    try:
        store = pkcs12.load_pkcs12(content, _bytes(password))
    except ValueError as error:
        raise ConfigError(f"the key store {location} cannot be read as PKCS#12: {error}") from None
    key, entry = store.key, store.cert
    if key is None or entry is None:
        raise ConfigError(f"the key store {location} has no key with a certificate")
    others = [other.certificate for other in store.additional_certs]
    parts = [key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())]
    parts += [chain_certificate.public_bytes(Encoding.PEM) for chain_certificate in (entry.certificate, *others)]
    return b"".join(parts), (entry.friendly_name or b"1").decode(errors="replace").lower()


def _certificates_of_pkcs12(location: str, content: bytes, password: str | None) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

    _refuse_jks(location, content)
    try:
        store = pkcs12.load_pkcs12(content, _bytes(password))
    except ValueError as error:
        raise ConfigError(f"the trust store {location} cannot be read as PKCS#12: {error}") from None
    return b"".join(entry.certificate.public_bytes(Encoding.PEM) for entry in store.additional_certs)


def _refuse_jks(location: str, content: bytes) -> None:
    if content.startswith(_JKS_MAGIC):
        raise ConfigError(
            f"{location} has Java's old binary format: convert it with keytool -importkeystore -srckeystore {location} "
            "-destkeystore NEW -deststoretype pkcs12"
        )


def _bytes(password: str | None) -> bytes | None:
    return None if password is None else password.encode()
