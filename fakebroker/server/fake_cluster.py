"""A cluster for Python programs: `AsyncFakeCluster` on a running loop, `FakeCluster` on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Self, TypeVar

from fakebroker.apis.context import NewTopic
from fakebroker.core.arguments import MAPPING_OR_NONE, SETTING, STRING, STRING_OR_NONE, WHOLE_NUMBER, require
from fakebroker.core.behaviour import Behaviour
from fakebroker.core.cluster import Cluster
from fakebroker.core.config import ClusterConfig
from fakebroker.core.errors import ConfigError
from fakebroker.core.follower_set import Selection
from fakebroker.core.quota import QuotaEntity
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.brokers import AsyncBroker, Broker, Brokers
from fakebroker.server.cluster_server import ClusterServer
from fakebroker.server.followers import Followers, Step
from fakebroker.server.loops import new_event_loop
from fakebroker.server.quotas import Quotas
from fakebroker.server.system_clock import stamp

T = TypeVar("T")

NOT_RUNNING = "the cluster is not running: use it in a `with` block, or call start()"
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class AsyncFakeCluster:
    """A Kafka cluster of `brokers` brokers (ids 1 to N), listening while the `async with` block runs.

    host, port        where to listen: broker i on port + i - 1; port 0 (default) takes free ports
    advertised_host   what clients are told to connect to; the host if not given
    followers         what followers do from the start: "instant", "lagging:MS", "throttled:BYTES_PER_S", "frozen" or
                      "external"
    config            broker settings by Kafka's names, e.g. {"min.insync.replicas": 2}
    seed              of topic ids and cluster id: the same seed gives the same ids

    Raises KafkaError for a bad setting, ValueError or TypeError for a bad argument. start() raises OSError if a port is
    taken or the host is not known.
    """

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
    ) -> None:
        require(WHOLE_NUMBER, brokers=brokers, port=port, seed=seed)
        require(STRING, host=host)
        require(STRING_OR_NONE, advertised_host=advertised_host)
        if not 1 <= brokers <= 100:
            raise ValueError(f"a cluster has 1 to 100 brokers, not {brokers}")
        if not 0 <= port <= 65_536 - brokers:
            raise ValueError(f"port {port} leaves no room for {brokers} brokers: take 0, or 1 to {65_536 - brokers}")
        self._brokers = brokers
        self._host = host
        self._port = port
        self._advertised_host = advertised_host or _WILDCARDS.get(host, host)
        self._behaviour = Behaviour.parse(followers)
        self._config = ClusterConfig().with_text(_texts(config))
        self._seed = seed
        self._server: ClusterServer | None = None
        self.followers = Followers(self._run_followers)
        self.quotas = Quotas(self._alter_quotas)
        self.brokers = Brokers(
            {broker_id: AsyncBroker(broker_id, lambda: self._running) for broker_id in range(1, brokers + 1)}
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen on all brokers. A cluster that was stopped starts empty."""
        if self._server is not None:
            raise RuntimeError("the cluster is running already")
        cluster = Cluster(stamp(), self._brokers, self._config, self._behaviour, self._seed)
        server = ClusterServer(cluster)
        await server.start(self._host, self._port, self._advertised_host)
        self._server = server

    async def stop(self) -> None:
        """Close everything. Requests that are parked are not answered."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop()

    @property
    def endpoints(self) -> list[NodeEndpoint]:
        """Id, host and port of each broker that runs, as clients are told."""
        return list(self._running.cluster.brokers())

    @property
    def bootstrap_servers(self) -> str:
        """For a client's configuration: "host:port,host:port,...", of all brokers, whether they run or not."""
        endpoints = [broker.endpoint for broker in self.brokers.values()]
        return ",".join(f"{_bracketed(broker.host)}:{broker.port}" for broker in endpoints)

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str | int | bool] | None = None,
    ) -> None:
        """Make a topic. -1 takes the broker's default (1 partition; as many replicas as brokers, at most 3).

        Raises KafkaError with the code that CreateTopics would answer.
        """
        require(STRING, name=name)
        require(WHOLE_NUMBER, partitions=partitions, replication_factor=replication_factor)
        new = NewTopic(name, partitions, replication_factor, {}, _texts(configs))
        self._running.cluster.create_topic(new, stamp())

    def delete_topic(self, name: str) -> None:
        """Delete a topic; who waits for it is answered UNKNOWN_TOPIC_OR_PARTITION. Raises KafkaError for no topic."""
        require(STRING, name=name)
        server = self._running
        server.cluster.delete_topic(name, stamp())
        server.settle()

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let an in-sync replica lead; nothing happens if it does. Who waits at the old leader is answered
        NOT_LEADER_OR_FOLLOWER. Raises KafkaError for a broker that is stopped, not in sync, or has no replica.

        As in Kafka the first replica leads again 300 s later at most, unless `auto.leader.rebalance.enable` is false.
        """
        require(STRING, topic=topic)
        require(WHOLE_NUMBER, partition=partition, broker=broker)
        server = self._running
        server.cluster.move_leader(topic, partition, broker, stamp())
        server.settle()

    def _run_followers(self, steps: Sequence[Step], selection: Selection) -> None:
        server = self._running
        server.cluster.script_followers(steps, selection, stamp())
        server.settle()

    def _alter_quotas(self, entity: QuotaEntity, alterations: Mapping[str, float | None] | None) -> None:
        self._running.cluster.client_quotas.alter(entity, alterations)

    @property
    def _running(self) -> ClusterServer:
        if self._server is None:
            raise RuntimeError(NOT_RUNNING)
        return self._server


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
    ) -> None:
        self._cluster = AsyncFakeCluster(
            brokers,
            host=host,
            port=port,
            advertised_host=advertised_host,
            followers=followers,
            config=config,
            seed=seed,
        )
        self._starting_or_stopping = threading.Lock()
        self._thread: threading.Thread | None = None
        self._calling = threading.Lock()  # what is handed to the loop comes before its end, or is refused
        self._loop: asyncio.AbstractEventLoop | None = None  # None: takes no calls
        self.followers = Followers(self._run_followers)
        self.quotas = Quotas(self._alter_quotas)
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

    def _call(self, function: Callable[[], T]) -> T:
        """Run the function in the cluster's thread and wait for its result."""
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(function())
            except BaseException as error:
                result.set_exception(error)

        with self._calling:
            if self._loop is None:
                raise RuntimeError(NOT_RUNNING)
            self._loop.call_soon_threadsafe(run)
        return result.result()

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


def _texts(settings: Mapping[str, str | int | bool] | None) -> dict[str, str | None]:
    """Settings as Kafka reads them. None stays, so that Kafka's error tells it."""
    require(MAPPING_OR_NONE, settings=settings)
    texts: dict[str, str | None] = {}
    for name, value in (settings or {}).items():
        require(STRING, **{"the name of a setting": name})
        require(SETTING, **{f"the setting {name}": value})
        if "_" in name:
            raise ConfigError(
                f"Unknown configuration {name!r}: Kafka's names have dots, as in {name.replace('_', '.')!r}."
            )
        texts[name] = _text(value)
    return texts


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
