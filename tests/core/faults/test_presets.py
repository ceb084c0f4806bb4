"""Presets as values: their JSON form, and mistakes in it."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.core.faults.presets import (
    FullDisk,
    GcPause,
    NetworkPartition,
    Preset,
    RollingRestart,
    SlowDisk,
    UncleanShutdown,
    read_preset,
)


@pytest.mark.parametrize(
    ("preset", "said", "words"),
    [
        (NetworkPartition((1,), (2, 3)), {"a": [1], "b": [2, 3]}, "partition a=1 b=2,3"),
        (NetworkPartition((1,), (2,), "b"), {"a": [1], "b": [2], "controller": "b"}, "partition a=1 b=2 controller=b"),
        (GcPause(2, 12_000), {"broker": 2, "ms": 12_000}, "gc_pause broker=2 ms=12000"),
        (FullDisk(3), {"broker": 3}, "full_disk broker=3"),
        (SlowDisk(3, 5), {"broker": 3, "ms": 5}, "slow_disk broker=3 ms=5"),
        (UncleanShutdown(0), {"broker": 0}, "unclean_shutdown broker=0"),
        (RollingRestart(), {}, "rolling_restart"),
        (RollingRestart(5), {"down_ms": 5}, "rolling_restart down_ms=5"),
    ],
)
def test_it_is_read_as_it_is_written(preset: Preset, said: dict[str, Any], words: str) -> None:
    assert preset.to_json() == {"preset": preset.name} | said
    assert read_preset(preset.to_json()) == preset
    assert str(preset) == words


def test_only_the_controller_may_be_lost() -> None:
    lost = read_preset({"preset": "partition", "a": [1, 2], "b": [], "controller": "b"})
    assert lost == NetworkPartition((1, 2), (), "b")
    assert lost.without_controller == (1, 2)


def test_one_broker_need_be_no_list() -> None:
    assert read_preset({"preset": "partition", "a": 1, "b": [2, 2]}) == NetworkPartition((1,), (2,))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "'preset' must be a string, not None"),
        ({"preset": "gcpause"}, "there is no preset 'gcpause': 'gc_pause' may be meant"),
        ({"preset": "gc_pause", "broker": 1}, "the preset 'gc_pause' needs 'ms'"),
        ({"preset": "gc_pause", "broker": 1, "ms": 0}, "'ms' of 'gc_pause' must be 1 to 2147483647, not 0"),
        ({"preset": "gc_pause", "broker": "1", "ms": 1}, "'broker' of 'gc_pause' must be a whole number, not '1'"),
        ({"preset": "gc_pause", "brokr": 1}, "the preset 'gc_pause' has no 'brokr': 'broker' may be meant"),
        (
            {"preset": "partition", "a": [1], "b": [1]},
            "'partition' has broker 1 on both sides: no broker is cut off from itself",
        ),
        ({"preset": "partition", "a": [], "b": [1]}, "'a' of 'partition' is an empty list"),
        ({"preset": "partition", "a": [1], "b": []}, "'b' of 'partition' is an empty list"),
        ({"preset": "partition", "a": [1], "b": [], "controller": "a"}, "'b' of 'partition' is an empty list"),
        ({"preset": "partition", "a": [True], "b": [1]}, "a broker in 'a' of 'partition' must be a whole number"),
        ({"preset": "partition", "a": [1], "b": [2], "controller": "c"}, "is 'both', 'a' or 'b', not 'c'"),
        ({"preset": "slow_disk", "broker": 1, "ms": -1}, "'ms' of 'slow_disk' must be 1 to"),
        ({"preset": "rolling_restart", "down_ms": -1}, "'down_ms' of 'rolling_restart' must be 0 to"),
    ],
)
def test_what_is_none_is_one_sentence(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_preset(said)
    assert words in str(caught.value)
