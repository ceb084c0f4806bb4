"""Lateness of REQUEST_TIMED_OUT: Kafka and fakebroker, each in processes of its own, the same requests.

500 requests per timeout on 50 connections, ten on each, one after the other; the connections start one after the other
over the length of the timeout. Follower 3 is frozen. Late is what the client sees beyond the timeout, its own loop and
the socket included; nothing may come early.
"""

from __future__ import annotations

import asyncio
import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from conformance import frames
from conformance.scenario import Topic
from conformance.targets.admin import Admin
from conformance.targets.boxes import BOXES
from conformance.targets.target import KafkaTarget
from conformance.targets.wire import SocketConnection
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import decode_response

TIMEOUTS_MS = (50, 200, 1000)
CONNECTIONS = 50
REQUESTS_EACH = 10
_TOPIC = "lateness"
_START_LIMIT_S = 30.0


class Lateness(NamedTuple):
    """Lateness of the responses to one timeout, in milliseconds after it. `early` counts responses that came before
    it."""

    side: str
    timeout_ms: int
    requests: int
    min_ms: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    early: int


def measure_kafka(target: KafkaTarget) -> list[Lateness]:
    """Measure Kafka, on a running box of three brokers."""
    target.create_topics([Topic(_TOPIC, replicas=3)])
    _warm_up(target.endpoints[1])
    target.freeze(3)
    try:
        return _measure("kafka", target.endpoints[1])
    finally:
        target.thaw(3)


def measure_ours() -> list[Lateness]:
    """Measure `fakebroker serve`, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="fakebroker-lateness-") as folder:
        ready = Path(folder) / "ready.json"
        options = [f"--config={name}={value}" for name, value in BOXES["three"].config.items()]
        command = [sys.executable, "-c", "from fakebroker.cli import main; main()", "serve", "--brokers=3", "--port=0"]
        command += ["--followers=frozen", f"--ready-file={ready}", *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            first = _endpoints(ready, process)[1]
            Admin(lambda broker: SocketConnection(first), time.monotonic).create_topics([Topic(_TOPIC, replicas=3)])
            return _measure("fakebroker", first)
        finally:
            process.terminate()
            process.wait()


def _endpoints(ready: Path, process: subprocess.Popen[bytes]) -> Mapping[int, tuple[str, int]]:
    limit = time.monotonic() + _START_LIMIT_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError("fakebroker did not start")
        time.sleep(0.02)
    return {broker["id"]: (broker["host"], broker["port"]) for broker in json.loads(ready.read_text())["brokers"]}


def _warm_up(address: tuple[str, int]) -> None:
    """Wait until the followers follow: an acks=all request gets its response."""
    frame = frames.produce(_TOPIC, frames.batch(), acks=-1, timeout_ms=10_000)
    [late_ms] = asyncio.run(_ask(address, [frame], 0, 0))
    assert late_ms is None, "the followers do not follow"


def _measure(side: str, address: tuple[str, int]) -> list[Lateness]:
    return [_of(side, timeout_ms, asyncio.run(_all(address, timeout_ms))) for timeout_ms in TIMEOUTS_MS]


async def _all(address: tuple[str, int], timeout_ms: int) -> list[float]:
    frame = frames.produce(_TOPIC, frames.batch(), acks=-1, timeout_ms=timeout_ms)
    clients = [
        _ask(address, [frame] * REQUESTS_EACH, timeout_ms, timeout_ms * number / CONNECTIONS)
        for number in range(CONNECTIONS)
    ]
    late = [late_ms for of_client in await asyncio.gather(*clients) for late_ms in of_client]
    assert None not in late, "a request was answered with success on a frozen partition"
    return [late_ms for late_ms in late if late_ms is not None]


async def _ask(address: tuple[str, int], requests: list[bytes], timeout_ms: int, start_ms: float) -> list[float | None]:
    """Milliseconds between the timeout and the answer REQUEST_TIMED_OUT of each request; None for success."""
    reader, writer = await asyncio.open_connection(*address)
    await asyncio.sleep(start_ms / 1000)
    late: list[float | None] = []
    for request in requests:
        sent_ns = time.monotonic_ns()
        writer.write(request)
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        frame = await reader.readexactly(size)
        took_ms = (time.monotonic_ns() - sent_ns) / 1e6
        code = ErrorCode(_partition(frame).error_code)
        assert code in (ErrorCode.none, ErrorCode.request_timed_out), f"answered {code!r}"
        late.append(None if code is ErrorCode.none else took_ms - timeout_ms)
    writer.close()
    return late


def _partition(frame: bytes) -> Any:
    answer: Any = decode_response(0, 9, frame)[1]
    return answer.responses[0].partition_responses[0]


def _of(side: str, timeout_ms: int, late_ms: list[float]) -> Lateness:
    return Lateness(
        side,
        timeout_ms,
        len(late_ms),
        round(min(late_ms), 2),
        round(median(late_ms), 2),
        round(quantiles(late_ms, n=100)[98], 2),
        round(max(late_ms), 2),
        sum(delay_ms < 0 for delay_ms in late_ms),
    )
