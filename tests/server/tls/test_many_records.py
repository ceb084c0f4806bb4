"""A client of TLS that sends few bytes in each record: a step decrypts some, and other clients have their turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.messages import decode_response
from support.requests import api_versions
from support.tls_client import RecordsClient, context_of

from fakebroker import FakeCluster
from fakebroker.server.tls import transport
from fakebroker.server.tls.transport import TlsTransport

pytest.importorskip("cryptography", reason="the extra security is not installed")

REQUESTS = 60
AT_ONCE = transport._RECORDS_AT_ONCE
KEY_UPDATES = 3_000


@pytest.fixture
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1, listeners=["SSL"]) as cluster:
        yield cluster


@pytest.fixture
def steps(kafka: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the records with content of each step that is done from now on."""
    counts: list[int] = []
    go_on = TlsTransport.go_on

    def counted(self: TlsTransport) -> bytes:
        received = go_on(self)
        counts.append(self.records)
        return received

    monkeypatch.setattr(TlsTransport, "go_on", counted)
    return counts


def single_bytes(data: bytes) -> list[bytes]:
    return [bytes((byte,)) for byte in data]


def correlation_id(client: RecordsClient) -> int:
    return decode_response(18, 0, client.receive())[0]


def test_many_small_records_are_decrypted_in_steps(kafka: FakeCluster, steps: list[int]) -> None:
    requests = b"".join(api_versions(version=0, correlation_id=number) for number in range(REQUESTS))
    with RecordsClient(kafka) as client:
        client.encrypt(single_bytes(requests))
        client.send_encrypted()
        assert [correlation_id(client) for _ in range(REQUESTS)] == list(range(REQUESTS))
    assert sum(steps) == len(requests)
    assert len(requests) > 4 * AT_ONCE
    assert max(steps) == AT_ONCE


def test_a_handshake_and_a_request_may_come_byte_by_byte(kafka: FakeCluster) -> None:
    with RecordsClient(kafka, socket_bytes=1) as client:
        client.encrypt(single_bytes(api_versions(version=0, correlation_id=7)))
        client.send_encrypted()
        assert correlation_id(client) == 7


def test_records_without_content_count_too(kafka: FakeCluster, steps: list[int], tmp_path: Path) -> None:
    """A client may change its key as often as it likes. OpenSSL takes longer for that than for content."""
    from support.tls_keys import CIPHER, WritingKeys  # needs cryptography

    context = context_of(kafka.tls.ca)
    context.keylog_filename = str(tmp_path / "keys")
    with RecordsClient(kafka, context) as client:
        assert client.tls.cipher() == (CIPHER, "TLSv1.3", 256)
        keys = WritingKeys(tmp_path / "keys")
        updates = [keys.key_update() for _ in range(KEY_UPDATES)]
        client.send_encrypted(*updates, keys.record(api_versions(version=0, correlation_id=7)))
        assert correlation_id(client) == 7
    assert len(steps) >= KEY_UPDATES / transport._RECORDS_FED
