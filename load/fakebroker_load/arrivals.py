"""The times at which requests of an open model arrive. No response changes them.

Theory   In a closed loop the next request waits for a response. A slow broker then gets fewer requests, and looks
         better than it is (coordinated omission). Here the times follow from the scenario and the seed alone. Request i
         of a group goes to connection i modulo the number of connections. Poisson arrivals differ: each connection has
         its own process, and the sum of independent Poisson processes is one.
Units    rate is requests a second of the whole group; times are microseconds after the start of the run.
Errors   ValueError: the problem, as the end of a sentence that begins with the group's name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

MAX_RATE = 1_000_000
MAX_TRACE = 1_000_000
_NEEDED = {
    "constant": {"rate"},
    "poisson": {"rate"},
    "bursts": {"burst", "every_ms"},
    "steps": {"steps"},
    "trace": {"file"},
}


@dataclass(frozen=True, slots=True)
class Arrivals:
    process: str  # constant, poisson, bursts, steps or trace
    rate: float = 0.0
    burst: int = 0  # requests in one burst
    every_ms: int = 0  # time between two bursts
    steps: tuple[tuple[float, float], ...] = ()  # (seconds, rate) of each step; the last rate continues
    file: str = ""  # path of a trace; each line has the time of a request, in ms after the start

    def times_us(self, number: int, connections: int, draw: random.Random, trace: list[int]) -> Iterator[int]:
        """Return the rising times of connection `number` of `connections`. Only those of a trace end."""
        if self.process == "poisson":
            return _poisson(self.rate / connections, draw)
        if self.process == "trace":
            return iter(trace)
        return map(self._at(), count(number, connections))

    def _at(self) -> Callable[[int], int]:
        if self.process == "constant":
            return lambda index: int(index * 1e6 / self.rate)
        if self.process == "bursts":
            return lambda index: index // self.burst * self.every_ms * 1000
        return self._in_steps

    def _in_steps(self, index: int) -> int:
        start_s, so_far = 0.0, 0.0
        for lasts_s, rate in self.steps[:-1]:
            if index < so_far + lasts_s * rate:
                return int((start_s + (index - so_far) / rate) * 1e6)
            start_s, so_far = start_s + lasts_s, so_far + lasts_s * rate
        return int((start_s + (index - so_far) / self.steps[-1][1]) * 1e6)


def _poisson(rate: float, draw: random.Random) -> Iterator[int]:
    at_s = 0.0
    while True:
        at_s += draw.expovariate(rate)
        yield int(at_s * 1e6)


def parse_arrivals(data: object) -> Arrivals:
    """Return the arrivals of a group from its scenario file: a mapping with `process` and the options of that
    process."""
    if not isinstance(data, Mapping) or data.get("process") not in _NEEDED:
        raise ValueError(f"has arrivals without a process that is known: {', '.join(_NEEDED)}")
    process = str(data["process"])
    given, needed = set(map(str, data)) - {"process"}, _NEEDED[process]
    if given != needed:
        raise ValueError(f"has arrivals of the process {process}, which takes {' and '.join(sorted(needed))}")
    values: dict[str, Any] = dict(data)
    if "steps" in needed:
        values["steps"] = _steps(data["steps"])
    elif process in ("constant", "poisson"):
        if not _is_number(data["rate"]) or not 0 < data["rate"] <= MAX_RATE:
            raise ValueError(f"has arrivals at a rate of {data['rate']!r}; it is a number up to {MAX_RATE:,}")
    elif process == "bursts":
        if not all(type(data[name]) is int and data[name] > 0 for name in needed):
            raise ValueError("has arrivals in bursts; burst and every_ms are whole numbers above 0")
    elif not isinstance(data["file"], str):
        raise ValueError("has arrivals from a trace; file is a path")
    return Arrivals(**values)


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _steps(value: object) -> tuple[tuple[float, float], ...]:
    steps = [tuple(step) for step in value if isinstance(step, list)] if isinstance(value, list) else []
    good = [step for step in steps if len(step) == 2 and all(_is_number(part) and part > 0 for part in step)]
    if not good or not isinstance(value, list) or len(good) != len(value) or any(rate > MAX_RATE for _, rate in good):
        raise ValueError("has arrivals in steps; steps is a list of [seconds, rate], each above 0")
    return tuple((float(lasts_s), float(rate)) for lasts_s, rate in good)


def read_trace(path: str, needed: int) -> list[int]:
    """Return the first `needed` times of a trace, in microseconds."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split()
        times = [int(float(line) * 1000) for line in lines[: min(needed, MAX_TRACE)]]
    except OSError as error:
        raise ValueError(f"has arrivals from the trace file {path!r}, which cannot be read: {error.strerror}") from None
    except (ValueError, OverflowError):
        raise ValueError(f"has arrivals from the trace {path!r}, which is not one number in each line") from None
    if len(times) < needed:
        raise ValueError(f"sends {needed:,} requests, and its trace {path!r} has {len(times):,} times of them")
    if times != sorted(times) or times[0] < 0:
        raise ValueError(f"has arrivals from the trace {path!r}, whose times do not rise from 0 on")
    return times
