"""`python -m conformance.producer.our_sends GENERATION NAME=VALUE...`: what stock/Sends.java is, on AsyncProducer.

Reads lines of a topic, a partition, a key and a size. With each callback it prints how many milliseconds after `send`
it came. It also prints how late a thread that only sleeps was at most since then.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from functools import partial

from fakebroker import AsyncProducer
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import ErrorCode

_SLEEP_S = 0.005
_NAMES = {ErrorCode.network_exception: "NetworkException", ErrorCode.request_timed_out: "TimeoutException"}


class _Lateness(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ms = 0.0

    def run(self) -> None:
        while True:
            due = time.perf_counter() + _SLEEP_S
            time.sleep(_SLEEP_S)
            self.ms = max(self.ms, (time.perf_counter() - due) * 1_000)


async def _main(generation: str, settings: dict[str, str]) -> None:
    late = _Lateness()
    late.start()

    def tell(key: str, began: float, done: asyncio.Future[RecordMetadata]) -> None:
        error = done.exception()
        what = f"offset {done.result().offset}" if error is None else f"{_name(error)}: {error}"
        print(f"{key} {(time.perf_counter() - began) * 1_000} {late.ms} {what}", flush=True)

    async with AsyncProducer(settings, generation) as producer:
        while line := await asyncio.to_thread(sys.stdin.readline):
            topic, partition, key, size = line.split()
            late.ms, began = 0.0, time.perf_counter()
            written = await producer.send(topic, bytes(int(size)), key=key.encode(), partition=int(partition))
            written.add_done_callback(partial(tell, key, began))


def _name(error: BaseException) -> str:
    if isinstance(error, BrokerError):
        return _NAMES[ErrorCode(error.code)]
    assert isinstance(error, ProducerError), error
    return error.kafka_name


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], dict(one.split("=", 1) for one in sys.argv[2:])))
