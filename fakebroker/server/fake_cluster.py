"""A cluster for Python programs that block: `FakeCluster`, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from os import PathLike
from types import TracebackType
from typing import Any, Self, TypeVar

from fakebroker.core.journal.journal import DEFAULT_SIZE
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.replication.followers import Selection
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.async_cluster import NOT_RUNNING, AsyncFakeCluster
from fakebroker.server.brokers_in_hand import Broker, Brokers
from fakebroker.server.clock_in_hand import ClockInHand
from fakebroker.server.followers_in_hand import Followers, Step
from fakebroker.server.journal_in_hand import JournalInHand, Snapshot
from fakebroker.server.loops import new_event_loop
from fakebroker.server.quotas_in_hand import Quotas

T = TypeVar("T")


class FakeCluster:
    """The same cluster in a thread of its own, for programs that block. Takes `AsyncFakeCluster`'s arguments."""

    def __init__(
        self,
        brokers: int = 3,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        advertised_host: str | None = None,
        followers: str = "instant",
        config: Mapping[str, str | int | bool] | None = None,
        seed: int = 0,
        clock: str = "real",
        journal: int = DEFAULT_SIZE,
        journal_file: str | PathLike[str] | None = None,
    ) -> None:
        self._cluster = AsyncFakeCluster(
            brokers,
            host=host,
            port=port,
            advertised_host=advertised_host,
            followers=followers,
            config=config,
            seed=seed,
            clock=clock,
            journal=journal,
            journal_file=journal_file,
        )
        self._starting_or_stopping = threading.Lock()
        self._thread: threading.Thread | None = None
        self._calling = threading.Lock()  # what is handed to the loop comes before its end, or is refused
        self._loop: asyncio.AbstractEventLoop | None = None  # None: takes no calls
        self.followers = Followers(self._run_followers)
        self.quotas = Quotas(self._alter_quotas)
        self.clock = ClockInHand(self._cluster.clock, self._call, self._await)
        self.journal = JournalInHand(self._snapshot_journal, self._clear_journal)
        self.brokers = Brokers(
            {broker_id: Broker(broker, self._call, self._await) for broker_id, broker in self._cluster.brokers.items()}
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the thread and listen on all brokers."""
        with self._starting_or_stopping:
            if self._thread is not None:
                raise RuntimeError("the cluster is running already")
            started: Future[asyncio.AbstractEventLoop] = Future()
            self._thread = threading.Thread(target=self._run, args=(started,), name="fakebroker", daemon=True)
            self._thread.start()
            try:
                self._loop = started.result()
            except BaseException:
                self._join()
                raise

    def stop(self) -> None:
        """Close everything and end the thread."""
        with self._starting_or_stopping:
            with self._calling:
                loop, self._loop = self._loop, None
            if loop is not None:
                loop.call_soon_threadsafe(loop.stop)
                self._join()

    def _join(self) -> None:
        assert self._thread is not None
        self._thread.join()
        self._thread = None

    def _run(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        try:
            loop = new_event_loop()
        except BaseException as error:
            started.set_exception(error)
            return
        try:
            try:
                loop.run_until_complete(self._cluster.start())
            except BaseException as error:
                started.set_exception(error)
                return
            started.set_result(loop)
            loop.run_forever()
            loop.run_until_complete(self._cluster.stop())
            loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
        finally:
            loop.close()

    @property
    def endpoints(self) -> list[NodeEndpoint]:
        """Id, host and port of each broker that runs, as clients are told."""
        return self._call(lambda: self._cluster.endpoints)

    @property
    def bootstrap_servers(self) -> str:
        """For a client's configuration: `AsyncFakeCluster.bootstrap_servers`."""
        return self._call(lambda: self._cluster.bootstrap_servers)

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str | int | bool] | None = None,
    ) -> None:
        """Make a topic: `AsyncFakeCluster.create_topic`."""
        self._call(lambda: self._cluster.create_topic(name, partitions, replication_factor, configs))

    def alter_topic_configs(self, name: str, configs: Mapping[str, str | int | bool | None]) -> None:
        """Change settings of a topic: `AsyncFakeCluster.alter_topic_configs`."""
        self._call(lambda: self._cluster.alter_topic_configs(name, configs))

    def alter_broker_configs(self, configs: Mapping[str, str | int | bool | None]) -> None:
        """Change settings of all brokers: `AsyncFakeCluster.alter_broker_configs`."""
        self._call(lambda: self._cluster.alter_broker_configs(configs))

    def delete_topic(self, name: str) -> None:
        """Delete a topic: `AsyncFakeCluster.delete_topic`."""
        self._call(lambda: self._cluster.delete_topic(name))

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let an in-sync replica lead: `AsyncFakeCluster.move_leader`."""
        self._call(lambda: self._cluster.move_leader(topic, partition, broker))

    def _run_followers(self, steps: Sequence[Step], selection: Selection) -> None:
        self._call(lambda: self._cluster._run_followers(steps, selection))

    def _alter_quotas(self, entity: QuotaEntity, alterations: Mapping[str, float | None] | None) -> None:
        self._call(lambda: self._cluster._alter_quotas(entity, alterations))

    def _snapshot_journal(self) -> Snapshot:
        return self._call_or_do(self._cluster._snapshot_journal)

    def _clear_journal(self) -> None:
        self._call_or_do(self._cluster._clear_journal)

    def _call_or_do(self, function: Callable[[], T]) -> T:
        """Run the function in the cluster's thread; here, while there is none."""
        result = self._hand_over(function)
        if result is not None:
            return result.result()
        with self._starting_or_stopping:
            return function()

    def _call(self, function: Callable[[], T]) -> T:
        """Run the function in the cluster's thread and wait for its result."""
        result = self._hand_over(function)
        if result is None:
            raise RuntimeError(NOT_RUNNING)
        return result.result()

    def _hand_over(self, function: Callable[[], T]) -> Future[T] | None:
        """Have the function run in the cluster's thread. None if that takes no calls."""
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        with self._calling:
            if self._loop is None:
                return None
            self._loop.call_soon_threadsafe(run)
        return result

    def _await(self, coroutine: Coroutine[None, None, T]) -> T:
        """Run the coroutine in the cluster's thread and wait for its result."""
        with self._calling:
            if self._loop is None:
                coroutine.close()
                raise RuntimeError(NOT_RUNNING)
            result = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return result.result()
        except CancelledError:  # the cluster stops
            raise RuntimeError(NOT_RUNNING) from None


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """End what is left of coroutines, so that nobody waits for them."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
