"""The server of a cluster: starts it, resets it and stops it, and gives its driver to all that change or read it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, final

from fakebroker.core.journal.journal import Journal
from fakebroker.server.clocks import Clock, new_clock
from fakebroker.server.driver import Driver
from fakebroker.server.journal_in_hand import Snapshot
from fakebroker.server.listeners import Listeners
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.made.drivers import new_driver
from fakebroker.server.made.lives import LifeSequence
from fakebroker.server.running.changes import ChangeQueue
from fakebroker.server.running.home import Home
from fakebroker.server.security.users_in_hand import put_user
from fakebroker.server.spill.file import SpillFile
from fakebroker.server.tls.in_hand import Tls
from fakebroker.server.writing.kept_journal import KeptJournal

log = logging.getLogger("fakebroker")

T = TypeVar("T")

NOT_RUNNING = "the cluster is not running: use it in a `with` block, or call start()"
STOPPED_MEANWHILE = "the cluster was stopped before its reset had begun"


@final
class ClusterServer:
    """The server of a cluster, on one event loop from its start to its stop. It may be started again.

    arguments   the arguments of the cluster
    set_ups     functions that create the initial topics, quotas and faults, at the start and at each reset
    on_stop     is called when the cluster is about to stop
    """

    def __init__(self, arguments: Arguments, clock: str, tls: Tls, lives: LifeSequence, journal: KeptJournal) -> None:
        """`clock` is the kind of the clock."""
        self.arguments = arguments
        self.set_ups: list[Callable[[], None]] = []
        self.on_stop: Callable[[], None] = lambda: None
        self._clock = clock
        self._tls = tls
        self._lives = lives
        self._journal = journal
        self._listeners: Listeners | None = None
        self._driver: Driver | None = None
        self._store: SpillFile | None = None
        self._home = Home(self.descriptors)
        self._is_started = False
        self._changes = ChangeQueue()

    @property
    def is_running(self) -> bool:
        return self._driver is not None

    @property
    def driver(self) -> Driver:
        """Return the driver, for callers on the loop of the cluster. Raises RuntimeError if the cluster does not
        run."""
        if self._driver is None:
            raise RuntimeError(NOT_RUNNING)
        return self._driver

    @property
    def listeners(self) -> Listeners:
        """Return the ports. Raises RuntimeError if the cluster does not run."""
        if self._listeners is None:
            raise RuntimeError(NOT_RUNNING)
        return self._listeners

    def driver_here(self) -> Driver:
        """Return the driver, for calls from outside. Raises RuntimeError in another loop, thread or process."""
        self._home.check()
        return self.driver

    def driver_to_read(self) -> Driver:
        """Return the driver for read-only access, from any thread."""
        self._home.check_is_there()
        return self.driver

    def reach(self, act: Callable[[Driver], T], /) -> T:
        """Call `act` with the driver, for calls from outside."""
        return act(self.driver_here())

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
        clock = new_clock(self._clock)
        listeners = Listeners(self.arguments.places)
        if lost := self.arguments.lost:
            log.warning("without effect, there is no such listener: %s", ", ".join(lost))
        try:
            listeners.contexts = self._tls._open(clock)
            listeners.new_contexts = lambda driver, new: self._tls._open_for(driver.clock, new.host)
            journal = self._journal.open()
            self._store = SpillFile()
            await listeners.take(list(self.arguments.broker_ids))
            self._begin(self._new_driver(clock, journal), listeners)
            await listeners.serve()  # the initial content is there before the first client connects
        except BaseException:
            begun, self._driver, self._listeners = self._driver, None, None
            if begun is not None:
                await listeners.stop()
                self._lives.end(begun)
            listeners.close()
            await self._journal.close()
            self._tls._close()
            self._close_store()
            self._home.leave()
            raise

    def _new_driver(self, clock: Clock, journal: Journal | None) -> Driver:
        return new_driver(self.arguments, self._lives, clock, journal, self._store)

    def _begin(self, driver: Driver, listeners: Listeners) -> None:
        """Install the cluster and create its initial content in one step, before any client sees it."""
        listeners.drive(driver)
        self._driver, self._listeners = driver, listeners
        for name, secrets in self.arguments.users.items():
            put_user(driver.cluster, name, secrets)
        for binding in self.arguments.acls:
            driver.cluster.admin.create_acl(binding)
        for set_up in self.set_ups:
            set_up()

    async def reset(self) -> None:
        """Replace the cluster by a new life of it, on the same ports. Raises ConfigError if the keys of tokens cannot
        be had again; nothing is changed then."""
        self._home.check()
        listeners = self.listeners
        await listeners.keys.renew()
        await self.change(lambda old: self._reset(old, listeners))

    async def _reset(self, old: Driver, listeners: Listeners) -> None:
        if listeners is not self._listeners:
            raise RuntimeError(STOPPED_MEANWHILE)
        self._lives.end(old)
        store, self._store = self._store, SpillFile()
        clock = new_clock(self._clock)
        driver = self._new_driver(clock, self._journal.renew())
        self._tls._reset(clock)
        try:
            self._begin(driver, listeners)
        finally:
            await listeners.retire(old)
            if store is not None:
                store.close()

    async def change(self, change: Callable[[Driver], Coroutine[Any, Any, T]]) -> T:
        """Make a change of the running cluster when its turn comes. Raises RuntimeError if the cluster has been stopped
        by then."""
        self.driver_here()  # or it is the wrong place to ask
        return await self._changes.make(lambda: change(self.driver))

    async def change_listeners(self, change: Callable[[Listeners], Coroutine[Any, Any, None]]) -> None:
        """Make a change of the ports, and of the brokers behind them, when its turn comes. Raises as `change` does."""
        await self.change(lambda _: change(self.listeners))

    async def stop(self) -> None:
        """Close all ports and connections. If the caller is cancelled, the stop still completes. In a child process
        there is nothing to stop."""
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
            self.on_stop()
            await listeners.stop()
            self._lives.end(driver)
            await self._journal.close()
            self._tls._close()
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
            self._tls._close()
            self._close_store()
            self._home.leave()
            self._is_started = False

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def descriptors(self) -> list[int]:
        """Return all open file descriptors."""
        return self._journal.descriptors() + ([] if self._listeners is None else self._listeners.descriptors())

    def snapshot_journal(self) -> Snapshot:
        """Return the kept events. Raises RuntimeError if none are kept, or in another process."""
        self._home.check_process()
        topics = () if self._driver is None else self._driver.cluster.metadata.topic_names()
        return self._journal.snapshot()._replace(topics=topics)

    def clear_journal(self) -> None:
        """Forget the kept events."""
        self._journal.clear()
