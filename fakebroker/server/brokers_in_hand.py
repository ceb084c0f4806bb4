"""One broker in the user's hand: `kafka.brokers[2].stop()`. What each does is in cluster/lives.py, and what clients see
of it in docs/replication.md."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

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


class _Change(Protocol):
    def __call__(self, change: Callable[[Listeners], Coroutine[Any, Any, None]], /) -> Coroutine[Any, Any, None]: ...


class AsyncBroker:
    """A broker of an `AsyncFakeCluster`; the keys of `brokers` are its ids."""

    def __init__(self, broker_id: int, driver: Callable[[], Driver], change: _Change) -> None:
        self.broker_id = broker_id
        self._driver = driver
        self._change = change

    @property
    def is_running(self) -> bool:
        return self._driver().cluster.is_running(self.broker_id)

    @property
    def endpoint(self) -> NodeEndpoint:
        """Id, host and port, as clients are told; the same after a restart."""
        return self._driver().cluster.endpoint(self.broker_id)

    @property
    def state(self) -> str:
        """running, stopping, stopped, killed, paused or starting."""
        return self._driver().cluster.state_of(self.broker_id)

    async def stop(self) -> None:
        """Stop it in order (SIGTERM). It leaves every ISR, what it led goes to the next in-sync replica, or to nobody,
        and who waits there is answered NOT_LEADER_OR_FOLLOWER; then its connections close, and it is fenced. Nothing
        happens if it is stopped. Raises ValueError if it is paused."""
        await self._change(lambda listeners: listeners.stop_broker(self.broker_id))

    async def kill(self) -> None:
        """Kill its process (SIGKILL). Its connections are gone, and nothing is answered; until its session ends, after
        broker.session.timeout.ms, it is still in sync, and leads. Nothing happens if it is stopped."""
        await self._change(lambda listeners: listeners.kill_broker(self.broker_id))

    async def pause(self) -> None:
        """Let its process stand still (SIGSTOP) with its sockets open: nothing is read or answered, no time comes for
        it. Its session runs on. Raises ValueError if it does not run."""
        await self._change(lambda listeners: listeners.pause_broker(self.broker_id))

    async def resume(self) -> None:
        """Let it go on where it stood (SIGCONT). Raises ValueError if it is not paused, and does not run either."""
        await self._change(lambda listeners: listeners.resume_broker(self.broker_id))

    async def start(self) -> None:
        """Start it anew, on the same port: at once, or, if it was killed, when the session of its last life has ended;
        it is `starting` until then. Its replicas drop what the present leaders do not have, and follow them. Nothing
        happens if it runs. Raises ValueError if it is paused."""
        await self._change(lambda listeners: listeners.start_broker(self.broker_id))


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

    @property
    def state(self) -> str:
        """`AsyncBroker.state`."""
        return self._call(lambda: self._broker.state)

    def stop(self) -> None:
        """`AsyncBroker.stop`."""
        self._await(self._broker.stop())

    def kill(self) -> None:
        """`AsyncBroker.kill`."""
        self._await(self._broker.kill())

    def pause(self) -> None:
        """`AsyncBroker.pause`."""
        self._await(self._broker.pause())

    def resume(self) -> None:
        """`AsyncBroker.resume`."""
        self._await(self._broker.resume())

    def start(self) -> None:
        """`AsyncBroker.start`."""
        self._await(self._broker.start())
