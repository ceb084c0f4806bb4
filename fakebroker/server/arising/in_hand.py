"""Faults that arise in an `AsyncFakeCluster`: `kafka.faults.gc_pause(2, 12_000)`. What clients see of them is in
docs/faults.md."""

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

WAIT_S = 30.0  # how long somebody waits who does not say it


class AsyncArisen:
    """A fault that has arisen in an `AsyncFakeCluster`. `id` is its name in the journal, "a1". As a block, `with`, it
    is removed at the end."""

    def __init__(self, arisen: Arisen, arising: Arising, go_on: Callable[[], None]) -> None:
        self._arisen = arisen
        self._arising = arising
        self._go_on = go_on
        self.id = arisen.name
        self.preset = arisen.preset

    @property
    def hits(self) -> int:
        """How often it has done something to a broker: `rolling_restart` counts those that are back."""
        return self._arisen.hits

    @property
    def is_done(self) -> bool:
        """Whether it has done what it is there for: the pause is over, the brokers are back. A state that lasts is done
        at once."""
        return self._arisen.is_done

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left."""
        return self._arisen.is_over

    async def wait(self, timeout: float | None = WAIT_S) -> None:
        """Wait until it is done, or over, so many real seconds at most. Raises TimeoutError. With a manual clock
        somebody else has to let time pass."""
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
                f"fault {self.id} ({self.preset}) was not done within {timeout} s; it has acted {self.hits} times"
            ) from None
        finally:
            self._arisen.on_change.remove(changed.set)

    def remove(self) -> None:
        """Take it back, as far as it can be: who stands still goes on, who was cut off is joined, what is dead is not
        revived. Nothing happens if it is over."""
        self._arising.remove(self._arisen)
        self._go_on()

    def heal(self) -> None:
        """`remove`, as one says it of a network."""
        self.remove()

    def to_json(self) -> dict[str, Any]:
        """Its name, what it is, and how it stands."""
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
    """The part of `faults` that makes the state, not the answer. All raise ValueError, in one sentence, for what cannot
    be, and return at once: `wait` waits."""

    def __init__(self, driver: Callable[[], Driver]) -> None:
        self._driver = driver

    def arise(self, preset: Preset | Mapping[str, Any]) -> AsyncArisen:
        """Let a preset arise, or what makes one: {"preset": "gc_pause", "broker": 2, "ms": 12000}."""
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
        """All that have arisen, in order, those that are over too. None if the cluster has stopped."""
        try:
            arising = self._driver().cluster.faults.arising
        except RuntimeError:
            return []
        return [AsyncArisen(arisen, arising, self._carry_on) for arisen in arising.arisen]

    def partition(self, a: int | Iterable[int], b: int | Iterable[int], controller: str = BOTH) -> AsyncArisen:
        """The brokers `a` and the brokers `b` do not reach each other until it is removed: no follower fetches across.
        With `controller="a"` only those reach the controller, and the others lose their sessions; "both" do if nothing
        is said. Clients reach everybody."""
        sides = [(side,) if isinstance(side, int) else tuple(side) for side in (a, b)]
        return self.arise(Partition(sides[0], sides[1], controller))

    def gc_pause(self, broker: int, ms: int) -> AsyncArisen:
        """A broker stands still for so long on its clock: nothing is read or answered, and its timers are late; if that
        is longer than broker.session.timeout.ms, others lead when it goes on."""
        return self.arise(GcPause(broker, ms))

    def full_disk(self, broker: int) -> AsyncArisen:
        """A broker can write nothing from now on. Who next wants something written there is answered
        KAFKA_STORAGE_ERROR, and the broker's process is dead; it is so too once the high watermarks are to be written,
        after replica.high.watermark.checkpoint.interval.ms at the latest. Started again it dies again, until this is
        removed: then there is room. It is done once the broker has died."""
        return self.arise(FullDisk(broker))

    def slow_disk(self, broker: int, ms: int) -> AsyncArisen:
        """Each write to a broker's disk takes so long on its clock, until it is removed: what clients want written
        there is done and answered so much later, and its followers have each record so much later."""
        return self.arise(SlowDisk(broker, ms))

    def unclean_shutdown(self, broker: int) -> AsyncArisen:
        """A broker's process dies, and is started again: it registers when the session of its last life has ended. What
        it had written it has, replicated or not: the page cache outlives the process."""
        return self.arise(UncleanShutdown(broker))

    def rolling_restart(self, down_ms: int = 100) -> AsyncArisen:
        """Each broker in turn is stopped in order, is down for so long on the broker's clock, starts, and is back in
        the ISRs of all its replicas before the next one is stopped."""
        return self.arise(RollingRestart(down_ms))
