"""One broker in the user's hand: `kafka.brokers[2].stop()`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Protocol, TypeVar

from fakebroker.core.broker_registry import ids_in_words
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.driver import Driver
from fakebroker.server.listeners import Listeners

T = TypeVar("T")
B = TypeVar("B")


class Brokers(dict[int, B]):
    """Brokers by id; an id that no broker has is a KeyError that says which there are."""

    def __missing__(self, broker_id: int) -> B:
        raise KeyError(f"there is no broker {broker_id!r}: the ids are {ids_in_words(list(self))}")


class AsyncBroker:
    """A broker of an `AsyncFakeCluster`; the keys of `brokers` are its ids."""

    def __init__(self, broker_id: int, driver: Callable[[], Driver], listeners: Callable[[], Listeners]) -> None:
        self.broker_id = broker_id
        self._driver = driver
        self._listeners = listeners

    @property
    def is_running(self) -> bool:
        return self._driver().cluster.is_running(self.broker_id)

    @property
    def endpoint(self) -> NodeEndpoint:
        """Id, host and port, as clients are told; the same after a restart."""
        return self._driver().cluster.endpoint(self.broker_id)

    async def stop(self) -> None:
        """Close its listener and its connections; what is parked there is never answered. It leaves every ISR, and what
        it led goes to the next in-sync replica, or to nobody. Nothing happens if it is stopped."""
        await self._listeners().stop_broker(self.broker_id)

    async def start(self) -> None:
        """Listen again, on the same port. Its replicas drop what the present leaders do not have, and follow them.
        Nothing happens if it runs. Raises OSError if the port is taken."""
        await self._listeners().start_broker(self.broker_id)


class _Call(Protocol):
    def __call__(self, function: Callable[[], T], /) -> T: ...


class _Await(Protocol):
    def __call__(self, coroutine: Coroutine[None, None, T], /) -> T: ...


class Broker:
    """A broker of a `FakeCluster`: `AsyncBroker`, from another thread."""

    def __init__(self, broker: AsyncBroker, call: _Call, wait_for: _Await) -> None:
        self.broker_id = broker.broker_id
        self._broker = broker
        self._call = call
        self._await = wait_for

    @property
    def is_running(self) -> bool:
        return self._call(lambda: self._broker.is_running)

    @property
    def endpoint(self) -> NodeEndpoint:
        """`AsyncBroker.endpoint`."""
        return self._call(lambda: self._broker.endpoint)

    def stop(self) -> None:
        """`AsyncBroker.stop`."""
        self._await(self._broker.stop())

    def start(self) -> None:
        """`AsyncBroker.start`."""
        self._await(self._broker.start())
