"""Every request that reaches a broker of this process, byte for byte and by connection."""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any, NamedTuple

import pytest

from fakebroker.network.connection import Connection
from fakebroker.producer.network.node_api_versions import PRODUCE
from fakebroker.protocol.batch_layout import RECORD_BATCH_OVERHEAD
from fakebroker.protocol.compression import decompress
from fakebroker.protocol.framing import FrameDecoder
from fakebroker.protocol.headers import decode_request_header, peek_api
from fakebroker.protocol.messages import is_flexible
from fakebroker.protocol.record_batch import read_batch_header
from fakebroker.server.driver import Driver
from support.messages import decode_request

_MAX_RECORDS = 1 << 24


class Request(NamedTuple):
    """A request. `broker_id` is its broker; `body` has all after the correlation id, the client id included."""

    broker_id: int
    api_key: int
    version: int
    correlation_id: int
    body: bytes

    def decompressed(self) -> tuple[object, ...]:
        """Return a Produce request with its records decompressed. Lengths and checksums are left out, since they depend
        on the compression."""
        if self.api_key != PRODUCE:
            return self
        frame = struct.pack(">hhi", self.api_key, self.version, self.correlation_id) + self.body
        header = decode_request_header(frame, is_flexible(self.api_key, self.version))
        message: Any = decode_request(self.api_key, self.version, frame, header.body_offset)
        batches = []
        for topic in message.topic_data:
            for partition in topic.partition_data:
                batch = bytes(partition.records)
                batch_header = read_batch_header(batch)
                records = decompress(batch_header.compression, batch[RECORD_BATCH_OVERHEAD:], _MAX_RECORDS)
                batches.append((topic.topic_id, partition.index, batch_header._replace(batch_length=0, crc=0), records))
        told_by_client = (header.client_id, message.acks, message.timeout, message.transactional_id)
        return self.broker_id, self.correlation_id, *told_by_client, batches


class RequestTap:
    """Patches the driver while a test runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._received: dict[Connection, list[bytes]] = defaultdict(list)
        received = Driver.received

        def tapped(driver: Driver, connection: Connection, data: bytes) -> None:
            self._received[connection].append(bytes(data))
            received(driver, connection, data)

        monkeypatch.setattr(Driver, "received", tapped)

    def take(self) -> list[list[Request]]:
        """Return and forget the requests of each connection, in the order in which connections first sent something."""
        received, self._received = self._received, defaultdict(list)
        return [_requests(connection, parts) for connection, parts in received.items()]

    def seen(self) -> list[Request]:
        """Return all requests until now, connection by connection."""
        received = list(self._received.items())
        return [request for connection, parts in received for request in _requests(connection, parts)]


def _requests(connection: Connection, parts: list[bytes]) -> list[Request]:
    decoder = FrameDecoder()
    decoder.feed(b"".join(parts))
    requests = []
    while (frame := decoder.next_frame()) is not None:
        api_key, version = peek_api(frame)
        correlation_id = int.from_bytes(frame[4:8], "big")
        requests.append(Request(connection.broker_id, api_key, version, correlation_id, bytes(frame[8:])))
    return requests
