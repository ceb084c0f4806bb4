"""One broker of a cluster, for its user: `kafka.brokers[2].stop()`. cluster/lives.py defines what each method does,
docs/replication.md what clients see."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from fakebroker.core.broker_registry import ids_in_words
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.driver import Driver
from fakebroker.server.listeners import Listeners
from fakebroker.server.running.from_threads import FromThreads, awaited
from fakebroker.server.running.loop_thread import LoopThread

B = TypeVar("B")


class Brokers(dict[int, B]):
    """A dict of brokers by id. The KeyError for an unknown id lists the ids."""

    def __missing__(self, broker_id: int) -> B:
        raise KeyError(f"there is no broker {broker_id!r}: the ids are {ids_in_words(list(self))}")


class _ListenersChanger(Protocol):
    def __call__(self, change: Callable[[Listeners], Coroutine[Any, Any, None]], /) -> Coroutine[Any, Any, None]: ...


class AsyncBroker:
    """A broker of an `AsyncFakeCluster`; the keys of `brokers` are its ids."""

    def __init__(self, broker_id: int, driver: Callable[[], Driver], change: _ListenersChanger) -> None:
        self.broker_id = broker_id
        self._driver = driver
        self._change = change

    @property
    def is_running(self) -> bool:
        return self._driver().cluster.lives.is_running(self.broker_id)

    @property
    def endpoint(self) -> NodeEndpoint:
        """Return id, host and port, as clients see them; they stay the same after a restart."""
        return self._driver().cluster.registry[self.broker_id].endpoint()

    @property
    def state(self) -> str:
        """Return running, stopping, stopped, killed, paused or starting."""
        return self._driver().cluster.lives.state_of(self.broker_id)

    async def stop(self) -> None:
        """Start a controlled shutdown (SIGTERM). The broker leaves every ISR, and the next in-sync replica, if any,
        becomes leader of each of its partitions. Requests parked there get NOT_LEADER_OR_FOLLOWER. Then its connections
        close, and it is fenced. Do nothing if it is stopped. Raises ValueError if it is paused."""
        await self._change(lambda listeners: listeners.stop_broker(self.broker_id))

    async def kill(self) -> None:
        """Crash its process (SIGKILL). Its connections are reset, and parked requests get no response. It stays in
        sync, and leader, until its session expires after broker.session.timeout.ms. Do nothing if it is stopped."""
        await self._change(lambda listeners: listeners.kill_broker(self.broker_id))

    async def pause(self) -> None:
        """Pause its process (SIGSTOP). Its sockets stay open, it reads no requests, sends no responses, and its timers
        do not fire. Its session can expire meanwhile. Raises ValueError if it does not run."""
        await self._change(lambda listeners: listeners.pause_broker(self.broker_id))

    async def resume(self) -> None:
        """Resume it where it was paused (SIGCONT). Do nothing if it runs. Raises ValueError if it is neither paused nor
        running."""
        await self._change(lambda listeners: listeners.resume_broker(self.broker_id))

    async def start(self) -> None:
        """Start it on the same port. A broker that was killed stays `starting` until the session of its last life has
        expired. Its replicas truncate records that the present leaders do not have, then follow them. Do nothing if it
        runs. Raises ValueError if it is paused."""
        await self._change(lambda listeners: listeners.start_broker(self.broker_id))


class BrokerInHand(FromThreads[AsyncBroker]):
    """A broker of a `FakeCluster`: `AsyncBroker`, for use from another thread."""

    def __init__(self, broker: AsyncBroker, thread: LoopThread) -> None:
        super().__init__(broker, thread)
        self.broker_id = broker.broker_id

    @property
    def is_running(self) -> bool:
        return self._thread.call(lambda: self._served.is_running)

    @property
    def endpoint(self) -> NodeEndpoint:
        """See `AsyncBroker.endpoint`."""
        return self._thread.call(lambda: self._served.endpoint)

    @property
    def state(self) -> str:
        """See `AsyncBroker.state`."""
        return self._thread.call(lambda: self._served.state)

    stop = awaited(AsyncBroker.stop)
    kill = awaited(AsyncBroker.kill)
    pause = awaited(AsyncBroker.pause)
    resume = awaited(AsyncBroker.resume)
    start = awaited(AsyncBroker.start)
