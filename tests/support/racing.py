"""Callers that change a cluster at the same time, each by its own draw from a seed, beside producers that live on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException, Producer

from support.watchdog import join

TOPIC = "t"  # what all of them make, delete and write to
CALLERS, PRODUCERS = 6, 4
BROKERS = (1, 2, 3)
OF_BROKERS = ("start", "stop", "kill", "pause", "resume")
CHANGES = (*OF_BROKERS * 2, "reset", "fault", "faults", "topic", "delete")
_SETTINGS = {
    "acks": "all",
    "allow.auto.create.topics": True,
    "message.timeout.ms": 1_000,
    "reconnect.backoff.ms": 1,
    "reconnect.backoff.max.ms": 20,
    "topic.metadata.refresh.interval.ms": 50,
    "log_level": 0,
}


def drawn(seed: str) -> Iterator[tuple[str, int, str]]:
    """Draw endless changes: the kind, the broker, and the action of a fault."""
    random = Random(seed)
    while True:
        yield random.choice(CHANGES), random.choice(BROKERS), random.choice(("hold", "disconnect", "UNKNOWN"))


def race(work: Callable[[int], None], callers: int = CALLERS) -> None:
    """Let callers work at the same time, each with its number. Raises the exception of the first one that failed."""
    raised: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(callers)]
    for thread in threads:
        thread.start()
    join(*threads)
    if raised:
        raise raised[0]


class Producers:
    """Stock producers that write to TOPIC while the block runs, and create it again if it is gone."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._settings = _SETTINGS | {"bootstrap.servers": bootstrap_servers}
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._produce, daemon=True) for _ in range(PRODUCERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        join(*self._threads)

    def _produce(self) -> None:
        producer = Producer(self._settings)
        while not self._over.is_set():
            with suppress(KafkaException, BufferError):  # the topic is gone just now; nothing is delivered
                producer.produce(TOPIC, b"value")
            producer.poll(0.005)
        producer.purge()
        producer.poll(0)
