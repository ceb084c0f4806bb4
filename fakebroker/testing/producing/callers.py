"""A caller of a simulated producer: it makes one call after the other, like a thread of a program with Kafka's
producer.

Theory   Kafka's `send` blocks while its record waits for metadata or memory, and so do the calls of a transaction.
         Direct calls of the producer at any time are like many threads: a small record may then overtake a large one
         that waits. A caller makes its next call when the previous one has returned, at the same time. The
         `max.block.ms` of a record counts from then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.client.transaction_calls import TransactionCall
from fakebroker.producer.producer_batch import Callback
from fakebroker.producer.record_batch_builder import Headers

Call = Callable[[], Sending | TransactionCall | None]


class SimulatedCaller:
    """A caller. `settle` is that of its producer, which calls `go_on` of its callers; `now_ms` is the producer's clock.
    Do not call it from callbacks: these run in another thread, the sender's."""

    def __init__(self, producer: KafkaProducer, settle: Callable[[], None], now_ms: Callable[[], int]) -> None:
        self._producer = producer
        self._settle = settle
        self._now_ms = now_ms
        self._to_do: deque[Call] = deque()
        self._last: Sending | TransactionCall | None = None

    def is_blocked(self) -> bool:
        """Return True if the last call has not returned, or not even begun."""
        return bool(self._to_do) or not self._has_returned()

    def send(
        self,
        topic: str,
        value: bytes | None,
        timestamp_ms: int,
        key: bytes | None = None,
        partition: int | None = None,
        headers: Headers = (),
        callback: Callback | None = None,
    ) -> None:
        """Send a record when all earlier calls have returned."""
        self.call(
            lambda: self._producer.send(topic, value, timestamp_ms, self._now_ms(), key, partition, headers, callback)
        )

    def call(self, do: Call) -> None:
        """Call a method of the producer when all earlier calls have returned. The result of `do` shows when this call
        has returned; None means at once. `do` reads the clock itself."""
        self._to_do.append(do)
        self._settle()

    def go_on(self) -> bool:
        """Make all calls that can be made. Return True if there was one."""
        goes_on = False
        while self._to_do and self._has_returned():
            goes_on = True
            self._last = self._to_do.popleft()()
        return goes_on

    def _has_returned(self) -> bool:
        return self._last is None or self._last.is_done
