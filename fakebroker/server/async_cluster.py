"""A cluster for Python programs that run an event loop: `AsyncFakeCluster`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from os import PathLike
from typing import Any, Self, TypeVar

from fakebroker.core.journal.journal import Journal
from fakebroker.core.journal.size import DEFAULT_SIZE
from fakebroker.server.administration import Administration
from fakebroker.server.brokers_in_hand import AsyncBroker, Brokers
from fakebroker.server.clock_in_hand import AsyncClock
from fakebroker.server.clocks import Clock, new_clock
from fakebroker.server.driver import Driver
from fakebroker.server.faults_in_hand import AsyncFaults, AsyncRequestBarrier, hold_fault
from fakebroker.server.journal_in_hand import JournalInHand, Snapshot
from fakebroker.server.listeners import Listeners
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.made.drivers import new_driver
from fakebroker.server.made.lives import LifeSequence
from fakebroker.server.made.spec import ClusterSpec
from fakebroker.server.running.changes import ChangeQueue
from fakebroker.server.running.home import Home
from fakebroker.server.spill.file import SpillFile
from fakebroker.server.writing.kept_journal import KeptJournal

log = logging.getLogger("fakebroker")

T = TypeVar("T")

NOT_RUNNING = "the cluster is not running: use it in a `with` block, or call start()"
STOPPED_MEANWHILE = "the cluster was stopped before its reset had begun"


class AsyncFakeCluster(Administration):
    """A Kafka cluster of `brokers` brokers (3, with the ids 1 to N) that accepts connections while the `async with`
    block runs.

    broker_ids        their ids, in place of 1 to N; if `brokers` is given too, it is their number
    racks             racks of brokers by id, e.g. {1: "a", 2: "b"}; for other brokers broker.rack applies
    features          levels of features, e.g. {"transaction.version": 1}; the others are at their highest
    host, port        where to listen (127.0.0.1): the n-th broker on port + n - 1; port 0 (default) takes free ports
    advertised_host   the host that clients connect to (default: `host`). "dialled": each client is sent the address
                      that it connected to (docs/addresses.md)
    advertised_port   clients connect to the n-th broker on advertised_port + n - 1; 0 (default): where it listens
    listeners         listeners of each broker, instead of one in plain text: texts NAME=PROTOCOL://HOST:PORT, with
                      ",advertised=HOST:PORT" if clients reach it elsewhere, or only a PROTOCOL, for a free port of
                      `host` (docs/security.md)
    certificates      the folder for the CA and the certificates of listeners with TLS, which keeps its CA; without it,
                      a temporary one
    users             passwords of SASL users by name, for PLAIN and SCRAM; without `listeners` there is then one of
                      SASL_PLAINTEXT
    acls              ACLs from the start, as mappings of the arguments of `acls.add`, with Kafka's authorizer: what no
                      ACL allows is refused, so an empty list refuses all
    followers         what followers do from the start: "instant", "lagging:MS", "throttled:BYTES_PER_S", "frozen" or
                      "external"
    config            broker settings by Kafka's names, e.g. {"min.insync.replicas": 2}
    defaults          "kafka" takes Kafka's defaults where ours differ; "test" takes defaults with which tests wait less
                      (docs/settings.md)
    seed              the seed of the schedule, and of all ids if `life` is "first"
    life              "new" (default): the cluster gives no id that an earlier cluster at its address gave
                      (docs/addresses.md); "first": ids follow from the seed, and are the same in each run
    schedule          "first-come", or "random": the seed draws the order of events that could happen in any order
                      (requests that arrived at the same time, responses, timeouts of a millisecond)
    clock             "real", "manual" (only `clock.advance` moves it) or "auto": the real one, but while clients are
                      quiet and a request waits only for time, it skips ahead; deadlines of clients, e.g. for
                      heartbeats, move along
    journal           how many events `journal` keeps, the last ones (one with many records counts as many); 0 keeps
                      none and costs nothing
    journal_file      the file to which all events are written, as lines of JSON

    Raises KafkaError for a bad setting, ValueError or TypeError for a bad argument. `start` raises OSError if a port is
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
        spec = ClusterSpec(
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
        super().__init__(Arguments.read(spec), certificates)
        self._lives = LifeSequence(life, seed, any(place.is_known for place in self._arguments.places))
        self._journal = KeptJournal(journal, journal_file)
        self._listeners: Listeners | None = None
        self._driver: Driver | None = None
        self._store: SpillFile | None = None
        self._set_ups: list[Callable[[AsyncFakeCluster], None]] = []  # create the initial topics, quotas and faults
        self._home = Home(self._descriptors)
        self._is_started = False
        self._changes = ChangeQueue()
        self.clock = AsyncClock(clock, lambda: self._at_home, self._change)
        self.journal = JournalInHand(self._snapshot_journal, self._journal.clear)
        self.faults = AsyncFaults(lambda: self._at_home)
        self.brokers = Brokers({broker_id: self._new_broker(broker_id) for broker_id in self._arguments.broker_ids})

    def _new_broker(self, broker_id: int) -> AsyncBroker:
        return AsyncBroker(broker_id, lambda: self._seen, self._change_broker)

    @classmethod
    def from_scenario(cls, path: str | PathLike[str], **arguments: Any) -> Self:
        """Return a cluster as a scenario file describes it (docs/scenarios.md); its content is created by start().
        `arguments` take precedence over the file. Raises OSError, or ScenarioError (a ValueError) with the line of the
        mistake. start() raises ScenarioError if the cluster refuses the content."""
        from fakebroker.server.scenario.scenario import Scenario  # imported here: only scenarios need YAML

        scenario = Scenario.read_file(path)
        scenario.check_arguments(cls)
        cluster = cls(**scenario.arguments_beneath(arguments))
        cluster._set_ups.append(scenario.set_up)
        return cluster

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen on all brokers. A cluster that was stopped starts empty, as a new life."""
        self._forget_if_gone()
        self._home.check()
        if self._is_started:
            raise RuntimeError("the cluster is running already")
        self._is_started = True
        if not self._changes.turn.locked():
            self._changes = ChangeQueue()  # a queue of changes belongs to one loop
        try:
            async with self._changes.turn:
                await self._start()
        except BaseException:
            self._is_started = False
            raise

    async def _start(self) -> None:
        self._home.enter()
        clock = new_clock(self.clock.kind)
        listeners = Listeners(self._arguments.places)
        if lost := self._arguments.lost:
            log.warning("without effect, there is no such listener: %s", ", ".join(lost))
        try:
            listeners.contexts = self.tls._open(clock)
            listeners.new_contexts = lambda driver, new: self.tls._open_for(driver.clock, new.host)
            journal = self._journal.open()
            self._store = SpillFile()
            await listeners.take(list(self.brokers))
            self._begin(self._new_driver(clock, journal), listeners)
            await listeners.serve()  # the initial content is there before the first client connects
        except BaseException:
            begun, self._driver, self._listeners = self._driver, None, None
            if begun is not None:
                await listeners.stop()
                self._lives.end(begun)
            listeners.close()
            await self._journal.close()
            self.tls._close()
            self._close_store()
            self._home.leave()
            raise

    def _new_driver(self, clock: Clock, journal: Journal | None) -> Driver:
        return new_driver(self._arguments, self._lives, clock, journal, self._store)

    def _begin(self, driver: Driver, listeners: Listeners) -> None:
        """Install the cluster and create its initial content in one step, before any client sees it."""
        listeners.drive(driver)
        self._driver, self._listeners = driver, listeners
        self._admit()
        for set_up in self._set_ups:
            set_up(self)

    async def reset(self) -> None:
        """Reset settings, followers, brokers, journal and clock, on the same ports. Drop topics, groups, transactions
        and quotas, except those of its scenario. Close all connections without responses to parked requests. Clients
        that reconnect get no id of the old life (docs/addresses.md). A journal_file is continued. Raises ConfigError if
        the keys of tokens cannot be had again; nothing is changed then."""
        self._at_home  # noqa: B018  or it is the wrong place to ask
        listeners = self._running_listeners
        await listeners.keys.renew()
        await self._change(lambda old: self._reset(old, listeners))

    async def _reset(self, old: Driver, listeners: Listeners) -> None:
        if listeners is not self._listeners:
            raise RuntimeError(STOPPED_MEANWHILE)
        self._lives.end(old)
        store, self._store = self._store, SpillFile()
        clock = new_clock(self.clock.kind)
        driver = self._new_driver(clock, self._journal.renew())
        self.tls._reset(clock)
        try:
            self._begin(driver, listeners)
        finally:
            await listeners.retire(old)
            if store is not None:
                store.close()

    async def _change(self, change: Callable[[Driver], Coroutine[Any, Any, T]]) -> T:
        """Make a change of the running cluster when its turn comes. Raises RuntimeError if the cluster has been stopped
        by then."""
        self._at_home  # noqa: B018  or it is the wrong place to ask
        return await self._changes.make(lambda: change(self._running))

    async def _change_broker(self, change: Callable[[Listeners], Coroutine[Any, Any, None]]) -> None:
        await self._change(lambda _: change(self._running_listeners))

    async def stop(self) -> None:
        """Close all ports and connections. Parked requests get no response. If the caller is cancelled, the stop still
        completes. In a child process there is nothing to stop."""
        if self._home.is_inherited:
            return
        try:
            self._home.check()
        finally:
            self._forget_if_gone()
        await asyncio.shield(asyncio.ensure_future(self._changes.make(self._stop)))

    async def _stop(self) -> None:
        listeners, self._listeners = self._listeners, None
        driver, self._driver = self._driver, None
        if listeners is not None:
            self.faults.tell_unfired()
            await listeners.stop()
            self._lives.end(driver)
            await self._journal.close()
            self.tls._close()
            self._close_store()
            self._home.leave()
            self._is_started = False

    def _forget_if_gone(self) -> None:
        """Drop the driver if its loop was closed while it ran: the connections were closed with the loop."""
        if self._home.is_gone:
            self._lives.end(self._driver)
            if self._listeners is not None:
                self._listeners.close()
            self._driver = self._listeners = None
            self._journal.close_at_once()
            self.tls._close()
            self._close_store()
            self._home.leave()
            self._is_started = False

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _descriptors(self) -> list[int]:
        """Return all open file descriptors."""
        return self._journal.descriptors() + ([] if self._listeners is None else self._listeners.descriptors())

    def _snapshot_journal(self) -> Snapshot:
        self._home.check_process()
        topics = () if self._driver is None else self._driver.cluster.metadata.topic_names()
        return self._journal.snapshot()._replace(topics=topics)

    def hold(
        self, *, api: Any = None, at: str | None = None, n: int = 1, times: Any = None, **when: Any
    ) -> AsyncRequestBarrier:
        """Return a barrier: matching requests stop at a point (before they are handled) until `release` or the end of
        the block. `when` has selectors of faults (docs/faults.md): topic="t", partition=2. `n` is how many requests
        `wait` waits for. Raises ValueError."""
        return AsyncRequestBarrier(self.faults.add(hold_fault(n, api, at, times, when)), n)

    @property
    def _at_home(self) -> Driver:
        """Return the driver, for calls from outside. Raises RuntimeError in another loop, thread or process."""
        self._home.check()
        return self._running

    @property
    def _seen(self) -> Driver:
        """Return the driver for read-only access, from any thread."""
        self._home.check_is_there()
        return self._running

    @property
    def _running(self) -> Driver:
        if self._driver is None:
            raise RuntimeError(NOT_RUNNING)
        return self._driver

    @property
    def _running_listeners(self) -> Listeners:
        if self._listeners is None:
            raise RuntimeError(NOT_RUNNING)
        return self._listeners
