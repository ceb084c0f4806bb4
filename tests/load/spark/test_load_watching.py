"""A verdict that takes long shows what Spark does meanwhile."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from support.watchdog import wait_until

from fakebroker_load.spark import watching
from fakebroker_load.spark.watching import line_of, watched


class Tracker:
    """Spark's tracker, with two stages and one that has ended meanwhile."""

    def __init__(self) -> None:
        self.asked = 0

    def getActiveStageIds(self) -> list[int]:
        self.asked += 1
        return [1, 2, 3]

    def getStageInfo(self, number: int) -> Any:
        return None if number == 3 else SimpleNamespace(numTasks=1_000, numCompletedTasks=number)


def session(tracker: Any) -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


def test_the_line_has_tasks_and_seconds() -> None:
    tracker: Any = Tracker()
    assert line_of("judging", tracker, 75.4) == "judging: 3 of 2,000 tasks, 75 s"
    tracker.getActiveStageIds = list  # between two jobs
    assert line_of("judging", tracker, 0.4) == "judging: 0 s"


def test_a_terminal_is_told_while_the_block_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK_EVERY_S", 0)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with watched(console, session(Tracker()), "judging"):
        wait_until(lambda: "judging: 3 of 2,000 tasks" in screen.getvalue(), "the line")


def test_a_spark_that_is_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK_EVERY_S", 0)
    gone = Tracker()
    monkeypatch.setattr(gone, "getStageInfo", lambda number: 1 / 0)
    with watched(Console(file=io.StringIO(), force_terminal=True), session(gone), "judging"):
        wait_until(lambda: gone.asked > 0, "the question")


def test_without_a_terminal_nothing_is_asked() -> None:
    tracker, out = Tracker(), io.StringIO()
    with watched(Console(file=out), session(tracker), "judging"):
        pass
    assert (tracker.asked, out.getvalue()) == (0, "")
