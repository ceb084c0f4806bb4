"""The certificates of a cluster: its own CA, one certificate for the brokers, and certificates for clients.

Theory   All files are in one folder. A folder that the user names keeps its CA, so that clients trust the next cluster
         too. The keys are no secrets: this is a test broker. Keys are on the curve P-256, which makes a handshake
         cheap. A subject is a common name alone, so the principal of a client's certificate is User:CN=NAME.
Source   RFC 5280; Java's trust stores as keytool makes them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.core.errors import ConfigError
from fakebroker.extras import not_installed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, GeneralName

PASSWORD: Final = "fakebroker"  # of all key stores and trust stores
EXTRA: Final = "security"

_DAY: Final = timedelta(days=1)
_TEN_YEARS: Final = 3650 * _DAY
_UNROUTABLE: Final = ("", "0.0.0.0", "::")
_OWN_HOST: Final = ("localhost", "127.0.0.1", "::1")
_SAFE: Final = "-_.@+"
_MOST_CLIENTS: Final = 1_000  # each has files of 5 KB
_LONGEST_NAME: Final = 64  # of a common name: ub-common-name of RFC 5280


class ClientCertificate(NamedTuple):
    """A client's certificate, as files: chain and key as PEM, apart and in one file, and both as a PKCS#12 key store
    with the password `PASSWORD`."""

    certificate: Path
    key: Path
    pem: Path
    keystore: Path


class _Authority(NamedTuple):
    """A CA."""

    certificate: Certificate
    key: EllipticCurvePrivateKey


class Certificates:
    """The certificates of one cluster. `names` are the hosts of its brokers; `folder` is kept, a temporary one is not.
    Raises OSError if the folder cannot be written, ValueError for a host that no certificate can name, and
    ModuleNotFoundError without the extra."""

    def __init__(self, names: Iterable[str], folder: str | os.PathLike[str] | None = None) -> None:
        _require_cryptography()
        self._clients: set[str] = set()  # the names for which there are files
        self._is_temporary = folder is None
        self.folder = Path(tempfile.mkdtemp(prefix="fakebroker-tls-") if folder is None else folder).absolute()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.hosts = _hosts(names)
            self._ca = self._own_ca()
            self._other_ca: _Authority | None = None
            self._write_trust()
            self.valid = self.issue("broker", self.hosts)
        except BaseException:
            self.close()
            raise

    def add_host(self, host: str) -> bool:
        """Let the certificate of the brokers name another host. Return False if it names it already."""
        hosts = _hosts([*self.hosts, host])
        if hosts == self.hosts:
            return False
        self.hosts = hosts
        self.valid = self.issue("broker", hosts)
        return True

    @property
    def ca(self) -> Path:
        """Return the file of the CA's certificate, as PEM."""
        return self.folder / "ca.pem"

    @property
    def truststore(self) -> Path:
        """Return the file of a trust store for Java, as PKCS#12; Java also reads it where JKS is asked for."""
        return self.folder / "truststore.p12"

    @property
    def truststore_jks(self) -> Path:
        """Return the same trust store under the name that old settings expect."""
        return self.folder / "truststore.jks"

    def client(self, common_name: str) -> ClientCertificate:
        """Return a new certificate for a client: its principal is "User:CN=common_name". Raises ValueError for a name
        that no certificate can have."""
        if not 1 <= len(common_name.encode(errors="replace")) <= _LONGEST_NAME:
            raise ValueError(f"a common name has 1 to {_LONGEST_NAME} bytes, not {common_name!r}")
        if common_name not in self._clients and len(self._clients) >= _MOST_CLIENTS:
            raise ValueError(f"a cluster has certificates for {_MOST_CLIENTS} clients already: use a name of before")
        self._clients.add(common_name)
        return self._written(f"client-{_safe(common_name)}", *_issued(self._ca, common_name, (), -_DAY, _TEN_YEARS))

    def issue(
        self,
        name: str,
        hosts: Iterable[str],
        *,
        begins: timedelta = -_DAY,
        ends: timedelta = _TEN_YEARS,
        is_foreign: bool = False,
    ) -> Path:
        """Return the PEM file, key and chain, of a new certificate for brokers. It is valid from and until these times
        from now. A foreign one is of a CA that no client trusts."""
        ca = self._foreign_ca() if is_foreign else self._ca
        return self._written(name, *_issued(ca, name, hosts, begins, ends)).pem

    def close(self) -> None:
        """Remove a temporary folder."""
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _own_ca(self) -> _Authority:
        """Return the CA of the folder, a new one if there is none. Raises ConfigError if it cannot be read."""
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

        certificate, key = self.ca, self.folder / "ca.key"
        if certificate.exists() and key.exists():
            try:
                kept: EllipticCurvePrivateKey = load_pem_private_key(key.read_bytes(), None)  # type: ignore[assignment]
                return _Authority(x509.load_pem_x509_certificate(certificate.read_bytes()), kept)
            except ValueError:
                raise ConfigError(f"the CA in {self.folder} cannot be read: remove its ca.pem and ca.key") from None
        ca = _new_ca("fakebroker CA")
        certificate.write_bytes(ca.certificate.public_bytes(Encoding.PEM))
        key.write_bytes(_pem_of(ca.key))
        return ca

    def _foreign_ca(self) -> _Authority:
        if self._other_ca is None:
            self._other_ca = _new_ca("another CA")
        return self._other_ca

    def _write_trust(self) -> None:
        from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

        trusted = pkcs12.PKCS12Certificate(self._ca.certificate, b"fakebroker")
        store = pkcs12.serialize_java_truststore([trusted], BestAvailableEncryption(PASSWORD.encode()))
        self.truststore.write_bytes(store)
        self.truststore_jks.write_bytes(store)

    def _written(
        self, name: str, certificate: Certificate, key: EllipticCurvePrivateKey, ca: Certificate
    ) -> ClientCertificate:
        from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, pkcs12

        pem, key_pem = certificate.public_bytes(Encoding.PEM), _pem_of(key)
        store = pkcs12.serialize_key_and_certificates(
            name.encode(), key, certificate, [ca], BestAvailableEncryption(PASSWORD.encode())
        )
        files = ClientCertificate(*(self.folder / f"{name}.{end}" for end in ("crt", "key", "pem", "p12")))
        for path, content in zip(files, (pem, key_pem, key_pem + pem, store), strict=True):
            path.write_bytes(content)
        return files


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            not_installed("a listener with TLS", error.name or "cryptography", EXTRA), name="cryptography"
        ) from None


