"""The driver of a producer on an asyncio loop: its deadline is a timer, and its waiting callers are futures.

Theory   After each call of the producer: apply its effects, resolve the futures of callers that need not wait longer,
         set the timer. Work that is due at once runs in the next iteration of the loop. So the sender also takes
         records sent meanwhile, like Kafka's thread. An iteration handles the bytes of one socket read, at most.
Units    milliseconds of `clock`, which must not go back.
Errors   An unexpected exception in the producer fails all waiting callers and closes the connections; it is never
         swallowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import IllegalProducerStateError
from fakebroker.producing.links import Links

_LONGEST_S: Final = 3600.0  # limit of a timer: loops accept at most some weeks


class KafkaProducerDriver:
    """The driver of `machine`. Call the machine's methods, then `settle`."""

    def __init__(self, machine: KafkaProducer, loop: asyncio.AbstractEventLoop, clock: Callable[[], int]) -> None:
        self.machine = machine
        self.loop = loop
        self.clock = clock
        self.failure: BaseException | None = None
        self._links = Links(loop, self)
        self._timer: asyncio.Handle | None = None
        self._waiting: list[tuple[Sending, asyncio.Future[None]]] = []
        self._under_way: set[asyncio.Future[Any]] = set()  # futures that the machine has to complete
        self.closed: asyncio.Future[None] = loop.create_future()
        self.turns = 0

    def check(self) -> None:
        """Check that the producer can be used. Raises IllegalProducerStateError."""
        if self.loop.is_closed():
            raise IllegalProducerStateError("The loop of the producer is closed.")
        if self.failure is not None:
            raise IllegalProducerStateError(f"The producer has failed: {self.failure!r}") from self.failure

    def wait_for(self, sending: Sending) -> asyncio.Future[None]:
        """Return a future that is done when the caller can continue."""
        waiter: asyncio.Future[None] = self.loop.create_future()
        self._waiting.append((sending, waiter))
        return waiter

    def owe(self, future: asyncio.Future[Any]) -> None:
        """Make this future fail if the machine fails."""
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)

    def settle(self) -> None:
        for effect in self.machine.take_effects():
            self._links.do(effect)
        self._look_at_waiting()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.machine.is_closed:
            if not self.closed.done():
                self.closed.set_result(None)
            return
        deadline_ms = self.machine.next_deadline_ms()
        if deadline_ms is not None:
            wait_ms = deadline_ms - self.clock()
            if wait_ms <= 0:
                self._timer = self.loop.call_soon(self._due)
            else:
                self._timer = self.loop.call_later(min(wait_ms / 1000, _LONGEST_S), self._due)

    def look(self) -> None:
        """Do what is due by the clock."""
        self._run(lambda: self.machine.advance_to(self.clock()))

    def withdraw(self, sending: Sending) -> None:
        """Withdraw a record: the task that waited for it was cancelled."""
        self._run(lambda: self.machine.withdraw(sending, self.clock()))

    async def links_ended(self) -> None:
        """Wait until all written bytes are sent (acks=0), or the time for a broker that does not read is over."""
        await self._links.ended()

    def connected(self, number: int) -> None:
        self._run(lambda: self.machine.connected(number, self.clock()))

    def received(self, number: int, data: bytes) -> None:
        self._run(lambda: self.machine.received(number, data, self.clock()))

    def lost(self, number: int) -> None:
        self._run(lambda: self.machine.connection_lost(number, self.clock()))

    def _due(self) -> None:
        self._timer = None
        self.turns += 1
        self.look()

    def _run(self, door: Callable[[], None]) -> None:
        if self.failure is not None:
            return
        try:
            door()
            self.settle()
        except Exception as failure:
            self._fail(failure)
            raise  # the loop's exception handler reports it

    def _look_at_waiting(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for sending, waiter in waiting:
            if not sending.is_done:
                self._waiting.append((sending, waiter))
            elif not waiter.done():
                waiter.set_result(None)

    def _fail(self, failure: Exception) -> None:
        self.failure = failure
        self._links.close()
        error = IllegalProducerStateError(f"The producer has failed: {failure!r}")
        for future in [*self._under_way, *(waiter for _, waiter in self._waiting), self.closed]:
            if not future.done():
                future.set_exception(error)
        if not self.closed.cancelled():
            self.closed.exception()  # mark as retrieved, as it may have no waiter
