"""The CA of a cluster: a new one, or the one of a folder, and the certificates that it issues.

Theory   The keys are no secrets: this is a test broker. Keys are on the curve P-256, which makes a handshake cheap.
         A CA of the user may have another kind of key and any subject. One that clients would refuse in each handshake
         is refused when the cluster starts.
Source   RFC 5280.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakebroker.core.errors import ConfigError
from fakebroker.server.security.setting_files import read_setting_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509 import Certificate, CertificateBuilder, GeneralName, Name

DAY: Final = timedelta(days=1)
TEN_YEARS: Final = 3650 * DAY


class Authority(NamedTuple):
    """A CA. Its key is of any kind that can sign."""

    certificate: Certificate
    key: Any

    def issue(
        self,
        common_name: str,
        hosts: Iterable[str],
        begins: timedelta,
        ends: timedelta,
        key: EllipticCurvePrivateKey | None = None,
    ) -> tuple[Certificate, EllipticCurvePrivateKey]:
        """Return a new certificate and its key, a new one if none is given. It is valid from and until these times from
        now. Raises ValueError for a host that no certificate can name."""
        from cryptography import x509

        key = key or new_key()
        builder = _builder(common_name_of(common_name), self.certificate.subject, key, begins, ends)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(self._key_identifier(), critical=False)
        if names := [_general_name(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self.key, _digest(self.key)), key

    def _key_identifier(self) -> Any:
        from cryptography import x509

        try:
            own = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        except x509.ExtensionNotFound:
            return x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own.value)


def new_authority(common_name: str) -> Authority:
    """Return a new CA."""
    from cryptography import x509

    key, name = new_key(), common_name_of(common_name)
    builder = _builder(name, name, key, -DAY, TEN_YEARS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(_usage_of_a_ca(), critical=True)
    return Authority(builder.sign(key, _digest(key)), key)


def _usage_of_a_ca() -> Any:
    """Return the key usage without which Python 3.13 refuses a CA (`VERIFY_X509_STRICT`)."""
    from cryptography.x509 import KeyUsage

    others = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    no = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    return KeyUsage(key_cert_sign=True, crl_sign=True, **no)


def read_authority(certificate: Path, key: Path) -> Authority:
    """Return the CA of two PEM files. Raises ConfigError if they cannot be read, or if clients would refuse the
    certificates that it issues."""
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    def unusable(why: str) -> ConfigError:
        return ConfigError(f"the CA in {certificate.parent} {why}: remove its {certificate.name} and {key.name}")

    try:
        made = Authority(
            x509.load_pem_x509_certificate(read_setting_file("certificates", certificate)),
            load_pem_private_key(read_setting_file("certificates", key), None),
        )
        made.certificate.extensions  # noqa: B018  raises ValueError if they cannot be read
        public = made.certificate.public_key()
    except TypeError:
        raise unusable("has an encrypted key, and there is no password for it") from None
    except (ValueError, UnsupportedAlgorithm, x509.DuplicateExtension):
        raise unusable("cannot be read") from None
    if public != made.key.public_key():
        raise unusable("has a certificate of another key")
    if (why := _wrong(made)) is not None:
        raise unusable(why)
    return made


def _wrong(ca: Authority) -> str | None:
    """Return why clients would refuse what the CA issues; None if they would not."""
    from cryptography import x509

    now = datetime.now(UTC)
    if not ca.certificate.not_valid_before_utc <= now <= ca.certificate.not_valid_after_utc:
        return (
            f"is valid from {ca.certificate.not_valid_before_utc:%Y-%m-%d} until "
            f"{ca.certificate.not_valid_after_utc:%Y-%m-%d}, and not now"
        )
    for extension in ca.certificate.extensions:
        match extension.value:
            case x509.BasicConstraints(ca=False):
                return "has a certificate that is no CA's (CA:FALSE)"
            case x509.KeyUsage(key_cert_sign=False):
                return "has a certificate that may not sign others (its key usage)"
    if not hasattr(ca.key, "sign"):
        return "has a key that cannot sign"
    return None


def new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def common_name_of(common_name: str) -> Name:
    """Return a subject that is a common name alone."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _digest(key: Any) -> SHA256 | None:
    """Return the digest for a signature with this key; those on Edwards curves have none."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ed448, ed25519

    is_edwards = isinstance(key, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey))
    return None if is_edwards else hashes.SHA256()


def _builder(
    subject: Name, issuer: Name, key: EllipticCurvePrivateKey, begins: timedelta, ends: timedelta
) -> CertificateBuilder:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now + begins, now + ends - DAY))
        .not_valid_after(now + ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _general_name(host: str) -> GeneralName:
    """Return the host for a certificate. Raises ValueError if it is neither an address nor the name of a host."""
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    try:
        ascii_name = host.encode("idna").decode()
    except UnicodeError as error:
        raise ValueError(f"no certificate can name the host {host!r}: {error}") from None
    return x509.DNSName(ascii_name)
