"""Faults for the user of a cluster, `kafka.faults.add(when={"api": "Produce"}, do="disconnect")`, and barriers:
`hold`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self

from fakebroker.cluster.faults.engine import Faults as Engine
from fakebroker.core.arguments import NUMBER_OR_NONE, WHOLE_NUMBER, WHOLE_NUMBER_OR_NONE, require, require_at_least
from fakebroker.core.faults import reading
from fakebroker.core.faults.actions import Hold
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.fault import Fault, as_fault
from fakebroker.core.faults.presets import (
    BOTH,
    FullDisk,
    GcPause,
    NetworkPartition,
    Preset,
    RollingRestart,
    SlowDisk,
    UncleanShutdown,
    read_preset,
)
from fakebroker.core.faults.times import Times, every_time
from fakebroker.core.faults.when import When
from fakebroker.protocol.slices import Slices, finish
from fakebroker.server.arising.in_hand import WAIT_S, AsyncStateFault
from fakebroker.server.driver import Driver

log = logging.getLogger("fakebroker")

_REMOVED_OF_A_SLICE = 16
_TOLD = 10  # how many faults that never fired are named in the log

Said = When | Mapping[str, Any] | None
Often = Times | str | int | Mapping[str, Any] | None


class AsyncFault:
    """A fault that is installed in an `AsyncFakeCluster`. `id` is its name in the journal, "f1"."""

    def __init__(self, armed: Armed, engine: Engine, go_on: Callable[[], None]) -> None:
        self._armed = armed
        self._engine = engine
        self._go_on = go_on
        self.id = armed.name
        self.fault = armed.fault

    @property
    def hits(self) -> int:
        """Return how many requests it has acted on (fired)."""
        return self._armed.hits

    @property
    def matches(self) -> int:
        """Return how many requests it has matched; `times` selects some of these."""
        return self._armed.matches

    @property
    def held(self) -> int:
        """Return how many requests it holds now."""
        return self._armed.held

    @property
    def problem(self) -> str | None:
        """Return what it could not do when it fired, and why; None if it did everything."""
        return "; ".join(self._armed.problems) or None

    @property
    def is_installed(self) -> bool:
        """Return True if it may act again."""
        return not self._armed.is_spent

    async def wait(self, n: int = 1, timeout: float | None = WAIT_S) -> int:
        """Wait until it has fired n times, for at most `timeout` real seconds. Return its hits. Raises TimeoutError."""
        _check(n, timeout)
        await self._until(
            lambda: self._armed.hits >= n, f"fired {{}} times (expected {n})", lambda: self._armed.hits, timeout
        )
        return self._armed.hits

    async def wait_held(self, n: int = 1, timeout: float | None = WAIT_S) -> int:
        """Wait until it holds n requests, for at most `timeout` real seconds. Return that number. Raises
        TimeoutError."""
        _check(n, timeout)
        await self._until(
            lambda: self._armed.held >= n, f"held {{}} requests (expected {n})", lambda: self._armed.held, timeout
        )
        return self._armed.held

    async def _until(self, is_so: Callable[[], bool], what: str, now: Callable[[], int], timeout: float | None) -> None:
        changed = asyncio.Event()
        self._armed.on_change.append(changed.set)
        try:
            async with asyncio.timeout(timeout):
                while not is_so():
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise TimeoutError(
                f"fault {self.id} ({self.fault}) {what.format(now())} in {timeout} s; "
                f"it matched {self.matches} requests"
            ) from None
        finally:
            self._armed.on_change.remove(changed.set)

    def release(self, count: int | None = None) -> int:
        """Release all requests that it holds, or the first `count`. Return how many were released."""
        require(WHOLE_NUMBER_OR_NONE, count=count)
        require_at_least(0, count=count)
        released = self._engine.release(self._armed, count)
        self._go_on()
        return released

    def remove(self) -> None:
        """Remove it and release the requests that it holds. Do nothing if it is removed."""
        self._engine.remove(self._armed)
        self._go_on()

    def to_json(self) -> dict[str, Any]:
        """Return its id, its definition and its state. Raises ValueError if it has a predicate."""
        stands = {"hits": self.hits, "matches": self.matches, "held": self.held, "installed": self.is_installed}
        failed = {} if self.problem is None else {"problem": self.problem}
        return {"id": self.id, **self.fault.to_json(), **stands, **failed}

    def __repr__(self) -> str:
        return f"<fault {self.id}: {self.fault}; {self.hits} hits>"


def _check(n: int, timeout: float | None) -> None:
    require(WHOLE_NUMBER, n=n)
    require(NUMBER_OR_NONE, timeout=timeout)
    require_at_least(0, n=n, timeout=timeout)


_Handles = list[AsyncFault]
_Lasting = list[AsyncStateFault]


class AsyncFaults:
    """The faults of an `AsyncFakeCluster`, including those that have fired for the last time: faults of requests, and
    state faults, which change brokers and not responses. State faults return at once; use `wait` to wait. They raise
    ValueError with a message of one sentence for an impossible preset."""

    def __init__(self, driver: Callable[[], Driver]) -> None:
        self._driver = driver
        self._handles: list[AsyncFault] = []
        self._engine: Engine | None = None

    def add(
        self,
        fault: Fault | None = None,
        *,
        when: Said = None,
        do: Any = None,
        times: Often = None,
        force: bool = False,
    ) -> AsyncFault:
        """Install a Fault, or what describes one (docs/faults.md). Raises ValueError with one sentence for a wrong
        description, and for a fault that can never match or act."""
        made = as_fault(fault, when, do, times, force)
        driver = self._driver()
        engine = driver.cluster.faults
        if engine is not self._engine:  # the cluster was reset, or started again
            self._engine, self._handles = engine, []
        driver.cluster.now = driver.clock.stamp()
        handle = AsyncFault(engine.add(made), engine, self._go_on)
        self._handles.append(handle)
        return handle

    def _go_on(self) -> None:
        self._driver().go_on()

    def get(self, name: str) -> AsyncFault:
        """Return the fault of that name, "f1". Raises KeyError if there was none."""
        for handle in self:
            if handle.id == name:
                return handle
        raise KeyError(f"there is no fault {name!r}: there are {', '.join(fault.id for fault in self) or 'none'}")

    def list(self) -> _Handles:
        """Return all faults in the order of their installation, except removed ones."""
        self._forget_others()
        return [handle for handle in self._handles if not handle._armed.is_removed]

    def _forget_others(self) -> None:
        try:
            engine = self._driver().cluster.faults
        except RuntimeError:  # the cluster has stopped: its faults stay visible
            return
        if engine is not self._engine:
            self._engine, self._handles = engine, []

    def clear(self) -> None:
        """Remove all faults, including state faults."""
        finish(self._clear_in_slices())

    def _clear_in_slices(self) -> Slices[int]:
        """Remove all faults. Return how many there were when it began."""
        handles = self.list()
        lasting = [arisen for arisen in self.arisen() if not arisen.is_over]
        for number, handle in enumerate(handles, 1):
            handle.remove()
            if number % _REMOVED_OF_A_SLICE == 0:
                yield
        for arisen in self.arisen():
            arisen.remove()
        return len(handles) + len(lasting)

    def unfired(self) -> _Handles:
        """Return the faults that never fired, or could not do all that they should, also once the cluster has
        stopped."""
        self._forget_others()
        return [handle for handle in self._handles if not handle.hits or handle.problem]

    def tell_unfired(self) -> None:
        """Log which faults never fired, when the cluster stops."""
        idle = [handle for handle in self._handles if not handle.hits and not handle._armed.is_removed]
        for handle in idle[:_TOLD]:
            log.warning("fault %s never fired: %s (it matched %d requests)", handle.id, handle.fault, handle.matches)
        if len(idle) > _TOLD:
            log.warning("%d more faults never fired", len(idle) - _TOLD)

    # State faults.

    def arise(self, preset: Preset | Mapping[str, Any]) -> AsyncStateFault:
        """Start a preset, or what describes one: {"preset": "gc_pause", "broker": 2, "ms": 12000}."""
        made = preset if isinstance(preset, Preset) else read_preset(preset)
        driver = self._driver()
        arising = driver.cluster.faults.arising
        driver.cluster.now = driver.clock.stamp()
        arisen = arising.arise(made)
        driver.go_on()
        return AsyncStateFault(arisen, arising, self._go_on)

    def _carry_on(self) -> None:
        self._driver().go_on()

    def arisen(self) -> _Lasting:
        """Return all state faults in the order of their start, also those that are over. Empty if the cluster has
        stopped."""
        try:
            arising = self._driver().cluster.faults.arising
        except RuntimeError:
            return []
        return [AsyncStateFault(arisen, arising, self._go_on) for arisen in arising.arisen]

    def partition(self, a: int | Iterable[int], b: int | Iterable[int], controller: str = BOTH) -> AsyncStateFault:
        """Cut the links between the brokers `a` and the brokers `b` until it is removed: no follower fetches across.
        With `controller="a"` only `a` reach the controller, and the sessions of `b` expire; the default is "both".
        Clients reach all brokers."""
        sides = [(side,) if isinstance(side, int) else tuple(side) for side in (a, b)]
        return self.arise(NetworkPartition(sides[0], sides[1], controller))

    def gc_pause(self, broker: int, ms: int) -> AsyncStateFault:
        """Pause a broker for `ms` on its clock: it reads no requests, sends no responses, and its timers are late. If
        that is longer than broker.session.timeout.ms, other brokers lead when it resumes."""
        return self.arise(GcPause(broker, ms))

    def full_disk(self, broker: int) -> AsyncStateFault:
        """Fill a broker's disk. The next request that has to write there gets KAFKA_STORAGE_ERROR, and the broker
        crashes. Without a request it crashes at the next checkpoint of the high watermarks
        (replica.high.watermark.checkpoint.interval.ms). After a restart it crashes again, until this fault is removed
        and the disk has room. It is done once the broker has crashed."""
        return self.arise(FullDisk(broker))

    def slow_disk(self, broker: int, ms: int) -> AsyncStateFault:
        """Make each write to a broker's disk take `ms` on its clock, until it is removed. Requests that write are
        delayed by that, and followers receive each record that much later."""
        return self.arise(SlowDisk(broker, ms))

    def unclean_shutdown(self, broker: int) -> AsyncStateFault:
        """Crash a broker and start it again: it registers when the session of its last life has expired. It keeps all
        that it had written, replicated or not, because the page cache outlives the process."""
        return self.arise(UncleanShutdown(broker))

    def rolling_restart(self, down_ms: int = 100) -> AsyncStateFault:
        """Restart each broker in turn: controlled shutdown, `down_ms` of downtime on the broker's clock, start. The
        next broker follows when this one is back in the ISRs of all its replicas."""
        return self.arise(RollingRestart(down_ms))

    def __iter__(self) -> Iterator[AsyncFault]:
        return iter(self.list())

    def __len__(self) -> int:
        return len(self.list())


def hold_fault(n: int, api: Any, at: str | None, times: Often, when: Mapping[str, Any]) -> Fault:
    """Return the fault of a barrier. Raises ValueError."""
    reading.whole(n, "'n'", 1)
    said = dict(when) | ({} if api is None else {"api": api}) | ({} if at is None else {"at": at})
    return Fault(said, Hold(), every_time if times is None else times)


class AsyncRequestBarrier:
    """A barrier of an `AsyncFakeCluster`: `async with kafka.hold(api="Produce", n=3) as held: await held.wait()`."""

    def __init__(self, fault: AsyncFault, n: int) -> None:
        self.fault = fault
        self._n = n

    @property
    def count(self) -> int:
        """Return how many requests it holds now."""
        return self.fault.held

    async def wait(self, n: int | None = None, timeout: float | None = WAIT_S) -> int:
        """Wait until it holds n requests (default: as many as it was made for). Raises TimeoutError."""
        return await self.fault.wait_held(self._n if n is None else n, timeout)

    def release(self, count: int | None = None) -> int:
        """Release all requests, or the first `count`; later ones are held. Return how many were released."""
        return self.fault.release(count)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.fault.remove()
