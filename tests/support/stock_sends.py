"""A program that sends given records, and reports their callbacks: on unmodified kafka-clients of a version, and on
`AsyncProducer` of the same generation."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

import pytest

from conformance.producer.stock import stock_sends
from conformance.targets.kafka_box import Unavailable
from fakebroker import AsyncProducer, FakeCluster
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import kafka_name
from support.watchdog import LIMIT_S, join, wait_until

OURS = "ours "  # before a generation


class Sends(Protocol):
    """`send` does not wait; the program has one thread, in which calls wait for each other. A partition of -1 is none.
    A record with a key that begins with "-" has no key: the text is only its name."""

    def send(self, key: str, size: int = 10, partition: int = 0, topic: str = "orders") -> None: ...

    def told(self) -> str:
        """Return the next report: a key with an offset or an error's class and text, or the duration of a call."""
        ...


class _Stock:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, key: str, size: int = 10, partition: int = 0, topic: str = "orders") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{topic} {partition} {key} {size}\n")
        self._process.stdin.flush()

    def told(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class _Ours:
    """Our producer in a thread; the other one is in a process."""

    def __init__(self, generation: str, settings: dict[str, str], tells_calls: bool) -> None:
        self._generation = generation
        self._settings = settings
        self._tells_calls = tells_calls
        self._told: SimpleQueue[str] = SimpleQueue()
        self._asked: asyncio.Queue[tuple[str, int, str, int] | None] = asyncio.Queue()
        self._loop = asyncio.new_event_loop()
        self.thread = Thread(target=self._loop.run_until_complete, args=[self._run()], daemon=True)
        self.thread.start()

    def send(self, key: str, size: int = 10, partition: int = 0, topic: str = "orders") -> None:
        self._ask((topic, partition, key, size))

    def told(self) -> str:
        return self._told.get(timeout=LIMIT_S)

    def close(self) -> None:
        self._ask(None)
        join(self.thread)
        assert not self.thread.is_alive()
        self._loop.close()

    def _ask(self, asked: tuple[str, int, str, int] | None) -> None:
        self._loop.call_soon_threadsafe(self._asked.put_nowait, asked)

    async def _run(self) -> None:
        async with AsyncProducer(self._settings, self._generation) as producer:
            while (send := await self._asked.get()) is not None:
                await self._send(producer, *send)

    async def _send(self, producer: AsyncProducer, topic: str, partition: int, key: str, size: int) -> None:
        began, thrown = time.monotonic(), ""
        try:
            own_key = None if key.startswith("-") else key.encode()
            chosen = None if partition < 0 else partition
            future = await producer.send(topic, bytes(size), key=own_key, partition=chosen)
            future.add_done_callback(lambda done: self._tell(key, done))
        except ProducerError as error:
            thrown = " " + _text(error)
        if self._tells_calls:
            self._told.put(f"{key} call {int(1_000 * (time.monotonic() - began))}{thrown}")

    def _tell(self, key: str, done: asyncio.Future[RecordMetadata]) -> None:
        error = done.exception()
        self._told.put(f"{key} {_text(error) if error is not None else f'offset {done.result().offset}'}")
        if key.startswith("slow"):
            time.sleep(2)  # it holds up the sender, as a callback does


def _text(error: BaseException) -> str:
    if isinstance(error, BrokerError):
        words = kafka_name(error.code).split("_")
        name = "".join(word.capitalize() for word in words).removesuffix("Exception")
        return f"{name}Exception: {error}"
    assert isinstance(error, ProducerError), error
    return f"{error.kafka_name}: {error}"


@contextmanager
def sends(version: str, kafka: FakeCluster, tells_calls: bool = False, /, **settings: object) -> Iterator[Sends]:
    """Start a producer of that version ("4.4.0", or "ours 4.4") that has sent its first record. Skips where it cannot
    be had."""
    values = {"bootstrap.servers": kafka.bootstrap_servers} | {
        name.replace("_", "."): str(value) for name, value in settings.items()
    }
    if version.startswith(OURS):
        ours = _Ours(version.removeprefix(OURS), values, tells_calls)
        try:
            _first(ours, tells_calls)
            yield ours
        finally:
            ours.close()
        return
    try:
        command = stock_sends(version, values, *["--calls"][: int(tells_calls)])
    except Unavailable as reason:
        pytest.skip(str(reason))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            stock = _Stock(process)
            _first(stock, tells_calls)
            yield stock
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(LIMIT_S) == 0
        finally:
            process.kill()


def _first(program: Sends, tells_calls: bool) -> None:
    """Send the first record. A client that is slow to start may not have metadata within its max.block.ms: again."""

    def is_sent() -> bool:
        program.send("first")
        return "first offset 0" in {program.told() for _ in range(1 + tells_calls)}

    wait_until(is_sent, "the first record's offset")
