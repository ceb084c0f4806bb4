"""The README of the package does not lie."""

from __future__ import annotations

import re
from pathlib import Path

import timingwheel
from timingwheel import SystemTimer, TimerTask

README = Path(timingwheel.__file__).parent / "README.md"


def test_the_first_example_runs() -> None:
    (block, *_) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(block, names)
    timer, make = names["timer"], names["Timeout"]
    assert isinstance(timer, SystemTimer)
    assert callable(make)
    task = make(30_000)
    timer.add(task, 5)
    said = re.search(r"next_deadline_ms\(\)\s+# (\d+)", block)
    assert said is not None
    assert timer.next_deadline_ms() == int(said[1])
    assert task.deadline_ms == 30_005


def test_the_levels_are_as_many_as_it_says() -> None:
    timer = SystemTimer(0)
    timer.add(TimerTask(30_000), 0)
    assert len(timer.snapshot().levels) == 4
    timer.add(TimerTask(2**63 - 1), 0)
    levels = timer.snapshot().levels
    assert len(levels) == 15
    assert [level.end_ms for level in levels][:7] == [20, 400, 8_000, 160_000, 3_200_000, 64_000_000, 1_280_000_000]


def test_the_documented_names_exist() -> None:
    text = README.read_text()
    for name in ("deadline_ms", "is_pending", "cancel"):
        assert hasattr(TimerTask, name)
    for name in [*re.findall(r"`timer\.(\w+)", text), "pop_due", "snapshot", "clear", "close", "size"]:
        assert hasattr(SystemTimer, name)
