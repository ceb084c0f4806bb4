"""Kafka's hierarchical timing wheel as a library that stands on its own.

Most callers need only `SystemTimer`: subclass `TimerTask`, `add` it, and call `advance_clock` from time to time. The
structures beneath it are public as well. Integers only, standard library only, no clock and no thread: the caller
passes the time.
"""

from __future__ import annotations

from timingwheel.delay_queue import DelayQueue
from timingwheel.task import TaskCounter, TimerTask
from timingwheel.task_list import TimerTaskList
from timingwheel.timer import SystemTimer
from timingwheel.wheel import TimingWheel

__all__ = ["DelayQueue", "SystemTimer", "TaskCounter", "TimerTask", "TimerTaskList", "TimingWheel"]
