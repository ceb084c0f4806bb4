"""A cluster for Python programs that run an event loop: `AsyncFakeCluster`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Self

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.arguments import PATH_OR_NONE, WHOLE_NUMBER, require
from fakebroker.core.journal.journal import DEFAULT_SIZE, Journal
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.replication.followers import Selection
from fakebroker.core.security.identity import PLAINTEXT
from fakebroker.protocol.produce_response import NodeEndpoint
from fakebroker.server.administration import Administration
from fakebroker.server.brokers_in_hand import AsyncBroker, Brokers
from fakebroker.server.clock_in_hand import AsyncClock
from fakebroker.server.clocks import check_name, new_clock
from fakebroker.server.driver import Driver
from fakebroker.server.followers_in_hand import Followers, Step
from fakebroker.server.journal_in_hand import JournalInHand, Snapshot
from fakebroker.server.listeners import Listeners
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.quotas_in_hand import Quotas
from fakebroker.server.running.home import Home
from fakebroker.server.spill.file import SpillFile
from fakebroker.server.turn.measured_turn import MeasuredTurn
from fakebroker.server.writing.journal_file import JournalFile

log = logging.getLogger("fakebroker")

NOT_RUNNING = "the cluster is not running: use it in a `with` block, or call start()"


class AsyncFakeCluster(Administration):
    """A Kafka cluster of `brokers` brokers (3, with the ids 1 to N), listening while the `async with` block runs.

    broker_ids        their ids, in place of 1 to N
    racks             where brokers stand, by id, e.g. {1: "a", 2: "b"}; the others stand where broker.rack says
    features          levels of features, e.g. {"transaction.version": 1}; the others are at their highest
    host, port        where to listen (127.0.0.1): the n-th broker on port + n - 1; port 0 (default) takes free ports
    advertised_host   what clients are told to connect to; the host if not given
    advertised_port   the same of the first broker's port, for the n-th + n - 1; 0 (default): where it listens
    followers         what followers do from the start: "instant", "lagging:MS", "throttled:BYTES_PER_S", "frozen" or
                      "external"
    config            broker settings by Kafka's names, e.g. {"min.insync.replicas": 2}
    defaults          "kafka" takes Kafka's defaults where ours differ (docs/settings.md)
    seed              of topic ids and cluster id: the same seed gives the same ids
    clock             "real", "manual" (it goes when `clock.advance` tells it) or "auto" (the real one, but what nobody
                      needs is skipped: while a request waits for time alone, and the clients are quiet)
    journal           how many events `journal` keeps, the last ones (one with many records counts as many); 0 keeps
                      none and costs nothing
    journal_file      where to write all events, as lines of JSON

    Raises KafkaError for a bad setting, ValueError or TypeError for a bad argument. start() raises OSError if a port is
    taken, the host is not known, or the journal cannot be written.
    """

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
        followers: str = "instant",
        config: Mapping[str, str | int | bool] | None = None,
        defaults: str = "fakebroker",
        seed: int = 0,
        clock: str = "real",
        journal: int = DEFAULT_SIZE,
        journal_file: str | PathLike[str] | None = None,
    ) -> None:
        self._arguments = Arguments.read(
            brokers,
            broker_ids,
            racks,
            features,
            host,
            port,
            advertised_host,
            advertised_port,
            followers,
            config,
            defaults,
            seed,
        )
        require(WHOLE_NUMBER, journal=journal)
        require(PATH_OR_NONE, journal_file=journal_file)
        check_name(clock)
        if journal < 0:
            raise ValueError(f"a journal keeps 0 events or more, not {journal}")
        self._journal_size = journal
        self._journal_path = journal_file
        self._journal = Journal(journal)
        self._journal_file: JournalFile | None = None
        self._listeners: Listeners | None = None
        self._driver: Driver | None = None
        self._store: SpillFile | None = None
        self._home = Home(self._descriptors)
        self._is_started = False
        self._turn = asyncio.Lock()  # of who starts or stops it
        self.clock = AsyncClock(clock, lambda: self._at_home)
        self.journal = JournalInHand(self._snapshot_journal, self._clear_journal)
        self.followers = Followers(self._run_followers)
        self.quotas = Quotas(self._alter_quotas)
        self.brokers = Brokers({broker_id: self._new_broker(broker_id) for broker_id in self._arguments.broker_ids})

    def _new_broker(self, broker_id: int) -> AsyncBroker:
        return AsyncBroker(broker_id, lambda: self._seen, lambda: self._listeners_at_home)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen on all brokers. A cluster that was stopped starts empty."""
        self._forget_if_gone()
        self._home.check()
        if self._is_started:
            raise RuntimeError("the cluster is running already")
        self._is_started = True
        if not self._turn.locked():
            self._turn = asyncio.Lock()  # each is of one loop
        try:
            async with self._turn:
                await self._start()
        except BaseException:
            self._is_started = False
            raise

    async def _start(self) -> None:
        self._home.enter()
        clock = new_clock(self.clock.kind)
        try:
            journal = self._open_journal()
            self._store = SpillFile()
            made = self._arguments
            settings = made.broker_ids, made.config, made.behaviour, made.seed
            cluster = Cluster(clock.stamp(), *settings, journal, self._store, MeasuredTurn, made.racks)
            cluster.controller.features.format(made.features)
            driver = Driver(cluster, clock)
            self._listeners = Listeners(driver)
            await self._listeners.start(made.place)
            self._driver = driver
            for note in made.notes:
                log.warning("%s", note)
        except BaseException:
            self._listeners = None
            await self._close_journal()
            self._close_store()
            self._home.leave()
            raise

    async def stop(self) -> None:
        """Close everything. Requests that are parked are not answered. One who is cancelled here leaves it to be done.
        In a child process there is nothing to stop."""
        if self._home.is_inherited:
            return
        try:
            self._home.check()
        finally:
            self._forget_if_gone()
        await asyncio.shield(asyncio.ensure_future(self._stop()))

    async def _stop(self) -> None:
        async with self._turn:
            listeners, self._listeners = self._listeners, None
            self._driver = None
            if listeners is not None:
                await listeners.stop()
                await self._close_journal()
                self._close_store()
                self._home.leave()
                self._is_started = False

    def _forget_if_gone(self) -> None:
        """If its loop was closed while it ran, all that was open is closed with that."""
        if self._home.is_gone:
            self._driver = self._listeners = None
            file, self._journal_file = self._journal_file, None
            if file is not None:
                file.close_at_once()
            self._close_store()
            self._home.leave()
            self._is_started = False

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _open_journal(self) -> Journal | None:
        """An empty journal, if one is kept or written."""
        on_event = None
        if self._journal_path is not None:
            self._journal_file = JournalFile(self._journal_path, asyncio.get_running_loop())
            on_event = self._journal_file.write
        self._journal = Journal(self._journal_size, on_event)
        return self._journal if self._journal_size or on_event is not None else None

    async def _close_journal(self) -> None:
        file, self._journal_file = self._journal_file, None
        if file is not None:
            await file.close()

    def _descriptors(self) -> list[int]:
        """All that it has open."""
        found = [] if self._journal_file is None else self._journal_file.descriptors()
        return found if self._listeners is None else found + self._listeners.descriptors()

    def _snapshot_journal(self) -> Snapshot:
        self._home.check_process()
        if not self._journal_size:
            raise RuntimeError("the cluster keeps no journal: it was made with journal=0")
        return Snapshot(self._journal.events(), self._journal.dropped)

    def _clear_journal(self) -> None:
        self._journal.clear()

    @property
    def endpoints(self) -> list[NodeEndpoint]:
        """Id, host and port of each broker that runs, as clients are told."""
        return list(self._seen.cluster.metadata.alive_brokers(PLAINTEXT))

    @property
    def bootstrap_servers(self) -> str:
        """For a client's configuration: "host:port,host:port,...", of all brokers, whether they run or not."""
        endpoints = [broker.endpoint for broker in self.brokers.values()]
        return ",".join(f"{_bracketed(broker.host)}:{broker.port}" for broker in endpoints)

    def _run_followers(self, steps: Sequence[Step], selection: Selection) -> None:
        driver = self._at_home
        driver.cluster.script_followers(steps, selection, driver.clock.stamp())
        driver.settle()

    def _alter_quotas(self, entity: QuotaEntity, alterations: Mapping[str, float | None] | None) -> None:
        self._at_home.cluster.alter_client_quotas(entity, alterations)

    @property
    def _at_home(self) -> Driver:
        """For whoever calls from outside. Raises RuntimeError if that is from another loop, thread or process."""
        self._home.check()
        return self._running

    @property
    def _seen(self) -> Driver:
        """For whoever looks and changes nothing, which any thread may do."""
        self._home.check_is_there()
        return self._running

    @property
    def _running(self) -> Driver:
        if self._driver is None:
            raise RuntimeError(NOT_RUNNING)
        return self._driver

    @property
    def _listeners_at_home(self) -> Listeners:
        self._home.check()
        return self._running_listeners

    @property
    def _running_listeners(self) -> Listeners:
        if self._driver is None or self._listeners is None:
            raise RuntimeError(NOT_RUNNING)
        return self._listeners


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
