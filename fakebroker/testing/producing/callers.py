"""A caller of a simulated producer: what a thread of a program is to Kafka's, so one call after the other.

Theory   Kafka's `send` stands still while its record waits for metadata or for memory, and so do the calls of a
         transaction. Who calls the producer's doors as he likes is many threads; then a small record goes past a large
         one that waits. A caller makes its next call when the one before has returned, at that very time, and a
         record's `max.block.ms` counts from then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.client.transaction_doors import TransactionCall
from fakebroker.producer.producer_batch import Callback
from fakebroker.producer.record_batch_builder import Headers

Call = Callable[[], Sending | TransactionCall | None]


class SimulatedCaller:
    """`settle` is that of its producer, which in turn calls `go_on` of its callers; `now_ms` is the producer's clock.
    Not to be called from within callbacks: those are another thread's, the sender's."""

    def __init__(self, producer: KafkaProducer, settle: Callable[[], None], now_ms: Callable[[], int]) -> None:
        self._producer = producer
        self._settle = settle
        self._now_ms = now_ms
        self._to_do: deque[Call] = deque()
        self._last: Sending | TransactionCall | None = None

    def is_blocked(self) -> bool:
        """Whether its last call has not returned, or not even begun."""
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
        """Have it send a record, when all before has returned."""
        self.call(
            lambda: self._producer.send(topic, value, timestamp_ms, self._now_ms(), key, partition, headers, callback)
        )

    def call(self, do: Call) -> None:
        """Have it call a door of the producer, when all before has returned. What the door gives back tells when this
        one has, None if at once. `do` asks what time it is then."""
        self._to_do.append(do)
        self._settle()

    def go_on(self) -> bool:
        """Make the calls that can be made. Whether there was one."""
        goes_on = False
        while self._to_do and self._has_returned():
            goes_on = True
            self._last = self._to_do.popleft()()
        return goes_on

    def _has_returned(self) -> bool:
        return self._last is None or self._last.is_done
