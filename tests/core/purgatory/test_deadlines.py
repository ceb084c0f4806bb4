"""The limit of the tasks that the deadlines of a cluster run at once (core/purgatory/deadlines.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.purgatory.deadlines import TIMEOUTS, Deadlines, TimerDeadlines
from timingwheel import TimerTask


class Counting(TimerTask):
    def __init__(self, ran: list[str], name: str) -> None:
        super().__init__(1)
        self._ran, self._name = ran, name

    def run(self) -> None:
        self._ran.append(self._name)


@pytest.mark.parametrize("limit", [1, 3, 5, 12, 13, 20])
def test_all_sources_together_run_no_more_tasks_than_the_limit(limit: int) -> None:
    ran: list[str] = []
    deadlines = Deadlines()
    for number, (name, tasks) in enumerate({"a": 3, "b": 10}.items()):
        source = TimerDeadlines(0)
        deadlines.add(source, (TIMEOUTS, 0, number))
        for _ in range(tasks):
            source.timer.add(Counting(ran, name), 0)
    assert deadlines.advance_clock(5, limit) == len(ran) == min(limit, 13)
    assert ran == sorted(ran)
    while deadlines.advance_clock(5, limit):
        pass
    assert (ran.count("a"), ran.count("b")) == (3, 10)
