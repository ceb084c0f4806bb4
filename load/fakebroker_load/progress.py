"""Progress of the tasks, reported to the driver while they run.

Theory   Spark passes a task's counters on only when the task ends. So each task sends datagrams with its counts so far.
         A count is a total and not an increment: a lost or late one does no harm, since the next one replaces it. Tasks
         also ask here for the driver's time. They report how their clock differs from it (spark/clocks.py), and how
         late their machine made them. All times in these messages are the driver's.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from fakebroker_load.spark.clocks import ClockOffset, TaskClock

MAX_DATAGRAM_BYTES = 512
POLL_S = 0.2


class ProgressListener:
    """A listener on the driver. It calls back with the sums of all counts, from its own thread."""

    def __init__(self, callback: Callable[[int, int], None], host: str = "127.0.0.1") -> None:
        self._callback = callback
        self._counts: dict[int, tuple[int, int]] = {}
        self._socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self.clocks: dict[int, TaskClock] = {}
        self.machine_late_ms: dict[int, int | None] = {}  # by task
        self._begun: dict[int, Any] = {}  # the first try of each task
        self._socket.settimeout(POLL_S)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="progress", daemon=True)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._start_ns: int | None = None
        self._started = threading.Event()

    def __enter__(self) -> ProgressListener:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def start_ns(self, timeout_s: float) -> int | None:
        """Return the common start of the tasks, on our time.monotonic_ns, as soon as they have agreed on it and
        reported it."""
        self._started.wait(timeout_s)
        return self._start_ns

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                data, sender = self._socket.recvfrom(MAX_DATAGRAM_BYTES)
                now_ns = time.monotonic_ns()
                message = json.loads(data)
                if isinstance(message[0], str):
                    self._answer(message, sender, now_ns)
                    continue
                task, sent, done, start_ns = message
                self._counts[int(task)] = (int(sent), int(done))
                if start_ns is not None and not self._started.is_set():
                    self._start_ns = int(start_ns)
                    self._started.set()
            except (OSError, ValueError, TypeError, LookupError):  # nothing arrived, or a foreign datagram
                continue
            self._callback(
                sum(sent for sent, _ in self._counts.values()), sum(done for _, done in self._counts.values())
            )

    def _answer(self, message: list[Any], sender: Any, now_ns: int) -> None:
        """Answer a task that asks for the time, or whether it is the first try, or that reports its clock."""
        if message[0] == "time":
            _, number, before_ns = message
            answer: list[Any] = [number, before_ns, now_ns]
        elif message[0] == "begin":
            _, task, mine = message
            answer = ["begin", int(task), self._begun.setdefault(int(task), mine)]
        else:
            _, task, host, before, after, late_ms = message
            self.machine_late_ms[int(task)] = late_ms
            self.clocks[int(task)] = TaskClock(int(task), str(host), ClockOffset(*before), ClockOffset(*after))
            answer = ["clock", int(task)]
        self._socket.sendto(json.dumps(answer).encode(), sender)


class ProgressSender:
    """A sender for the counts of one task."""

    def __init__(self, address: tuple[str, int], task: int) -> None:
        self._address = address
        self._task = task
        self._start_ns: int | None = None
        self._socket = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET, socket.SOCK_DGRAM)

    def starts(self, start_ns: int) -> None:
        """Report the start that the tasks have agreed on. All later counts repeat it."""
        self._start_ns = start_ns
        self(0, 0)

    def __call__(self, sent: int, done: int) -> None:
        try:
            self._socket.sendto(json.dumps([self._task, sent, done, self._start_ns]).encode(), self._address)
        except OSError:
            return  # the bar may stop; the load must not

    def close(self) -> None:
        self._socket.close()
