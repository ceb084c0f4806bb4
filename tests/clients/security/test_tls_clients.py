"""Stock clients over TLS, with the settings of `client_settings`: right, and each thing that is wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from support.log_reader import read_values
from support.secured_sends import CLIENTS, TOPIC, VALUE, refused, send

from fakebroker import FakeCluster
from fakebroker.core.journal.events import Throttled

pytest.importorskip("cryptography", reason="the extra security is not installed")
pytestmark = [pytest.mark.clients, pytest.mark.slow]

# The alerts of OpenSSL.
ALERTS = {"unknown issuer": "unknown ca", "expired": "certificate expired", "wrong host": "bad certificate"}
clients = pytest.mark.parametrize("library", CLIENTS)


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    config = {"ssl.client.auth": "requested"}
    with FakeCluster(brokers=1, listeners=["PLAINTEXT", "SSL"], config=config, clock="auto") as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        yield cluster


@clients
def test_a_client_sends_over_tls(kafka: FakeCluster, library: str) -> None:
    send(library, kafka.client_settings(library, "SSL"))
    assert read_values(kafka, TOPIC) == [VALUE]


@clients
def test_a_client_with_a_certificate_is_its_principal(kafka: FakeCluster, library: str) -> None:
    kafka.quotas.set(user="CN=alice", producer_byte_rate=1)
    send(library, kafka.client_settings(library, "SSL", certificate=kafka.tls.client("alice")))
    assert read_values(kafka, TOPIC) == [VALUE]
    throttled = [event for event in kafka.journal if isinstance(event, Throttled)]
    assert throttled, "the quota of alice applies to it"


@clients
@pytest.mark.parametrize("what", ["unknown issuer", "expired", "wrong host"])
def test_a_client_does_not_trust_a_wrong_certificate(
    kafka: FakeCluster, library: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fakebroker")
    kafka.tls.present(what)
    # aiokafka closes the connection without an alert, and logs the reason itself.
    reason = "certificate verify failed" if library == "aiokafka" else f"TLS handshake failed: {ALERTS[what]}"
    refused(library, kafka.client_settings(library, "SSL"), lambda: reason in caplog.text, reason)
    kafka.tls.present()
    send(library, kafka.client_settings(library, "SSL"))
    assert read_values(kafka, TOPIC) == [VALUE], "only the second record"


@clients
def test_settings_for_plain_text_are_short(kafka: FakeCluster, library: str) -> None:
    settings = kafka.client_settings(library)
    assert len(settings) == 2
    send(library, settings)
    assert read_values(kafka, TOPIC) == [VALUE]
