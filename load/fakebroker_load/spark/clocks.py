"""The clocks of tasks on other machines, compared with the driver's.

Theory   Times of a run count from the start that all tasks agree on. On one machine all processes read one monotonic
         clock. On several machines each has its own, with its own zero. So a task asks the driver for its time. The
         response was made between question and arrival, so half of the round trip is the largest error. The quickest of
         many pings says most. The task then uses the driver's clock to say when it is ready, and when it starts. Clocks
         drift, so it asks again at the end. The difference adds to the error, which is in the run's facts.
         Latencies are differences on one clock and need none of this. Times of the driver (the scenario's actions) are
         widened by the error at the start: `widened`.
         If the boot id is the same and the offset is within its error, it is the same clock, and both are 0.
Units    nanoseconds of time.monotonic_ns, microseconds where the name says so.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

PINGS = 30
TIMEOUT_S = 0.3
MOST_LOST = 10
ANSWER_BYTES = 512

Address = tuple[str, int]


class ClockUnknown(Exception):
    """The driver does not respond to questions for the time; the message is for the user."""


class ClockOffset(NamedTuple):
    """The driver's clock is ahead of ours by `ns`, with an error of at most `error_ns`."""

    ns: int
    error_ns: int


@dataclass(frozen=True)
class TaskClock:
    """The clock of one task: its host, and its offset before and after the load."""

    task: int
    host: str
    before: ClockOffset
    after: ClockOffset

    @property
    def error_us(self) -> int:
        """Return the largest error of this task's times."""
        drifted = abs(self.after.ns - self.before.ns) + self.after.error_ns
        return -(-max(self.before.error_ns, drifted) // 1000)


def boot_id() -> str:
    """Return the boot id of the running system; empty if unknown (not Linux)."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def ask(address: Address, question: list[Any], answers: Callable[[Any], bool]) -> Any:
    """Ask over UDP until the driver responds. Raises ClockUnknown."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asker:
        asker.settimeout(TIMEOUT_S)
        for _ in range(MOST_LOST):
            try:
                asker.sendto(json.dumps(question).encode(), address)
                answer = json.loads(asker.recv(ANSWER_BYTES))
            except (OSError, ValueError):  # lost, or another response
                continue
            if isinstance(answer, list) and answers(answer):
                return answer
    raise ClockUnknown(
        f"The executor on {socket.gethostname()} gets no answer by UDP from the driver at {address[0]}:{address[1]}, "
        "which it asks for the time."
    )


def offset_to(address: Address, pings: int = PINGS, clock: Callable[[], int] = time.monotonic_ns) -> ClockOffset:
    """Ask the driver for its time `pings` times. Raises ClockUnknown."""
    best: ClockOffset | None = None
    for number in range(pings):
        before = clock()

        def is_it(answer: Any, number: int = number, before: int = before) -> bool:
            return len(answer) == 3 and answer[:2] == [number, before]

        theirs = ask(address, ["time", number, before], is_it)[2]
        after = clock()
        offset = ClockOffset(int(theirs) - (before + after) // 2, (after - before + 1) // 2)
        if best is None or offset.error_ns < best.error_ns:
            best = offset
    assert best is not None
    return best


def same_or(offset: ClockOffset, same_boot: bool) -> ClockOffset:
    """Return no offset for the same clock."""
    return ClockOffset(0, 0) if same_boot and abs(offset.ns) <= offset.error_ns else offset


def clock_facts(clocks: Iterable[TaskClock], tasks: int) -> dict[str, Any]:
    """Return the facts for `run.json`. `error_us` is null unless every task has reported its clock at the end."""
    reported = sorted(clocks, key=lambda clock: clock.task)
    return {
        "error_us": max((clock.error_us for clock in reported), default=None) if len(reported) == tasks else None,
        "hosts": sorted({clock.host for clock in reported}),
        "tasks": [
            {
                "task": clock.task,
                "host": clock.host,
                "offset_us": clock.before.ns // 1000,
                "error_us": clock.error_us,
            }
            for clock in reported
        ],
    }


def widened(batch: pa.RecordBatch, error_us: int) -> pa.RecordBatch:
    """Return the result rows with due times widened by this error. Due times are the driver's."""
    if not error_us:
        return batch
    for name, change in (("due_low_us", -error_us), ("due_high_us", error_us)):
        at = batch.schema.get_field_index(name)
        batch = batch.set_column(at, batch.schema.field(at), pc.add(batch.column(at), change))
    return batch
