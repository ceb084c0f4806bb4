"""The stopwatch of the tests of lateness: it forgives what the machine did, and nothing else."""

from __future__ import annotations

import os
import sys

import pytest
from support import patience
from support.patience import Stopwatch, kept_waiting_s


def test_what_threads_waited_for_a_core_is_subtracted_and_nothing_from_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {1: [{"a": 5.0, "gone": 9.0}, {"a": 5.25, "new": 0.5}], os.getpid(): [{"m": 1.0}, {"m": 1.0}]}
    monkeypatch.setattr(patience, "kept_waiting_s", lambda pid: told[pid].pop(0))
    clock = iter([100.0, 103.0])
    monkeypatch.setattr(patience, "monotonic", lambda: next(clock))
    assert Stopwatch(1).own_s() == 3.0 - 0.25 - 0.5


def test_a_machine_that_lets_nobody_wait_is_forgiven_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "kept_waiting_s", lambda pid: {"m": 7.0})
    clock = iter([100.0, 100.5])
    monkeypatch.setattr(patience, "monotonic", lambda: next(clock))
    assert Stopwatch().own_s() == 0.5


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_linux_tells_of_every_thread_of_a_process() -> None:
    found = kept_waiting_s(os.getpid())
    assert str(os.getpid()) in found
    assert all(seconds >= 0 for seconds in found.values())


def test_of_a_process_that_is_not_there_nothing_is_told() -> None:
    assert kept_waiting_s(2**30) == {}
