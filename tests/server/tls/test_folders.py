"""The folder of the option `certificates`: files of the user in it, a CA of the user, and clusters that share it."""

from __future__ import annotations

import gc
import os
import ssl
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID
from support.requests import metadata
from support.tls_client import TlsClient, context_of
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.core.errors import ConfigError
from fakebroker.server.tls import certificates
from fakebroker.server.tls.certificates import PASSWORD, Certificates

DAY = timedelta(days=1)


def names(**parts: str) -> x509.Name:
    oids = {"cn": NameOID.COMMON_NAME, "o": NameOID.ORGANIZATION_NAME, "c": NameOID.COUNTRY_NAME}
    return x509.Name([x509.NameAttribute(oids[part], value) for part, value in parts.items()])


def write_ca(
    folder: Path,
    key: Any,
    *,
    subject: x509.Name | None = None,
    of_key: Any = None,
    days: tuple[int, int] = (-1, 9),
    encryption: KeySerializationEncryption | None = None,
    extensions: tuple[x509.ExtensionType, ...] = (x509.BasicConstraints(ca=True, path_length=None),),
) -> None:
    """Write a CA of the user into a folder."""
    subject, now = subject or names(cn="my"), datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).serial_number(7)
    builder = builder.not_valid_before(now + days[0] * DAY).not_valid_after(now + days[1] * DAY)
    builder = builder.public_key((of_key or key).public_key())
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    folder.mkdir(exist_ok=True)
    (folder / "ca.pem").write_bytes(builder.sign(key, digest).public_bytes(Encoding.PEM))
    (folder / "ca.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))


def curve() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.mark.parametrize("name", ["ca.pem", "ca.key"])
def test_half_a_ca_is_refused_and_no_file_is_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    (tmp_path / "broker.key").write_text("my key")
    missing = {"ca.pem": "ca.key", "ca.key": "ca.pem"}[name]
    kafka = FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path)
    with pytest.raises(ConfigError, match=f"{tmp_path} has a {name} and no {missing}, so it has no CA: add the"):
        kafka.start()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {name: "mine", "broker.key": "my key"}


def test_files_of_the_user_stay_beside_the_ca(tmp_path: Path) -> None:
    mine = ("broker.key", "broker.pem", "broker.crt", "broker.p12", "keystore.pem", "expired.pem")
    for name in mine:
        (tmp_path / name).write_text("mine")
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path) as kafka:
        kafka.tls.present("expired")
        kafka.tls.present()
        with TlsClient(kafka) as client:
            assert client.ask(metadata([]))
    assert {(tmp_path / name).read_text() for name in mine} == {"mine"}
    assert {path.name for path in tmp_path.iterdir()} - {*mine} == {
        "ca.pem",
        "ca.key",
        "truststore.p12",
        "truststore.jks",
    }


def test_a_decrypted_key_store_is_not_in_the_folder(tmp_path: Path) -> None:
    theirs = Certificates(["localhost"], tmp_path / "theirs")
    config = {
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(theirs.valid.with_suffix(".p12")),
        "ssl.keystore.password": PASSWORD,
    }
    folder = tmp_path / "folder"
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=folder, config=config) as kafka:
        with TlsClient(kafka, context=context_of(theirs.ca)) as client:
            assert client.ask(metadata([]))
        private = kafka._call(lambda: kafka.tls._files.private)
        assert (private / "keystore.pem").exists()
        assert private.stat().st_mode & 0o077 == 0
    assert not private.exists()
    assert not (folder / "keystore.pem").exists()


@pytest.mark.parametrize("name", ["truststore.p12", "truststore.jks"])
def test_a_trust_store_of_the_user_is_not_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    kafka = FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path)
    with pytest.raises(ConfigError, match=f"{tmp_path / name} is not one of fakebroker, which would replace it"):
        kafka.start()
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize("end", ["crt", "key", "pem", "p12"])
def test_files_of_the_user_with_the_name_of_a_client_are_not_replaced(tmp_path: Path, end: str) -> None:
    mine = tmp_path / f"client-alice.{end}"
    mine.write_text("mine")
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path) as kafka:
        with pytest.raises(ValueError, match=f"{mine} is not of a certificate of fakebroker"):
            kafka.tls.client("alice")
        kafka.tls.client("bob")
    assert mine.read_text() == "mine"


def test_a_client_gets_a_new_certificate_for_the_key_that_its_files_have(tmp_path: Path) -> None:
    """Another cluster with the same folder may make one while a client reads the files."""
    pairs = []
    for _ in range(2):
        with FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path) as kafka:
            files = kafka.tls.client("alice")
            pairs.append((files.certificate.read_bytes(), files.key.read_bytes()))
    (first, key), (second, same) = pairs
    assert first != second
    assert key == same


