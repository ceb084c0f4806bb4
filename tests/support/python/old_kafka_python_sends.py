"""Send records that are read from stdin, on kafka-python 2.0.2, with a clock that only the test moves.

A line is a topic, a partition, a key and a size. "clock MS" lets that much time pass at once, and waits until the
producer's thread has looked; "retried TOPIC PARTITION" waits until what was sent there is in its queue again. Then a
line says so. The callbacks of records are printed in between. The argument is the producer's settings, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from threading import Condition
from typing import Any

# The one that it brings along cannot be imported since Python 3.12.
sys.modules["kafka.vendor.six.moves"] = import_module("six.moves")

from kafka import KafkaProducer, TopicPartition  # noqa: E402

_LIMIT_S = 60.0


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Clock:
    def __init__(self) -> None:
        self.now_s = float(int(time.time()))

    def __call__(self) -> float:
        return self.now_s


class Turns:
    """A counter of the turns of the producer's thread."""

    def __init__(self, producer: Any) -> None:
        self._sender = producer._sender
        self._run_once = self._sender.run_once
        self._done = Condition()
        self._sender.run_once = self._turn

    def wait(self) -> None:
        """Wait for the end of a turn that begins after now."""
        with self._done:
            for _ in range(2):
                self._sender.wakeup()
                assert self._done.wait(_LIMIT_S), "the producer's thread stands still"

    def _turn(self) -> None:
        self._run_once()
        with self._done:
            self._done.notify_all()


def send(producer: Any, topic: str, partition: str, key: str, size: str) -> None:
    future = producer.send(topic, bytes(int(size)), key.encode(), partition=int(partition))
    future.add_callback(lambda metadata: tell(f"{key} offset {metadata.offset}"))
    future.add_errback(lambda error: tell(f"{key} {error}"))


def main() -> None:
    clock = time.time = Clock()
    producer: Any = KafkaProducer(**json.loads(sys.argv[1]))
    turns = Turns(producer)
    for line in sys.stdin:
        match line.split():
            case ["clock", ms]:
                clock.now_s += int(ms) / 1_000
                turns.wait()
                tell("clock")
            case ["retried", topic, partition]:
                queue = producer._accumulator._batches[TopicPartition(topic, int(partition))]
                while not (queue and queue[0].in_retry()):
                    turns.wait()
                tell("retried")
            case [topic, partition, key, size]:
                send(producer, topic, partition, key, size)
    producer.close(timeout=0)


main()
