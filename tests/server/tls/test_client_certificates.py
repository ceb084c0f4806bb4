"""Certificates of clients: when a client needs one, and the principal that it gives."""

from __future__ import annotations

import ssl

import pytest
from support.requests import metadata, request
from support.tls_client import TlsClient

from fakebroker import FakeCluster
from fakebroker.core.errors import KafkaError
from fakebroker.core.journal.events import ConnectionOpened, Login, Request

METADATA = metadata([])
API_VERSIONS = request(18, 0, {})


def principals(kafka: FakeCluster) -> set[str]:
    return kafka._call(lambda: {str(transport.principal) for transport in kafka._cluster.server.driver.transports})


def is_refused(client: TlsClient, frame: bytes = METADATA) -> bool:
    """Return True if the broker ends the handshake; with TLS 1.3 the client learns it when it reads."""
    try:
        client.ask(frame)
    except (ssl.SSLError, ConnectionError, EOFError):
        return True
    return False


@pytest.mark.parametrize("auth", ["none", "requested", "required"])
def test_a_client_needs_a_certificate_as_the_setting_says(loop: str, auth: str) -> None:
    with FakeCluster(brokers=1, listeners=["SSL"], config={"ssl.client.auth": auth}) as kafka:
        with TlsClient(kafka) as client:
            assert is_refused(client) == (auth == "required")
        with TlsClient(kafka, certificate=kafka.tls.client("alice")) as client:
            client.ask(metadata([]))
            assert principals(kafka) == {"User:ANONYMOUS" if auth == "none" else "User:CN=alice"}


@pytest.mark.parametrize("auth", ["none", "required"])
def test_the_journal_has_the_principal_of_a_certificate(loop: str, auth: str) -> None:
    with FakeCluster(brokers=1, listeners=["SSL"], config={"ssl.client.auth": auth}) as kafka:
        with TlsClient(kafka, certificate=kafka.tls.client("alice")) as client:
            client.ask(metadata([]))
        principal = "User:ANONYMOUS" if auth == "none" else "User:CN=alice"
        events = list(kafka.journal)
        [opened] = [event for event in events if isinstance(event, ConnectionOpened)]
        [login] = [event for event in events if isinstance(event, Login)]
        [sent] = [event for event in events if isinstance(event, Request)]
        assert login[2:] == (opened.connection, 1, "SSL", "", principal, "NONE", "", False)
        assert (sent.api, sent.connection, sent.principal) == ("Metadata", opened.connection, principal)


