"""Key stores and trust stores that a running broker is told: what is refused, and when a file is read again."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.messages import decode_response
from support.raw_client import RawClient
from support.requests import metadata, request
from support.tls_client import TlsClient, context_of, endpoint
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.server.tls.certificates import PASSWORD, Certificates

INVALID_REQUEST = 42
KEYSTORE, TRUSTSTORE = "listener.name.ssl.ssl.keystore", "listener.name.ssl.ssl.truststore"
FAILED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: Validation of dynamic config update of SSLFactory "
    "failed: org.apache.kafka.common."
)
NO_PASSWORD = (
    "errors.InvalidConfigurationException: SSL key store is specified, but key store password is not specified."
)
HOSTS = ("localhost", "127.0.0.1", "::1")


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Certificates]:
    certificates = Certificates(["localhost"], tmp_path / "theirs")
    yield certificates
    certificates.close()


@pytest.fixture
def own(theirs: Certificates, tmp_path: Path) -> Iterator[FakeCluster]:
    """A cluster with a key store and a trust store of the user."""
    store = tmp_path / "store.pem"
    replace(store, theirs.valid)
    config = {
        f"{KEYSTORE}.type": "PEM",
        f"{KEYSTORE}.location": str(store),
        f"{TRUSTSTORE}.type": "PEM",
        f"{TRUSTSTORE}.location": str(theirs.ca),
    }
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"], config=config) as kafka:
        yield kafka


def replace(store: Path, by: Path) -> None:
    """Replace a file in place. Its time is another one, also where the clock of the file system is coarse."""
    before = store.stat().st_mtime_ns if store.exists() else 0
    store.write_bytes(by.read_bytes())
    os.utime(store, ns=(before + 1_000_000, before + 1_000_000))


def alter(
    kafka: FakeCluster, settings: dict[str, str | None], broker: str = "1", *, validate_only: bool = False
) -> tuple[int, str]:
    """Set settings of a broker, or remove them with None. Return the error code and the message."""
    configs = [
        {"name": name, "config_operation": int(value is None), "value": value} for name, value in settings.items()
    ]
    resource = {"resource_type": 4, "resource_name": broker, "configs": configs}
    message: dict[str, Any] = {"resources": [resource], "validate_only": validate_only}
    with RawClient(endpoint(kafka, "PLAINTEXT")) as client:
        _, answer = decode_response(44, 1, client.ask(request(44, 1, message)))
    return answer.responses[0].error_code, answer.responses[0].error_message or ""


def serial(kafka: FakeCluster, ca: Path) -> str:
    """Return the serial number of the certificate that the first broker presents."""
    with TlsClient(kafka, context=context_of(ca)) as client:
        assert client.ask(metadata([]))
        assert isinstance(client.socket, ssl.SSLSocket)
        certificate = client.socket.getpeercert()
    assert certificate is not None
    return str(certificate["serialNumber"])


def wrong_stores(theirs: Certificates) -> dict[str, dict[str, str | None]]:
    """Return settings by what Kafka says of them."""
    no_json = str(theirs.ca.parent / "nowhere")
    text = theirs.ca.read_text()
    return {
        f"errors.InvalidConfigurationException: Failed to load PEM SSL keystore {no_json}": {
            f"{KEYSTORE}.location": no_json
        },
        f"KafkaException: Failed to load SSL keystore {theirs.valid} of type FOO": {
            f"{KEYSTORE}.type": "FOO",
            f"{KEYSTORE}.location": str(theirs.valid),
            f"{KEYSTORE}.password": "x",
        },
        f"KafkaException: Failed to load SSL keystore {theirs.valid.with_suffix('.p12')} of type PKCS12": {
            f"{KEYSTORE}.type": "PKCS12",
            f"{KEYSTORE}.location": str(theirs.valid.with_suffix(".p12")),
            f"{KEYSTORE}.password": "wrong",
        },
        NO_PASSWORD: {f"{KEYSTORE}.type": "PKCS12"},
        "errors.InvalidConfigurationException: Both SSL key store location and separate private key are specified.": {
            f"{KEYSTORE}.key": "x",
            f"{KEYSTORE}.certificate.chain": "y",
        },
        "errors.InvalidConfigurationException: SSL certificate chain is specified, but private key is not specified": {
            f"{KEYSTORE}.certificate.chain": text
        },
        "errors.InvalidConfigurationException: SSL key store password cannot be specified with PEM format, only key "
        "password may be specified": {f"{KEYSTORE}.password": "x"},
        "config.ConfigException: Keystore DistinguishedName does not match:  existing={alias=kafka, DN=CN=broker}, "
        "new={alias=kafka, DN=CN=other}": {f"{KEYSTORE}.location": str(theirs.issue("other", HOSTS))},
        "config.ConfigException: Keystore DistinguishedName does not match:  existing={alias=kafka, DN=CN=broker}, "
        "new={alias=client-kim, DN=CN=kim}": {
            f"{KEYSTORE}.type": "PKCS12",
            f"{KEYSTORE}.location": str(theirs.client("kim").keystore),
            f"{KEYSTORE}.password": PASSWORD,
        },
        "config.ConfigException: Keystore SubjectAltNames do not match:  existing={alias=kafka, SAN=[[2, localhost], "
        "[7, 127.0.0.1], [7, 0:0:0:0:0:0:0:1]]}, new={alias=kafka, SAN=[[2, x.test]]}": {
            f"{KEYSTORE}.location": str(renamed(theirs.issue("broker", ["x.test"]), "other-hosts.pem"))
        },
        f"errors.InvalidConfigurationException: Failed to load PEM SSL keystore {no_json}s": {
            f"{TRUSTSTORE}.location": f"{no_json}s"
        },
        f"errors.InvalidConfigurationException: Failed to load PEM SSL keystore {theirs.truststore}": {
            f"{TRUSTSTORE}.location": str(theirs.truststore)
        },
        "errors.InvalidConfigurationException: Both SSL trust store location and separate trust certificates are "
        "specified.": {f"{TRUSTSTORE}.certificates": text},
        "errors.InvalidConfigurationException: SSL trust store password cannot be specified for PEM format.": {
            f"{TRUSTSTORE}.password": "x"
        },
    }


def renamed(path: Path, name: str) -> Path:
    return path.rename(path.with_name(name))


def test_stores_that_cannot_take_the_place_of_others_are_refused_in_the_words_of_kafka(
    own: FakeCluster, theirs: Certificates
) -> None:
    before = serial(own, theirs.ca)
    for words, settings in wrong_stores(theirs).items():
        for validate_only in (True, False):
            refused = alter(own, settings, validate_only=validate_only)
            assert refused == (INVALID_REQUEST, f"{FAILED}{words} for configuration Invalid dynamic configuration")
    assert serial(own, theirs.ca) == before


def test_another_subject_and_other_hosts_are_allowed_by_settings(theirs: Certificates, tmp_path: Path) -> None:
    allowed = {"ssl.allow.dn.changes": "true", "ssl.allow.san.changes": "true"}
    other = theirs.issue("other", ["localhost"])
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"], config=allowed) as kafka:
        assert alter(kafka, {f"{KEYSTORE}.type": "PEM", f"{KEYSTORE}.location": str(other)}) == (0, "")
        assert serial(kafka, theirs.ca)


def test_the_certificate_of_the_cluster_stands_for_a_key_store(tmp_path: Path) -> None:
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"], certificates=tmp_path) as kafka:
        again = Certificates(["localhost"], tmp_path)
        given: dict[str, str | None] = {f"{KEYSTORE}.type": "PEM", f"{KEYSTORE}.location": str(again.valid)}
        before = serial(kafka, again.ca)
        assert alter(kafka, given) == (0, "")
        assert serial(kafka, again.ca) != before
        given[f"{KEYSTORE}.location"] = str(again.issue("other", HOSTS))
        code, message = alter(kafka, given)
        assert code == INVALID_REQUEST
        assert "existing={alias=kafka, DN=CN=broker}, new={alias=kafka, DN=CN=other}" in message
        assert alter(kafka, dict.fromkeys(given)) == (0, "")
        assert serial(kafka, again.ca) == before


def test_a_file_that_was_replaced_is_read_again_when_the_broker_gets_settings(
    own: FakeCluster, theirs: Certificates, tmp_path: Path
) -> None:
    store = tmp_path / "store.pem"
    same: dict[str, str | None] = {f"{KEYSTORE}.location": str(store)}
    first = serial(own, theirs.ca)
    theirs.renew()
    replace(store, theirs.valid)
    assert alter(own, same, validate_only=True) == (0, "")
    assert alter(own, {"log.cleaner.threads": "1"}, "") == (0, "")
    assert serial(own, theirs.ca) == first
    assert alter(own, same) == (0, "")
    second = serial(own, theirs.ca)
    assert second != first
    theirs.renew()
    replace(store, theirs.valid)
    assert alter(own, {"log.cleaner.threads": "1"}) == (0, "")
    assert serial(own, theirs.ca) not in (first, second)


@pytest.mark.parametrize("is_junk", [False, True])
def test_a_replaced_file_that_may_not_replace_the_one_of_before_has_no_effect(
    own: FakeCluster, theirs: Certificates, tmp_path: Path, caplog: pytest.LogCaptureFixture, is_junk: bool
) -> None:
    """Kafka 4.4 responds without an error, too, and presents the certificate of before."""
    store, first = tmp_path / "store.pem", serial(own, theirs.ca)
    replace(store, theirs.ca if is_junk else theirs.issue("other", HOSTS))
    for settings in ({f"{KEYSTORE}.location": str(store)}, {"log.cleaner.threads": "1"}):
        assert alter(own, {**settings}) == (0, "")
        assert serial(own, theirs.ca) == first
    assert "new connections have the certificate of before: org.apache.kafka.common." in caplog.text
    theirs.renew()
    replace(store, theirs.valid)
    assert alter(own, {"log.cleaner.threads": "2"}) == (0, "")
    assert serial(own, theirs.ca) != first


def test_a_trust_store_that_was_replaced_is_read_again(theirs: Certificates, tmp_path: Path) -> None:
    trusted, nobody = tmp_path / "trusted.pem", Certificates(["localhost"], tmp_path / "nobody")
    replace(trusted, nobody.ca)
    config = {
        "ssl.client.auth": "required",
        f"{TRUSTSTORE}.type": "PEM",
        f"{TRUSTSTORE}.location": str(trusted),
    }
    carol = theirs.client("carol")
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"], config=config) as kafka:
        with TlsClient(kafka, certificate=carol) as client, pytest.raises((ssl.SSLError, ConnectionError)):
            client.ask(metadata([]))
        replace(trusted, theirs.ca)
        assert alter(kafka, {f"{TRUSTSTORE}.location": str(trusted)}) == (0, "")
        with TlsClient(kafka, certificate=carol) as client:
            assert client.ask(metadata([]))


def test_contexts_that_no_listener_uses_are_dropped(theirs: Certificates) -> None:
    text = theirs.ca.read_text()
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"]) as kafka:
        for count in range(20):
            changed = {f"{TRUSTSTORE}.type": "PEM", f"{TRUSTSTORE}.certificates": f"{text}\n{count}"}
            assert alter(kafka, {**changed}) == (0, "")
            assert serial(kafka, kafka.tls.ca)
        contexts = kafka._call(lambda: kafka._cluster.server.listeners.contexts)
        assert contexts is not None
        assert len(contexts._made) <= 2


def test_a_removed_listener_leaves_no_context() -> None:
    added: dict[str, str | None] = {
        "listeners": "PLAINTEXT://:1,SSL://:2,EXTRA://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,EXTRA:SSL",
    }
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"]) as kafka:
        contexts = kafka._call(lambda: kafka._cluster.server.listeners.contexts)
        assert contexts is not None
        assert alter(kafka, added) == (0, "")
        wait_until(lambda: len(contexts._usable) == 2, "the added listener")
        assert alter(kafka, dict.fromkeys(added)) == (0, "")
        assert alter(kafka, {"log.cleaner.threads": "1"}) == (0, "")
        for used in (contexts._usable, contexts._stores):
            assert [*used] == [(1, "SSL")]
