"""State faults of an `AsyncFakeCluster`: `kafka.faults.gc_pause(2, 12_000)`. docs/faults.md says what clients see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from fakebroker.cluster.arising.arising import StateFaults
from fakebroker.cluster.arising.state_fault import StateFault
from fakebroker.core.arguments import NUMBER_OR_NONE, require, require_at_least

WAIT_S = 30.0  # the default timeout of `wait`


class AsyncStateFault:
    """A state fault of an `AsyncFakeCluster`. `id` is its name in the journal, "a1". In a `with` block it is removed at
    the end."""

    def __init__(self, arisen: StateFault, arising: StateFaults, go_on: Callable[[], None]) -> None:
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
