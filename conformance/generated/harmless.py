"""Bytes that may go to both clusters. A damaged frame must not change the cluster for later ones, reach what fakebroker
does not serve, or make the run wait.

Theory   The bytes of one write are cut into frames as a broker cuts them. So a damaged length cannot uncover a
         forbidden request.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from fakebroker.apis import registry
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, is_flexible

ALLOWED = (0, 1, 2, 3, 18, 22, 23, 32, 33, 44)
_TOPIC, _OF_BROKERS = 2, (4, 8)  # kinds of resources
_NO_SUCH_KEY = 300  # Kafka is far from having so many APIs
_NO_SUCH_VERSION = 64
_MAX_FRAME = 104_857_600  # socket.request.max.bytes
_MAX_WAIT = timedelta(milliseconds=50)


def missing_bytes(data: bytes) -> int:
    """Return how many bytes a broker still waits for behind these; 0 if they end with a frame, or the connection will
    be closed."""
    while data:
        if len(data) < 4:
            return 4 - len(data)
        (size,) = struct.unpack_from(">i", data)
        if not 0 <= size <= _MAX_FRAME:
            return 0
        if size > len(data) - 4:
            return int(size - (len(data) - 4))
        data = data[4 + size :]
    return 0


def refusal(data: bytes) -> str | None:
    """Return why the bytes of one write may not be sent; None if they may."""
    if missing_bytes(data):
        return "the broker would wait for more bytes"
    return next((reason for frame in _frames(data) if (reason := _frame_refusal(frame)) is not None), None)


def _frames(data: bytes) -> Iterator[bytes]:
    while len(data) >= 4:
        (size,) = struct.unpack_from(">i", data)
        if not 0 <= size <= _MAX_FRAME:
            return
        yield data[4 : 4 + size]
        data = data[4 + size :]


def _frame_refusal(frame: bytes) -> str | None:
    if len(frame) < 4:
        return None
    key, version = struct.unpack_from(">hh", frame)
    if key not in ALLOWED:
        return None if key < 0 or key >= _NO_SUCH_KEY else f"API key {key} is not one of a generated stream"
    api = registry.load()[key]
    if not api.serves(version):
        newer = api.max_version < version < _NO_SUCH_VERSION
        return f"version {version} of API {key} may be Kafka's only" if newer else None
    try:
        header = decode_request_header(frame, is_flexible(key, version))
        request = decode_request(key, version, frame, header.body_offset)
    except ProtocolError:
        return None
    return _request_refusal(key, request)


def _request_refusal(key: int, request: Any) -> str | None:
    if key == 0:
        records = [p.records for topic in request.topic_data for p in topic.partition_data]
        if None in records:
            return "Kafka hangs on null records"
        if request.transactional_id is not None and any(len(r) > 22 and r[22] & 0x10 for r in records):
            return "the coordinator of a transaction would be asked"
    if key == 1 and request.max_wait > _MAX_WAIT:
        return "the Fetch would wait long"
    if key == 3 and not request.topics:
        return "Metadata of all topics has no order"
    if key == 32 and any(
        resource.resource_type in _OF_BROKERS and resource.resource_name.lstrip("+0") in ("", "1")
        for resource in request.resources
    ):
        return "each broker has settings of its own"
    if key in (33, 44):
        if any(resource.resource_type != _TOPIC for resource in request.resources):
            return "settings of others than topics would stay"
        if key == 33 and len(request.resources) > len({resource.resource_name for resource in request.resources}):
            return "Kafka never answers AlterConfigs of one resource twice"
    if key == 22 and request.transactional_id is not None:
        return "a transactional id would stay"
    return None
