"""State faults of a `FakeCluster`, for use from any thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from fakebroker.core.faults.presets import BOTH, Preset
from fakebroker.server.arising.in_hand import WAIT_S, AsyncArisen, AsyncPresets

T = TypeVar("T")


class Call(Protocol):
    """A function that runs another function in the loop's thread."""

    def __call__(self, function: Callable[[], T], /) -> T: ...


class Await(Protocol):
    """A function that runs a coroutine in the loop's thread and waits for it."""

    def __call__(self, coroutine: Coroutine[None, None, T], /) -> T: ...


class Arisen:
    """A state fault of a `FakeCluster`: `AsyncArisen`, for use from any thread."""

    def __init__(self, arisen: AsyncArisen, call: Call, wait_for: Await) -> None:
        self._arisen = arisen
        self._call = call
        self._await = wait_for
        self.id = arisen.id
        self.preset = arisen.preset

    @property
    def hits(self) -> int:
        """See `AsyncArisen.hits`."""
        return self._arisen.hits

    @property
    def is_done(self) -> bool:
        """See `AsyncArisen.is_done`."""
        return self._arisen.is_done

    @property
    def is_over(self) -> bool:
        """See `AsyncArisen.is_over`."""
        return self._arisen.is_over

    def wait(self, timeout: float | None = WAIT_S) -> None:
        """See `AsyncArisen.wait`."""
        self._await(self._arisen.wait(timeout))

    def remove(self) -> None:
        """See `AsyncArisen.remove`."""
        self._call(self._arisen.remove)

    def heal(self) -> None:
        """See `AsyncArisen.heal`."""
        self.remove()

    def to_json(self) -> dict[str, Any]:
        """See `AsyncArisen.to_json`."""
        return self._arisen.to_json()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return repr(self._arisen)


class Presets:
    """The methods of `faults` that change the state of brokers, not responses: `AsyncPresets`, for use from any
    thread."""

    def __init__(self, presets: AsyncPresets, call: Call, wait_for: Await) -> None:
        self._presets = presets
        self._call = call
        self._await = wait_for

    def _arisen_of(self, arise: Callable[[], AsyncArisen]) -> Arisen:
        return Arisen(self._call(arise), self._call, self._await)

    def arise(self, preset: Preset | Mapping[str, Any]) -> Arisen:
        """See `AsyncPresets.arise`."""
        return self._arisen_of(lambda: self._presets.arise(preset))

    def arisen(self) -> list[Arisen]:
        """See `AsyncPresets.arisen`."""
        return [Arisen(arisen, self._call, self._await) for arisen in self._call(self._presets.arisen)]

    def partition(self, a: int | Iterable[int], b: int | Iterable[int], controller: str = BOTH) -> Arisen:
        """See `AsyncPresets.partition`."""
        return self._arisen_of(lambda: self._presets.partition(a, b, controller))

    def gc_pause(self, broker: int, ms: int) -> Arisen:
        """See `AsyncPresets.gc_pause`."""
        return self._arisen_of(lambda: self._presets.gc_pause(broker, ms))

    def full_disk(self, broker: int) -> Arisen:
        """See `AsyncPresets.full_disk`."""
        return self._arisen_of(lambda: self._presets.full_disk(broker))

    def slow_disk(self, broker: int, ms: int) -> Arisen:
        """See `AsyncPresets.slow_disk`."""
        return self._arisen_of(lambda: self._presets.slow_disk(broker, ms))

    def unclean_shutdown(self, broker: int) -> Arisen:
        """See `AsyncPresets.unclean_shutdown`."""
        return self._arisen_of(lambda: self._presets.unclean_shutdown(broker))

    def rolling_restart(self, down_ms: int = 100) -> Arisen:
        """See `AsyncPresets.rolling_restart`."""
        return self._arisen_of(lambda: self._presets.rolling_restart(down_ms))