@pytest.mark.parametrize(
    "key",
    [curve, ed25519.Ed25519PrivateKey.generate, lambda: rsa.generate_private_key(65537, 2048)],
    ids=["EC", "Ed25519", "RSA"],
)
def test_a_ca_of_the_user_may_have_any_subject_and_kind_of_key(tmp_path: Path, key: Callable[[], Any]) -> None:
    write_ca(tmp_path, key(), subject=names(c="DE", o="Mine, Yours & Co", cn="a, b+c"))
    config = {"ssl.client.auth": "required"}
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path, config=config) as kafka:
        with TlsClient(kafka, certificate=kafka.tls.client("alice")) as client:
            assert client.ask(metadata([]))
        certificate = x509.load_pem_x509_certificate(kafka.tls.client("alice").certificate.read_bytes())
    assert certificate.issuer == names(c="DE", o="Mine, Yours & Co", cn="a, b+c")


def test_a_ca_of_the_user_may_name_its_key_as_it_likes(tmp_path: Path) -> None:
    own = (x509.BasicConstraints(ca=True, path_length=None), x509.SubjectKeyIdentifier(b"any bytes"))
    write_ca(tmp_path, curve(), extensions=own)
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path) as kafka, TlsClient(kafka) as client:
        assert client.ask(metadata([]))


NO_CA = (x509.BasicConstraints(ca=False, path_length=None),)
NO_SIGNING = (
    x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    ),
)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"encryption": BestAvailableEncryption(b"pw")}, "has an encrypted key, and there is no password for it"),
        ({"of_key": curve()}, "has a certificate of another key"),
        ({"days": (-9, -1)}, r"is valid from \d{4}-\d\d-\d\d until \d{4}-\d\d-\d\d, and not now"),
        ({"days": (1, 9)}, r"is valid from .* and not now"),
        ({"extensions": NO_CA}, r"has a certificate that is no CA's \(CA:FALSE\)"),
        ({"extensions": NO_SIGNING}, r"has a certificate that may not sign others \(its key usage\)"),
    ],
    ids=["encrypted", "another key", "expired", "not yet valid", "no CA", "no signatures"],
)
def test_a_ca_that_clients_would_refuse_is_refused_at_the_start(
    tmp_path: Path, given: dict[str, Any], why: str
) -> None:
    write_ca(tmp_path, curve(), **given)
    kafka = FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path)
    with pytest.raises(ConfigError, match=f"the CA in {tmp_path} {why}: remove its ca.pem and ca.key"):
        kafka.start()


START_AND_SHOW = """
import ssl, sys
from fakebroker import FakeCluster
with FakeCluster(brokers=1, listeners=["SSL"], certificates=sys.argv[1]) as kafka:
    kafka.tls.client("alice")
    print("started", flush=True)
    sys.stdin.read()
    host, _, port = kafka.bootstrap("SSL").rpartition(":")
    context = ssl.create_default_context(cafile=kafka.tls.ca)
    files = kafka.tls.client("alice")
    context.load_cert_chain(files.certificate, files.key)
    import socket
    with socket.create_connection((host, int(port))) as plain, context.wrap_socket(plain, server_hostname=host):
        print("connected")
"""


def test_clusters_that_start_at_once_in_a_new_folder_have_one_ca(tmp_path: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", START_AND_SHOW, str(tmp_path / "new")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    try:
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "started\n", one.communicate()
        for one in started:
            assert one.communicate(timeout=LIMIT_S) == ("connected\n", "")
    finally:
        for one in started:
            one.kill()
            one.wait()


def test_a_file_is_there_as_a_whole_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that fails while it writes leaves the file of before, and no other one."""
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path) as kafka:
        before = kafka.tls.client("alice").certificate.read_bytes()

        def fail(path: Path, content: bytes) -> int:
            with path.open("wb") as half:
                half.write(content[:10])
            raise OSError("the disk is full")

        monkeypatch.setattr(Path, "write_bytes", fail)
        with pytest.raises(OSError, match="the disk is full"):
            kafka.tls.client("alice")
        monkeypatch.undo()
    assert (tmp_path / "client-alice.crt").read_bytes() == before
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]


def test_a_client_that_verifies_strictly_connects() -> None:
    """Python 3.13 does so by default."""
    with FakeCluster(brokers=1, listeners=["SSL"]) as kafka:
        context = context_of(kafka.tls.ca)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        with TlsClient(kafka, context=context) as client:
            assert client.ask(metadata([]))


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such lock")
def test_a_lock_that_another_process_keeps_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "_LOCK_PAUSE_S", 0.0)
    own = Certificates(["localhost"], tmp_path, is_shared=True)
    try:
        with certificates._locked(tmp_path):
            for use in (lambda: own.client("alice"), lambda: Certificates(["localhost"], tmp_path)):
                with pytest.raises(ConfigError, match=f"another process has a lock on {tmp_path}"):
                    use()
        assert own.client("alice").certificate.exists()
    finally:
        own.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "truststore.p12"])
def test_a_pipe_instead_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    write_ca(tmp_path, curve())
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(ConfigError, match=f"{tmp_path / name} cannot be read"):
        Certificates(["localhost"], tmp_path)


def test_a_temporary_folder_goes_with_its_certificates() -> None:
    own = Certificates(["localhost"])
    folder = own.folder
    assert folder.exists()
    del own
    gc.collect()
    assert not folder.exists()
