"""The files of a cluster's certificates: its own CA, certificates for the brokers, and certificates for clients.

Theory   A folder that the user names keeps its CA, so that clients trust the next cluster too. Several clusters may use
         it at once. So a file there appears with its whole content. The files of one certificate change under a lock.
         Files that only brokers read are in a private folder. A file there that fakebroker has not made is never
         replaced.
         A subject is a common name alone, so the principal of a client's certificate is User:CN=NAME.
Source   RFC 5280; flock(2); Java's trust stores as keytool makes them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fakebroker.core.errors import ConfigError
from fakebroker.extras import not_installed
from fakebroker.server.security.setting_files import read_setting_file
from fakebroker.server.tls.authority import DAY, TEN_YEARS, Authority, common_name_of, new_authority, read_authority

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate

PASSWORD: Final = "fakebroker"  # of all key stores and trust stores
EXTRA: Final = "security"

VALID: Final = "valid"
EXPIRED: Final = "expired"
NOT_YET_VALID: Final = "not yet valid"
UNKNOWN_ISSUER: Final = "unknown issuer"
OF_CLIENTS: Final = (VALID, EXPIRED, NOT_YET_VALID, UNKNOWN_ISSUER)

_HOUR: Final = timedelta(hours=1)
_VALIDITIES: Final = {EXPIRED: (-DAY, -_HOUR), NOT_YET_VALID: (_HOUR, TEN_YEARS)}  # from and until, from now
_ALWAYS: Final = (-DAY, TEN_YEARS)
_CA: Final = "fakebroker CA"
_UNROUTABLE: Final = ("", "0.0.0.0", "::")
_OWN_HOST: Final = ("localhost", "127.0.0.1", "::1")
_SAFE: Final = "-_.@+"
_MOST_CLIENTS: Final = 1_000  # each has files of 5 KB
_LOCK_ATTEMPTS: Final = 200
_LOCK_PAUSE_S: Final = 0.005  # a holder writes a few files
_LONGEST_NAME: Final = 64  # of a common name: ub-common-name of RFC 5280


class FolderInUse(ConfigError, ValueError):
    """Another process keeps the lock of a folder."""


class ClientCertificate(NamedTuple):
    """A client's certificate, as files: chain and key as PEM, apart and in one file, and both as a PKCS#12 key store
    with the password `PASSWORD`."""

    certificate: Path
    key: Path
    pem: Path
    keystore: Path


class Certificates:
    """The certificates of one cluster. `names` are the hosts of its brokers. A temporary `folder` is removed by
    `close`, a named one is kept. With `is_shared` other clusters may use it too: what only brokers read is elsewhere.
    Raises OSError if the folder cannot be written, and ConfigError if it has files of the user that are in the way.
    Raises ValueError for a host that no certificate can name, and ModuleNotFoundError without the extra.

    private  the folder for files that only the brokers read
    """

    def __init__(
        self, names: Iterable[str], folder: str | os.PathLike[str] | None = None, *, is_shared: bool = False
    ) -> None:
        _require_cryptography()
        self._clients: set[str] = set()  # the names for which there are files
        self._temporary: list[weakref.finalize[..., Certificates]] = []  # each removes a folder, at the exit at last
        self.folder = (self._new_temporary() if folder is None else Path(folder)).absolute()
        self._is_shared = is_shared
        try:
            self.private = self._new_temporary() if is_shared else self.folder
            self.folder.mkdir(parents=True, exist_ok=True)
            self.hosts = _hosts(names)
            with _locked(self.folder):
                self._ca = self._own_ca()
                self._write_trust()
            self._other_ca: Authority | None = None
            self.renew()
        except BaseException:
            self.close()
            raise

    def _new_temporary(self) -> Path:
        path = Path(tempfile.mkdtemp(prefix="fakebroker-tls-"))
        self._temporary.append(weakref.finalize(self, shutil.rmtree, path, ignore_errors=True))
        return path

    def renew(self) -> None:
        """Make a new certificate for the brokers."""
        self.valid = self.issue("broker", self.hosts)

    def add_host(self, host: str) -> bool:
        """Let the certificate of the brokers name another host. Return False if it names it already."""
        hosts = _hosts([*self.hosts, host])
        if hosts == self.hosts:
            return False
        self.valid, self.hosts = self.issue("broker", hosts), hosts
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

    def client(self, common_name: str, what: str = VALID) -> ClientCertificate:
        """Return a new certificate for a client: its principal is "User:CN=common_name". `what` is one of OF_CLIENTS.
        Raises ValueError for a name that no certificate can have, or if the files of that name are the user's."""
        if what not in OF_CLIENTS:
            raise ValueError(f"a certificate of a client is {', '.join(OF_CLIENTS)}, not {what!r}")
        if not 1 <= len(common_name.encode(errors="replace")) <= _LONGEST_NAME:
            raise ValueError(f"a common name has 1 to {_LONGEST_NAME} bytes, not {common_name!r}")
        name = f"client-{_safe(common_name)}" + ("" if what == VALID else f"~{what.replace(' ', '-')}")
        if name not in self._clients and len(self._clients) >= _MOST_CLIENTS:
            raise ValueError(f"a cluster has certificates for {_MOST_CLIENTS} clients already: use a name of before")
        self._clients.add(name)
        ca = self._foreign_ca() if what == UNKNOWN_ISSUER else self._ca
        files = _files(self.folder, name)
        with _locked(self.folder):
            kept = self._kept_key(files) if self._is_shared else None
            certificate, key = ca.issue(common_name, (), *_VALIDITIES.get(what, _ALWAYS), kept)
            return _write(files, name, certificate, key, ca)

    def issue(self, name: str, hosts: Iterable[str], what: str = VALID) -> Path:
        """Return the PEM file, key and chain, of a new certificate for brokers, which is one of OF_CLIENTS. That with
        an unknown issuer is of a CA that no client trusts."""
        ca = self._foreign_ca() if what == UNKNOWN_ISSUER else self._ca
        certificate, key = ca.issue(name, hosts, *_VALIDITIES.get(what, _ALWAYS))
        return _write(_files(self.private, name), name, certificate, key, ca).pem

    def close(self) -> None:
        """Remove the temporary folders."""
        for remove in self._temporary:
            remove()

    def _own_ca(self) -> Authority:
        """Return the CA of the folder, a new one if there is none. Raises ConfigError if it cannot be used."""
        certificate, key = self.ca, self.folder / "ca.key"
        has_certificate, has_key = certificate.exists(), key.exists()
        if has_certificate and has_key:
            return read_authority(certificate, key)
        if has_certificate or has_key:
            there, missing = (certificate, key) if has_certificate else (key, certificate)
            raise ConfigError(
                f"{self.folder} has a {there.name} and no {missing.name}, so it has no CA: add the {missing.name}, or "
                "name another folder for the certificates"
            )
        ca = new_authority(_CA)
        _put(key, _pem_of(ca.key))
        _put(certificate, _certificate_pem(ca.certificate))
        return ca

    def _foreign_ca(self) -> Authority:
        if self._other_ca is None:
            self._other_ca = new_authority("another CA")
        return self._other_ca

    def _write_trust(self) -> None:
        """Write the trust stores, if they do not have the CA already. Raises ConfigError for one of the user."""
        from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

        trusted = pkcs12.PKCS12Certificate(self._ca.certificate, b"fakebroker")
        store = pkcs12.serialize_java_truststore([trusted], BestAvailableEncryption(PASSWORD.encode()))
        for path in (self.truststore, self.truststore_jks):
            if path.exists():
                try:
                    kept = pkcs12.load_pkcs12(
                        read_setting_file("certificates", path), PASSWORD.encode()
                    ).additional_certs
                except ValueError:
                    raise ConfigError(
                        f"{path} is not one of fakebroker, which would replace it: move it, or name another folder for "
                        "the certificates"
                    ) from None
                if [entry.certificate for entry in kept] == [self._ca.certificate]:
                    continue
            _put(path, store)

    def _kept_key(self, files: ClientCertificate) -> EllipticCurvePrivateKey | None:
        """Return the key of the files of before, so that a client that reads them now gets a pair that fits. Raises
        ValueError if they are not of fakebroker."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        there = [path for path in files if path.exists()]
        if not there:
            return None
        issuers = [self._ca.certificate.subject, *map(common_name_of, (_CA, "another CA"))]
        try:
            issuer = x509.load_pem_x509_certificate(read_setting_file("certificates", files.certificate)).issuer
            key = load_pem_private_key(read_setting_file("certificates", files.key), None)
        except (ConfigError, TypeError, ValueError):
            issuer = None
        if issuer not in issuers or not isinstance(key, EllipticCurvePrivateKey):
            raise ValueError(
                f"{there[0]} is not of a certificate of fakebroker, which would replace it: move it, or name another "
                "folder for the certificates"
            )
        return key


def _files(folder: Path, name: str) -> ClientCertificate:
    return ClientCertificate(*(folder / f"{name}.{end}" for end in ("crt", "key", "pem", "p12")))


def _write(
    files: ClientCertificate, name: str, certificate: Certificate, key: EllipticCurvePrivateKey, ca: Authority
) -> ClientCertificate:
    """Write the files of a certificate and return them."""
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

    pem, key_pem = _certificate_pem(certificate), _pem_of(key)
    store = pkcs12.serialize_key_and_certificates(
        name.encode(), key, certificate, [ca.certificate], BestAvailableEncryption(PASSWORD.encode())
    )
    for path, content in zip(files, (pem, key_pem, key_pem + pem, store), strict=True):
        _put(path, content)
    return files


def _put(path: Path, content: bytes) -> None:
    """Write a file at once: other processes see the file of before, or all of the new one."""
    new = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        new.write_bytes(content)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder. Each holder writes a few files."""
    if sys.platform == "win32":  # it has no such lock
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile has the lock, too
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    """Wait for the lock, but not for long: the event loop may wait, too. Raises FolderInUse."""
    for _ in range(_LOCK_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
        except OSError:  # a file system without locks
            return
        else:
            return
    raise FolderInUse(f"another process has a lock on {folder}: name another folder for the certificates, or end it")


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise ModuleNotFoundError(
            not_installed("a listener with TLS", error.name or "cryptography", EXTRA), name="cryptography"
        ) from None


def _certificate_pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _pem_of(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _hosts(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys([*names, *_OWN_HOST]) if name not in _UNROUTABLE)


def _safe(name: str) -> str:
    """Return a name for a file, without what leads out of the folder. Different names have different files."""
    safe = "".join(char if char.isalnum() or char in _SAFE else "_" for char in name).strip(".")
    if safe == name:
        return name
    return f"{safe or 'client'}~{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"
