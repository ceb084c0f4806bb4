"""The collector of a process that serves looks at each object once, and finds garbage that is new."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from fakebroker.server.running import collecting
from fakebroker.server.running.collecting import collect_what_is_new, freeze_what_survives

MOST = 4_000  # objects that a full collection may have to look at: the 2,000 that bring it about, and those between


class Ring:
    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def collector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set up the garbage collector as in a process that serves, and restore it afterwards."""
    thresholds = gc.get_threshold()
    monkeypatch.setattr(collecting, "SMALL", getattr(request, "param", True))
    collect_what_is_new()
    yield
    if freeze_what_survives in gc.callbacks:
        gc.callbacks.remove(freeze_what_survives)
    gc.set_threshold(*thresholds)


@pytest.fixture(scope="module", autouse=True)
def frozen_again() -> Iterator[None]:
    """Collect the garbage of these tests; all else stays frozen, as after the collection of the tests."""
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def test_however_much_there_is_a_full_collection_has_little_to_look_at() -> None:
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            seen.append(len(gc.get_objects()))

    gc.callbacks.append(note)
    try:
        kept = [[number] for number in range(400_000)]
    finally:
        gc.callbacks.remove(note)
    assert len(kept) == 400_000
    assert len(seen) > 5
    assert max(seen) < MOST


def test_what_is_kept_goes_when_it_is_dropped() -> None:
    kept = [Ring() for _ in range(100)]
    one = weakref.ref(kept[0])
    for ring in kept:
        del ring.itself
    gc.collect()
    del kept, ring
    assert one() is None


def test_new_garbage_is_found() -> None:
    ring = weakref.ref(Ring())
    assert ring() is not None
    kept = [[number] for number in range(100_000)]
    assert ring() is None
    assert kept


def test_it_is_asked_for_once_or_twice() -> None:
    collect_what_is_new()
    assert gc.callbacks.count(freeze_what_survives) == 1


@pytest.mark.parametrize("collector", [False], indirect=True)
def test_where_connections_are_rings_they_are_found_however_old() -> None:
    assert freeze_what_survives not in gc.callbacks
    kept = Ring()
    ring = weakref.ref(kept)
    others = [[number] for number in range(100_000)]
    del kept
    gc.collect()
    assert ring() is None
    assert others
    assert gc.get_threshold()[2] == collecting.SELDOM