def _new_ca(common_name: str) -> _Authority:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = _new_key()
    builder = _builder(common_name, common_name, key, -_DAY, _TEN_YEARS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return _Authority(builder.sign(key, hashes.SHA256()), key)


def _issued(
    ca: _Authority, common_name: str, hosts: Iterable[str], begins: timedelta, ends: timedelta
) -> tuple[Certificate, EllipticCurvePrivateKey, Certificate]:
    """Return a new certificate of a CA, its key, and the certificate of the CA."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = _new_key()
    issuer = ca.certificate.subject.rfc4514_string().removeprefix("CN=")
    builder = _builder(common_name, issuer, key, begins, ends)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_public_key(ca.key.public_key()), critical=False
    )
    if names := [_general_name(host) for host in hosts]:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(ca.key, hashes.SHA256()), key, ca.certificate


def _builder(
    subject: str, issuer: str, key: EllipticCurvePrivateKey, begins: timedelta, ends: timedelta
) -> CertificateBuilder:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    def named(common_name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])

    now = datetime.now(UTC)
    first = min(now + begins, now + ends - _DAY)
    return (
        x509.CertificateBuilder()
        .subject_name(named(subject))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(first)
        .not_valid_after(now + ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _pem_of(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


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


def _hosts(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys([*names, *_OWN_HOST]) if name not in _UNROUTABLE)


def _safe(name: str) -> str:
    """Return a name for a file, without what leads out of the folder."""
    return "".join(char if char.isalnum() or char in _SAFE else "_" for char in name).strip(".") or "client"
