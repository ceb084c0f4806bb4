"""A cluster for Python programs that block: `FakeCluster`, on a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, Self, TypeVar

from fakebroker.core.journal.size import DEFAULT_SIZE
from fakebroker.core.security.identity import Listener
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.brokers_in_hand import BrokerInHand, Brokers
from fakebroker.server.clock_in_hand import ClockInHand
from fakebroker.server.driver import Driver
from fakebroker.server.faults_from_threads import FaultsInHand, RequestBarrier
from fakebroker.server.faults_in_hand import hold_fault
from fakebroker.server.followers_in_hand import FollowerBehaviours
from fakebroker.server.journal_in_hand import JournalInHand, Snapshot
from fakebroker.server.loops import new_event_loop
from fakebroker.server.oauth.tokens import OAuth
from fakebroker.server.quotas_in_hand import Quotas
from fakebroker.server.running.cluster_server import NOT_RUNNING
from fakebroker.server.running.from_threads import FromThreads, awaited, called
from fakebroker.server.running.loop_thread import LoopThread
from fakebroker.server.security.acls_in_hand import Acls
from fakebroker.server.security.users_in_hand import Users

T = TypeVar("T")


class FakeCluster(FromThreads[AsyncFakeCluster]):
    """A cluster for blocking programs, in a thread of its own. Takes `AsyncFakeCluster`'s arguments."""

    def __init__(
        self,
        brokers: int | None = None,
        *,
        broker_ids: Sequence[int] | None = None,
        racks: Mapping[int, str] | None = None,
        features: Mapping[str, int] | None = None,
        host: str | None = None,
        port: int | None = None,
        advertised_host: str | None = None,
        advertised_port: int | None = None,
        listeners: Sequence[str] | None = None,
        certificates: str | PathLike[str] | None = None,
        users: Mapping[str, str] | None = None,
        acls: Sequence[Mapping[str, str]] | None = None,
        followers: str = "instant",
        config: Mapping[str, str | int | bool] | None = None,
        defaults: str = "fakebroker",
        seed: int = 0,
        life: str = "new",
        schedule: str = "first-come",
        clock: str = "real",
        journal: int = DEFAULT_SIZE,
        journal_file: str | PathLike[str] | None = None,
    ) -> None:
        self._cluster = AsyncFakeCluster(
            brokers,
            broker_ids=broker_ids,
            racks=racks,
            features=features,
            host=host,
            port=port,
            advertised_host=advertised_host,
            advertised_port=advertised_port,
            listeners=listeners,
            certificates=certificates,
            users=users,
            acls=acls,
            followers=followers,
            config=config,
            defaults=defaults,
            seed=seed,
            life=life,
            schedule=schedule,
            clock=clock,
            journal=journal,
            journal_file=journal_file,
        )
        thread = LoopThread(_new_event_loop, self._cluster.start, self._cluster.stop, NOT_RUNNING)
        super().__init__(self._cluster, thread)
        self._call, self._await = thread.call, thread.wait_for
        self.followers = FollowerBehaviours(self._run_followers)
        self.quotas = Quotas(self._reach)
        self.oauth = OAuth(self._new_token, self._cluster._signer)
        self.acls = Acls(self._reach)
        self.users = Users(self._reach)
        self.faults = FaultsInHand(self._cluster.faults, thread)
        self.tls = self._cluster.tls
        self.clock = ClockInHand(self._cluster.clock, thread)
        self.journal = JournalInHand(self._snapshot_journal, self._clear_journal)
        self.brokers = Brokers(
            {broker_id: BrokerInHand(broker, thread) for broker_id, broker in self._cluster.brokers.items()}
        )

    @classmethod
    def from_scenario(cls, path: str | PathLike[str], **arguments: Any) -> Self:
        """Return a cluster as a scenario file describes it. See `AsyncFakeCluster.from_scenario`."""
        from fakebroker.server.scenario.scenario import Scenario

        scenario = Scenario.read_file(path)
        scenario.check_arguments(AsyncFakeCluster)
        cluster = cls(**scenario.arguments_beneath(arguments))
        cluster._cluster.server.set_ups.append(partial(scenario.set_up, cluster._cluster))
        return cluster

    def __enter__(self) -> Self:
        try:
            self.start()
            return self
        except Exception:
            raise
        except BaseException:  # Ctrl-C or a test's time limit right after the start: the block is not entered
            self.stop()
            raise

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the thread and listen on all brokers. An interrupted start leaves no thread and no port."""
        self._thread.start()

    def stop(self) -> None:
        """Close everything and end the thread. In a child process there is nothing to stop."""
        self._thread.stop()

    def hold(
        self, *, api: Any = None, at: str | None = None, n: int = 1, times: Any = None, **when: Any
    ) -> RequestBarrier:
        """Return a barrier. See `AsyncFakeCluster.hold`."""
        return RequestBarrier(self.faults.add(hold_fault(n, api, at, times, when)), n)

    @property
    def endpoints(self) -> list[NodeEndpoint]:
        """Return id, host and port of each running broker, as clients see them."""
        return self._call(lambda: self._cluster.endpoints)

    @property
    def bootstrap_servers(self) -> str:
        """Return the bootstrap servers for a client's configuration. See `AsyncFakeCluster.bootstrap_servers`."""
        return self._call(lambda: self._cluster.bootstrap_servers)

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """Return the name and the security protocol of each listener."""
        return self._cluster.listeners

    bootstrap = called(AsyncFakeCluster.bootstrap)
    client_settings = called(AsyncFakeCluster.client_settings)
    reset = awaited(AsyncFakeCluster.reset)
    create_topic = called(AsyncFakeCluster.create_topic)
    alter_topic_configs = called(AsyncFakeCluster.alter_topic_configs)
    alter_broker_configs = called(AsyncFakeCluster.alter_broker_configs)
    expire_sessions = called(AsyncFakeCluster.expire_sessions)
    delete_topic = called(AsyncFakeCluster.delete_topic)
    move_leader = called(AsyncFakeCluster.move_leader)
    reassign = called(AsyncFakeCluster.reassign)
    compact = called(AsyncFakeCluster.compact)
    _run_followers = called(AsyncFakeCluster._run_followers)
    _new_token = called(AsyncFakeCluster._new_token)

    def _reach(self, act: Callable[[Driver], T], /) -> T:
        return self._call(lambda: self._cluster.server.reach(act))

    def _snapshot_journal(self) -> Snapshot:
        return self._thread.call_or_do(self._cluster.server.snapshot_journal)

    def _clear_journal(self) -> None:
        self._thread.call_or_do(self._cluster.server.clear_journal)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    return new_event_loop()  # looked up at each call, so that a test may replace it
