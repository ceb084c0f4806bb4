"""State faults of an `AsyncFakeCluster`: `kafka.faults.gc_pause(2, 12_000)`. docs/faults.md says what clients see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from fakebroker.cluster.arising.arisen import Arisen
from fakebroker.cluster.arising.arising import Arising
from fakebroker.core.arguments import NUMBER_OR_NONE, require, require_at_least
from fakebroker.core.faults.presets import (
    BOTH,
    FullDisk,
    GcPause,
    Partition,
    Preset,
    RollingRestart,
    SlowDisk,
    UncleanShutdown,
    read_preset,
)
from fakebroker.server.driver import Driver

WAIT_S = 30.0  # the default timeout of `wait`


class AsyncArisen:
    """A state fault of an `AsyncFakeCluster`. `id` is its name in the journal, "a1". In a `with` block it is removed at
    the end."""

    def __init__(self, arisen: Arisen, arising: Arising, go_on: Callable[[], None]) -> None:
        self._arisen = arisen
        self._arising = arising
        self._go_on = go_on
        self.id = arisen.name
        self.preset = arisen.preset

    @property
    def hits(self) -> int:
        """Return how often it acted on a broker. `rolling_restart` counts the brokers that are back."""
        return self._arisen.hits

    @property
    def is_done(self) -> bool:
        """Return True if its action is complete: the pause has ended, the brokers are back. A lasting state is done at
        once."""
        return self._arisen.is_done

    @property
    def is_over(self) -> bool:
        """Return True if it has no effect any more."""
        return self._arisen.is_over

    async def wait(self, timeout: float | None = WAIT_S) -> None:
        """Wait until it is done or over, for at most `timeout` real seconds. Raises TimeoutError. With a manual clock
        other code has to advance the clock."""
        require(NUMBER_OR_NONE, timeout=timeout)
        require_at_least(0, timeout=timeout)
        changed = asyncio.Event()
        self._arisen.on_change.append(changed.set)
        try:
            async with asyncio.timeout(timeout):
                while not (self.is_done or self.is_over):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            raise TimeoutError(
                f"fault {self.id} ({self.preset}) did not end within {timeout} s; it fired {self.hits} times"
            ) from None
        finally:
            self._arisen.on_change.remove(changed.set)

    def remove(self) -> None:
        """Undo it where possible: paused brokers resume and cut links heal, but crashed brokers stay down. Do nothing
        if it is over."""
        self._arising.remove(self._arisen)
        self._go_on()

    def heal(self) -> None:
        """Call `remove`; the natural name for a network partition."""
        self.remove()

    def to_json(self) -> dict[str, Any]:
        """Return its id, its preset and its state."""
        stands = {"hits": self.hits, "matches": 0, "held": 0, "installed": not self.is_over, "done": self.is_done}
        return {"id": self.id, **self.preset.to_json(), **stands}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<fault {self.id}: {self.preset}; {self.hits} hits>"


class AsyncPresets:
    """The methods of `faults` that change the state of brokers, not responses. All return at once; use `wait` to wait.
    All raise ValueError with a message of one sentence for an impossible preset."""

    def __init__(self, driver: Callable[[], Driver]) -> None:
        self._driver = driver

    def arise(self, preset: Preset | Mapping[str, Any]) -> AsyncArisen:
        """Start a preset, or what describes one: {"preset": "gc_pause", "broker": 2, "ms": 12000}."""
        made = preset if isinstance(preset, Preset) else read_preset(preset)
        driver = self._driver()
        arising = driver.cluster.faults.arising
        driver.cluster.now = driver.clock.stamp()
        arisen = arising.arise(made)
        driver.go_on()
        return AsyncArisen(arisen, arising, self._carry_on)

    def _carry_on(self) -> None:
        self._driver().go_on()

    def arisen(self) -> list[AsyncArisen]:
        """Return all state faults in the order of their start, also those that are over. Empty if the cluster has
        stopped."""
        try:
            arising = self._driver().cluster.faults.arising
        except RuntimeError:
            return []
        return [AsyncArisen(arisen, arising, self._carry_on) for arisen in arising.arisen]

    def partition(self, a: int | Iterable[int], b: int | Iterable[int], controller: str = BOTH) -> AsyncArisen:
        """Cut the links between the brokers `a` and the brokers `b` until it is removed: no follower fetches across.
        With `controller="a"` only `a` reach the controller, and the sessions of `b` expire; the default is "both".
        Clients reach all brokers."""
        sides = [(side,) if isinstance(side, int) else tuple(side) for side in (a, b)]
        return self.arise(Partition(sides[0], sides[1], controller))

    def gc_pause(self, broker: int, ms: int) -> AsyncArisen:
        """Pause a broker for `ms` on its clock: it reads no requests, sends no responses, and its timers are late. If
        that is longer than broker.session.timeout.ms, other brokers lead when it resumes."""
        return self.arise(GcPause(broker, ms))

    def full_disk(self, broker: int) -> AsyncArisen:
        """Fill a broker's disk. The next request that has to write there gets KAFKA_STORAGE_ERROR, and the broker
        crashes. Without a request it crashes at the next checkpoint of the high watermarks
        (replica.high.watermark.checkpoint.interval.ms). After a restart it crashes again, until this fault is removed
        and the disk has room. It is done once the broker has crashed."""
        return self.arise(FullDisk(broker))

    def slow_disk(self, broker: int, ms: int) -> AsyncArisen:
        """Make each write to a broker's disk take `ms` on its clock, until it is removed. Requests that write are
        delayed by that, and followers receive each record that much later."""
        return self.arise(SlowDisk(broker, ms))

    def unclean_shutdown(self, broker: int) -> AsyncArisen:
        """Crash a broker and start it again: it registers when the session of its last life has expired. It keeps all
        that it had written, replicated or not, because the page cache outlives the process."""
        return self.arise(UncleanShutdown(broker))

    def rolling_restart(self, down_ms: int = 100) -> AsyncArisen:
        """Restart each broker in turn: controlled shutdown, `down_ms` of downtime on the broker's clock, start. The
        next broker follows when this one is back in the ISRs of all its replicas."""
        return self.arise(RollingRestart(down_ms))
