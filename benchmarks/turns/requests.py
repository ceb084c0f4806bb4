"""The longest turn of each API, with a request as large as it may be."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from benchmarks.turns.filled import CASES, filled, without_none
from benchmarks.turns.measured_loop import LoopThread
from fakebroker.apis import registry
from fakebroker.protocol.messages import encode_request, request_type
from fakebroker.server.async_cluster import AsyncFakeCluster

TEXT_BYTES = 32_000
PATTERN = "(a|b)[c-e]*" * 1_489  # 16,379 characters
PATTERNS = {"ConsumerGroupHeartbeat": "subscribed_topic_regex", "ListTransactions": "transactional_id_pattern"}
_LIMIT_S = 120.0


class Found(NamedTuple):
    """`what` of an API, or beside an HTTP call, was filled, and how long the longest turn was."""

    name: str
    what: str
    longest_ms: float


def count(only: str) -> int:
    return sum(only in name for name, _, _ in _cases(0, 0))


def measure(elements: int, data_bytes: int, rounds: int, only: str, tell: Callable[[str], None]) -> list[Found]:
    """Return what was found for each array of each API, for the strings, the bytes and the pattern of each; each is the
    least of so many rounds with a cluster of its own."""
    results = []
    for name, what, request in _cases(elements, data_bytes):
        if only not in name:
            continue
        tell(f"{name} {what}")
        frame = encode_request(request, 1, "turns")
        results.append(Found(name, what, min(_longest_ms(frame) for _ in range(rounds))))
    return results


def _cases(elements: int, data_bytes: int) -> Iterator[tuple[str, str, Any]]:
    for api, path in CASES.values():
        kind = request_type(api.key, api.max_version)
        yield api.name, f"{'.'.join(path)}: {elements:,}", filled(kind, path, elements)
    for api in registry.load().values():
        kind = request_type(api.key, api.max_version)
        whole = filled(kind, (), 0)
        strings = _fields(kind, "string")
        if strings:
            text = "x" * TEXT_BYTES
            yield api.name, f"strings of {TEXT_BYTES:,} bytes", replace(whole, **dict.fromkeys(strings, text))
        data = _fields(kind, "bytes")
        if data:
            yield api.name, f"bytes of {data_bytes:,}", replace(whole, **dict.fromkeys(data, b"x" * data_bytes))
        if api.name in PATTERNS:
            pattern = {PATTERNS[api.name]: PATTERN}
            yield api.name, f"pattern of {len(PATTERN):,} characters", replace(whole, **pattern)


def _fields(kind: Any, kafka_type: str) -> list[str]:
    """The fields of a message that are one value of a type."""
    return [
        field.name
        for field in fields(kind)
        if not is_dataclass(without_none(field.type)[0])
        and field.metadata.get("kafka_type") == kafka_type
        and without_none(field.type)[0] in (str, bytes)
        and "tag" not in field.metadata
    ]


def _longest_ms(frame: bytes) -> float:
    thread = LoopThread()
    try:
        kafka = AsyncFakeCluster(brokers=1, port=0)
        thread.run(_start(kafka))
        host, _, port = kafka.bootstrap_servers.partition(":")
        try:
            with socket.create_connection((host, int(port)), _LIMIT_S) as client, thread.measured() as longest:
                client.sendall(frame)
                _read_answer(client)
            return longest[0]
        finally:
            thread.run(kafka.stop())
    finally:
        thread.stop()


async def _start(kafka: AsyncFakeCluster) -> None:
    await kafka.start()
    kafka.create_topic("t", partitions=4)
    kafka.create_topic("__consumer_offsets", partitions=1)
    kafka.create_topic("__transaction_state", partitions=1)


def _read_answer(client: socket.socket) -> None:
    """Read the answer, or the end of the connection."""
    head = b""
    while len(head) < 4:
        data = client.recv(4 - len(head))
        if not data:
            return
        head += data
    left = struct.unpack(">i", head)[0]
    while left:
        data = client.recv(min(left, 1 << 20))
        if not data:
            return
        left -= len(data)