def test_a_certificate_whose_name_cannot_be_read_fails_the_handshake(
    loop: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unreadable(certificate: bytes) -> str:
        raise ValueError("a value in DER has no length")

    monkeypatch.setattr("fakebroker.server.tls.transport.subject_of", unreadable)
    caplog.set_level("INFO")
    with FakeCluster(brokers=1, listeners=["SSL"], config={"ssl.client.auth": "required"}) as kafka:
        with TlsClient(kafka, certificate=kafka.tls.client("alice")) as client:
            assert is_refused(client)
        assert "TLS handshake failed: the client's certificate: a value in DER has no length" in caplog.text


def test_a_certificate_gives_no_principal_next_to_sasl(loop: str) -> None:
    config = {"listener.name.sasl_ssl.ssl.client.auth": "required"}
    with FakeCluster(brokers=1, listeners=["SASL_SSL"], config=config) as kafka:
        with TlsClient(kafka, certificate=kafka.tls.client("alice"), listener="SASL_SSL"):
            pass
        assert [event for event in kafka.journal if isinstance(event, Login)] == []


def test_a_certificate_of_another_ca_is_refused(loop: str) -> None:
    config = {"ssl.client.auth": "requested"}
    with (
        FakeCluster(brokers=1, listeners=["SSL"], config=config) as kafka,
        FakeCluster(brokers=1, listeners=["SSL"]) as other,
        TlsClient(kafka, certificate=other.tls.client("mallory")) as client,
    ):
        assert is_refused(client)


def test_the_principal_is_what_the_rules_make_of_the_name(loop: str) -> None:
    rules = "RULE:^CN=(svc-.*?)$/$1/U, RULE:^CN=(.*?)$/$1/"
    with FakeCluster(
        brokers=1,
        listeners=["SSL"],
        config={"ssl.client.auth": "required", "ssl.principal.mapping.rules": rules},
    ) as kafka:
        for name, principal in {"alice": "alice", "svc-billing": "SVC-BILLING"}.items():
            with TlsClient(kafka, certificate=kafka.tls.client(name)) as client:
                client.ask(metadata([]))
                assert principals(kafka) == {f"User:{principal}"}


def test_a_name_for_which_no_rule_is_closes_the_connection(loop: str) -> None:
    config = {"ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=a.*$/a/"}
    with FakeCluster(brokers=1, listeners=["SSL"], config=config) as kafka:
        with TlsClient(kafka, certificate=kafka.tls.client("bob")) as client:
            assert is_refused(client)
        with TlsClient(kafka, certificate=kafka.tls.client("amy")) as client:
            assert not is_refused(client)


def test_rules_that_are_none_are_refused_at_once() -> None:
    with pytest.raises(KafkaError, match="Invalid rule: `nonsense`"):
        FakeCluster(brokers=1, config={"ssl.principal.mapping.rules": "nonsense"})


def test_there_is_an_end_of_clients(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakebroker.server.tls.certificates._MOST_CLIENTS", 2)
    for name in ("a", "b", "a"):
        kafka.tls.client(name)
    with pytest.raises(ValueError, match="a cluster has certificates for 2 clients already"):
        kafka.tls.client("c")


@pytest.mark.parametrize("name", ["", "x" * 65, "é" * 33])
def test_a_name_has_a_length(kafka: FakeCluster, name: str) -> None:
    with pytest.raises(ValueError, match="a common name has 1 to 64 bytes"):
        kafka.tls.client(name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "..", "a\x00b", "ünïcode"])
def test_a_name_does_not_lead_out_of_the_folder(kafka: FakeCluster, name: str) -> None:
    for path in kafka.tls.client(name):
        assert path.parent == kafka.tls.ca.parent
        assert path.exists()


def test_a_name_of_no_characters_is_refused_in_words(kafka: FakeCluster) -> None:
    with pytest.raises(ValueError, match=r"the common name has '\\udcff' at place 2, which is no character of Unicode"):
        kafka.tls.client("a\udcff")


def test_different_names_have_different_files(kafka: FakeCluster) -> None:
    names = ["a/b", "a_b", "a:b", ".a", "a", "a.", "..", "...", "client", "a~b"]
    files = {name: kafka.tls.client(name).certificate for name in names}
    assert len({*files.values()}) == len(names)
    assert files["a_b"].name == "client-a_b.crt"


@pytest.mark.parametrize(
    ("what", "alert"),
    [("expired", "CERTIFICATE_EXPIRED"), ("not yet valid", "BAD_CERTIFICATE"), ("unknown issuer", "UNKNOWN_CA")],
)
def test_a_certificate_that_brokers_refuse_is_made_on_request(loop: str, what: str, alert: str) -> None:
    with FakeCluster(brokers=1, listeners=["SSL"], config={"ssl.client.auth": "required"}) as kafka:
        valid, wrong = kafka.tls.client("alice"), kafka.tls.client("alice", what)
        with TlsClient(kafka, certificate=wrong) as client, pytest.raises(ssl.SSLError, match=f"ALERT_{alert}"):
            client.socket.recv(1)
        with TlsClient(kafka, certificate=valid) as client:
            assert not is_refused(client)


def test_a_client_has_one_of_the_certificates_that_there_are(kafka: FakeCluster) -> None:
    with pytest.raises(ValueError, match=r"a certificate of a client is valid, expired, .* not 'old'"):
        kafka.tls.client("alice", "old")


def test_a_listener_with_sasl_asks_for_no_certificate_because_of_the_setting_of_all(loop: str) -> None:
    config = {"ssl.client.auth": "required", "listener.name.own.ssl.client.auth": "required"}
    with FakeCluster(brokers=1, listeners=["SASL_SSL", "OWN=SASL_SSL"], config=config) as kafka:
        for listener, refused in {"SASL_SSL": False, "OWN": True}.items():
            with TlsClient(kafka, listener) as client:
                assert is_refused(client, API_VERSIONS) == refused
