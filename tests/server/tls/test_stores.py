"""The user's own certificates, by Kafka's settings, and the folder of ours."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from support.requests import metadata
from support.tls_client import TlsClient, context_of
from support.watchdog import LIMIT_S

from fakebroker import FakeCluster
from fakebroker.core.errors import ConfigError, KafkaError
from fakebroker.server.tls.certificates import PASSWORD, Certificates


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certificates]:
    """The certificates of a user, of a CA that is not ours."""
    certificates = Certificates(["localhost"], tmp_path_factory.mktemp("theirs"))
    yield certificates
    certificates.close()


def settings_of(form: str, theirs: Certificates) -> dict[str, str]:
    broker, client = theirs.valid, theirs.client("client")
    match form:
        case "texts":
            return {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": broker.with_suffix(".key").read_text(),
                "ssl.keystore.certificate.chain": broker.with_suffix(".crt").read_text(),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": theirs.ca.read_text(),
            }
        case "PEM":
            return {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(broker),
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(theirs.ca),
            }
        case _:
            assert client.keystore.exists()
            return {
                "ssl.keystore.type": form,
                "ssl.keystore.location": str(broker.with_suffix(".p12")),
                "ssl.keystore.password": PASSWORD,
                "ssl.truststore.type": form,
                "ssl.truststore.location": str(theirs.truststore),
                "ssl.truststore.password": PASSWORD,
            }


@pytest.mark.parametrize("form", ["texts", "PEM", "PKCS12", "JKS"])
def test_brokers_present_the_certificate_of_the_settings(theirs: Certificates, form: str) -> None:
    config = {"ssl.client.auth": "required", **settings_of(form, theirs)}
    with FakeCluster(brokers=1, listeners=["SSL"], config=config) as kafka:
        with TlsClient(kafka, context=context_of(theirs.ca, theirs.client("carol"))) as client:
            assert client.ask(metadata([]))
        with pytest.raises(ssl.SSLCertVerificationError):
            TlsClient(kafka)  # it trusts the CA of the cluster
        kafka.tls.present("wrong host")
        with pytest.raises(ssl.SSLCertVerificationError):
            TlsClient(kafka, context=context_of(theirs.ca))


def test_what_cannot_be_used_is_said_at_the_start(theirs: Certificates, tmp_path: Path) -> None:
    right = settings_of("PKCS12", theirs)
    jks, empty = tmp_path / "old.jks", tmp_path / "empty"
    jks.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    empty.write_bytes(b"")
    wrong = {
        "ssl.keystore.location: /nowhere cannot be read: No such file": {**right, "ssl.keystore.location": "/nowhere"},
        "convert it with keytool": {**right, "ssl.keystore.location": str(jks)},
        "cannot be read as PKCS#12": {**right, "ssl.keystore.password": "wrong"},
        "trust store .* cannot be read as PKCS#12": {**right, "ssl.truststore.location": str(empty)},
        "the key store .*ca.pem has no key": {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(theirs.ca)},
        "the key store .*broker.key has no certificate": {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(theirs.valid.with_suffix(".key")),
        },
        "ssl.keystore.type must be JKS, PKCS12 or PEM, not BKS": {**right, "ssl.keystore.type": "BKS"},
        "ssl.truststore.type must be JKS, PKCS12 or PEM, not BKS": {**right, "ssl.truststore.type": "BKS"},
        "the trust store .*truststore.p12 has no certificate in the form PEM": {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(theirs.truststore),
        },
        "the trust store .*broker.key has no certificate in the form PEM": {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(theirs.valid.with_suffix(".key")),
        },
        "ssl.truststore.certificates has no certificate": {"ssl.truststore.certificates": "none"},
        "must be specified together": {"ssl.keystore.certificate.chain": theirs.ca.read_text()},
        "ssl.enabled.protocols must name TLSv1.2 or TLSv1.3": {"ssl.enabled.protocols": "TLSv1"},
    }
    for message, config in wrong.items():
        kafka = FakeCluster(brokers=1, listeners=["SSL"], config=config)
        with pytest.raises(KafkaError, match=message):
            kafka.start()


START_WITH_AN_ENCRYPTED_KEY = """
import sys
from fakebroker import FakeCluster
config = {"ssl.keystore.type": "PEM", "ssl.keystore.location": sys.argv[1]}
FakeCluster(brokers=1, listeners=["SSL"], config=config).start()
"""


def encrypted_store(theirs: Certificates, folder: Path) -> Path:
    key = load_pem_private_key(theirs.valid.with_suffix(".key").read_bytes(), None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    store = folder / "store.pem"
    store.write_bytes(encrypted + theirs.valid.with_suffix(".crt").read_bytes())
    return store


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("wrong", "ssl.key.password is wrong, and its key is encrypted"),
        ("", "ssl.key.password is wrong, and its key is encrypted"),
        ("x" * 2000, "password cannot be longer than 1024 bytes"),
    ],
)
def test_a_password_that_does_not_fit_a_key_is_refused(
    theirs: Certificates, tmp_path: Path, password: str, reason: str
) -> None:
    store = encrypted_store(theirs, tmp_path)
    config = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(store)}
    with FakeCluster(brokers=1, listeners=["SSL"], config={**config, "ssl.key.password": "secret"}):
        pass
    kafka = FakeCluster(brokers=1, listeners=["SSL"], config={**config, "ssl.key.password": password})
    with pytest.raises(ConfigError, match=f"^the key store {store} cannot be used: {reason}"):
        kafka.start()


def test_an_encrypted_key_without_a_password_is_refused_at_once(theirs: Certificates, tmp_path: Path) -> None:
    """OpenSSL asks at the terminal, or without one at the standard input, and waits."""
    store = encrypted_store(theirs, tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", START_WITH_AN_ENCRYPTED_KEY, str(store)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as started:
        assert started.stderr is not None
        try:
            assert started.wait(LIMIT_S) == 1
        finally:
            started.kill()
        assert f"{store} cannot be used: ssl.key.password is missing".encode() in started.stderr.read()


def test_settings_that_cannot_be_used_leave_a_listener_what_it_had_and_not_what_another_has(tmp_path: Path) -> None:
    store = tmp_path / "store.pem"
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=tmp_path / "tls") as maker:
        store.write_bytes(maker._call(maker.tls._files.valid.read_bytes))
    own = "listener.name.own.ssl"
    config = {f"{own}.client.auth": "required", f"{own}.keystore.type": "PEM", f"{own}.keystore.location": str(store)}
    with FakeCluster(brokers=1, listeners=["OWN=SSL", "SSL"], config=config, certificates=tmp_path / "tls") as kafka:
        store.unlink()
        kafka.tls.present()  # new contexts, for which the file is missing
        with TlsClient(kafka, "OWN", certificate=kafka.tls.client("a")) as client:
            assert client.ask(metadata([]))
        stranger = TlsClient(kafka, "OWN")
        with stranger, pytest.raises((ssl.SSLError, ConnectionResetError)):
            stranger.ask(metadata([]))


def test_a_folder_keeps_its_ca_and_a_temporary_one_goes(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "certificates"
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=folder) as kafka:
        first = kafka.tls.ca.read_bytes()
        assert kafka.tls.ca.parent == folder
    with FakeCluster(brokers=1, listeners=["SSL"], certificates=str(folder)) as kafka:
        assert kafka.tls.ca.read_bytes() == first
        with TlsClient(kafka) as client:
            assert client.ask(metadata([]))
    with FakeCluster(brokers=1, listeners=["SSL"]) as kafka:
        temporary = kafka.tls.ca.parent
        assert temporary.is_dir()
    assert not temporary.exists()


def test_a_ca_of_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("ca.pem", "ca.key"):
        (broken / name).write_text("nonsense")
    kafka = FakeCluster(brokers=1, listeners=["SSL"], certificates=broken)
    with pytest.raises(KafkaError, match=r"broken cannot be read: remove its ca.pem and ca.key"):
        kafka.start()


def test_without_a_listener_with_tls_there_is_nothing_to_trust() -> None:
    with (
        FakeCluster(brokers=1) as kafka,
        pytest.raises(RuntimeError, match="no listener with TLS runs: start the cluster with listeners="),
    ):
        assert kafka.tls.ca


def test_a_host_that_no_certificate_can_name_is_said() -> None:
    kafka = FakeCluster(brokers=1, listeners=["SSL=SSL://127.0.0.1:0,advertised=a..b:1"])
    with pytest.raises(ValueError, match=r"no certificate can name the host 'a\.\.b'"):
        kafka.start()
