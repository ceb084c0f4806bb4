"""One measurement of `benchmarks wheel`, in a process of its own: LIBRARY WORKLOAD PENDING OPS; prints a line of JSON.

Every library does the same work at the same real times. One operation is: the timer of one request is cancelled, and
the timer of the next one is set. In the workload `expire` it is: a timer is set, and it expires.

Time is CPU time of the thread: what others do on the machine does not count, and neither does waiting. A pause is a
turn: 100 operations and whatever the library does after them; or all that happens within a millisecond of expiring.
The garbage collector is off, for every library: with a million objects its own pauses would hide all others.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import itertools
import json
import random
import sys
import time
import tracemalloc
from array import array
from collections.abc import Callable, Sequence
from typing import Any

CHUNK = 100
LIMIT = 1_000  # tasks an advance may run; the default of AsyncioTimer
TIMEOUTS = 4_096  # a power of two: the n-th operation takes timeout n & (TIMEOUTS - 1)
EXPIRE_S_PER_TIMER = 4e-6  # how long the expiring timers are spread over: a load that every library can keep up with
MEMORY_SAMPLE = 50_000


def timeouts_ms(short_every: int) -> list[int]:
    """Request timeouts from 10 to 60 s, as clients have them; one in `short_every` is so short that it expires."""
    chance = random.Random(1)
    last = short_every - 1
    return [chance.randint(*((1, 20) if n % short_every == last else (10_000, 60_000))) for n in range(TIMEOUTS)]


def victims(workload: str, pending: int, ops: int) -> array[int]:
    """Return the order in which requests get their responses.

    cancel         The oldest: a follower's fetch completes the acks=all requests of a partition in their order.
    cancel-random  Any: every access misses the caches of the processor, whatever the library does.
    """
    if workload == "cancel-random":
        chance = random.Random(2)
        return array("I", (chance.randrange(pending) for _ in range(ops)))
    return (array("I", range(pending)) * (ops // pending + 1))[:ops]


class Meter:
    """CPU time in all, and of the longest turn."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.start = self.before = time.thread_time()

    def turn(self) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self.before)
        self.before = now

    def result(self, ops: int) -> dict[str, float]:
        return {"ns_per_op": (self.before - self.start) / ops * 1e9, "max_pause_ms": self.longest * 1e3}


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000


# The wheel. The task is the request itself, as a DelayedProduce is: setting its timer makes no other object.


def wheel_cancel(pending: int, order: Sequence[int], delays: list[int]) -> dict[str, float]:
    from timingwheel import SystemTimer, TimerTask

    class Request(TimerTask):
        __slots__ = ()

        def run(self) -> None:
            expired.append(1)

    expired: list[int] = []
    timer = SystemTimer(now_ms())
    requests = [Request(delays[n & (TIMEOUTS - 1)] + 10_000) for n in range(pending)]
    for request in requests:
        timer.add(request, now_ms())
    add, mask = timer.add, TIMEOUTS - 1
    meter = Meter()
    for start in range(0, len(order), CHUNK):
        now = now_ms()
        for n, victim in enumerate(order[start : start + CHUNK], start):
            request = requests[victim]
            request.cancel()
            request.delay_ms = delays[n & mask]
            add(request, now)
        timer.advance_clock(now, LIMIT)
        meter.turn()
    return meter.result(len(order)) | {"expired": len(expired)}


def wheel_expire(pending: int, rounds: int, spread_ms: int) -> dict[str, float]:
    from timingwheel import SystemTimer, TimerTask

    class Request(TimerTask):
        __slots__ = ()

        def run(self) -> None:
            expired.append(1)

    expired: list[int] = []
    chance = random.Random(3)
    timer = SystemTimer(now_ms())
    requests = [Request(chance.randrange(spread_ms)) for _ in range(pending)]
    meter = Meter()
    for _ in range(rounds):
        for start in range(0, pending, CHUNK):
            now = now_ms()
            for request in requests[start : start + CHUNK]:
                timer.add(request, now)
            timer.advance_clock(now, LIMIT)
            meter.turn()
        while timer.size:
            timer.advance_clock(now_ms(), LIMIT)
            meter.turn()
            deadline_ms = timer.next_deadline_ms()
            if deadline_ms is not None and deadline_ms > now_ms():
                time.sleep(0.001)
    return meter.result(pending * rounds) | {"expired": len(expired)}


# Event loops, and our driver on one of them: all have call_later.


def loop_run(library: str, work: Callable[[Callable[..., Any]], Any]) -> dict[str, float]:
    if library == "uvloop":
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    else:
        loop = asyncio.SelectorEventLoop()
    call_later: Callable[..., Any] = loop.call_later
    if library == "timingwheel-call-later":
        from timingwheel.asyncio_driver import AsyncioTimer

        call_later = AsyncioTimer(loop, limit=LIMIT).call_later
    try:
        result: dict[str, float] = loop.run_until_complete(work(call_later))
    finally:
        loop.close()
    return result


def loop_cancel(library: str, pending: int, order: Sequence[int], delays: list[int]) -> dict[str, float]:
    async def work(call_later: Callable[..., Any]) -> dict[str, float]:
        seconds = [delay / 1000 for delay in delays]
        expired: list[int] = []
        callback, mask = expired.append, TIMEOUTS - 1
        handles = [call_later(seconds[n & mask] + 10, callback, 1) for n in range(pending)]
        await asyncio.sleep(0)
        meter = Meter()
        for start in range(0, len(order), CHUNK):
            for n, victim in enumerate(order[start : start + CHUNK], start):
                handles[victim].cancel()
                handles[victim] = call_later(seconds[n & mask], callback, 1)
            await asyncio.sleep(0)
            meter.turn()
        return meter.result(len(order)) | {"expired": len(expired)}

    return loop_run(library, work)


def loop_expire(library: str, pending: int, rounds: int, spread_ms: int) -> dict[str, float]:
    async def work(call_later: Callable[..., Any]) -> dict[str, float]:
        chance = random.Random(3)
        seconds = [chance.randrange(spread_ms) / 1000 for _ in range(pending)]
        expired: list[int] = []
        meter = Meter()
        for done in range(pending, pending * rounds + 1, pending):
            for start in range(0, pending, CHUNK):
                for delay in seconds[start : start + CHUNK]:
                    call_later(delay, expired.append, 1)
                await asyncio.sleep(0)
                meter.turn()
            while len(expired) < done:
                await asyncio.sleep(0.001)
                meter.turn()
        return meter.result(pending * rounds) | {"expired": len(expired)}

    return loop_run(library, work)


# heapq with lazy deletion: cancelled entries stay until they come up, or until they are the greater half.


class HeapTimer:
    def __init__(self) -> None:
        self.heap: list[list[Any]] = []
        self.cancelled = 0
        self.sequence = itertools.count()

    def add(self, deadline_ms: int, callback: Callable[[int], None]) -> list[Any]:
        entry = [deadline_ms, next(self.sequence), callback]
        heapq.heappush(self.heap, entry)
        return entry

    def cancel(self, entry: list[Any]) -> None:
        if entry[2] is not None:
            entry[2] = None
            self.cancelled += 1

    def advance(self, now: int) -> None:
        if self.cancelled > 100 and self.cancelled * 2 > len(self.heap):
            self.heap = [entry for entry in self.heap if entry[2] is not None]
            heapq.heapify(self.heap)
            self.cancelled = 0
        while self.heap and self.heap[0][0] <= now:
            entry = heapq.heappop(self.heap)
            if entry[2] is None:
                self.cancelled -= 1
            else:
                callback, entry[2] = entry[2], None
                callback(1)


def heap_cancel(pending: int, order: Sequence[int], delays: list[int]) -> dict[str, float]:
    expired: list[int] = []
    timer, mask = HeapTimer(), TIMEOUTS - 1
    entries = [timer.add(now_ms() + delays[n & mask] + 10_000, expired.append) for n in range(pending)]
    meter = Meter()
    for start in range(0, len(order), CHUNK):
        now = now_ms()
        for n, victim in enumerate(order[start : start + CHUNK], start):
            timer.cancel(entries[victim])
            entries[victim] = timer.add(now + delays[n & mask], expired.append)
        timer.advance(now)
        meter.turn()
    return meter.result(len(order)) | {"expired": len(expired)}


def heap_expire(pending: int, rounds: int, spread_ms: int) -> dict[str, float]:
    chance = random.Random(3)
    delays = [chance.randrange(spread_ms) for _ in range(pending)]
    expired: list[int] = []
    timer = HeapTimer()
    meter = Meter()
    for _ in range(rounds):
        for start in range(0, pending, CHUNK):
            now = now_ms()
            for delay in delays[start : start + CHUNK]:
                timer.add(now + delay, expired.append)
            timer.advance(now)
            meter.turn()
        while timer.heap:
            timer.advance(now_ms())
            meter.turn()
            time.sleep(0.001)
    return meter.result(pending * rounds) | {"expired": len(expired)}


def measure(library: str, workload: str, pending: int, ops: int) -> dict[str, float]:
    wheel = library in {"timingwheel", "timingwheel-compiled"}
    if workload == "expire":
        arguments = (pending, max(1, ops // pending), max(4, int(pending * EXPIRE_S_PER_TIMER * 1000)))
        if wheel:
            return wheel_expire(*arguments)
        return heap_expire(*arguments) if library == "heapq" else loop_expire(library, *arguments)
    order, delays = victims(workload, pending, ops), timeouts_ms(short_every=100)
    if wheel:
        return wheel_cancel(pending, order, delays)
    return heap_cancel(pending, order, delays) if library == "heapq" else loop_cancel(library, pending, order, delays)


def bytes_per_timer(library: str, pending: int) -> float:
    """Return what the interpreter allocates for a pending timer. It includes the request that owns the timer if both
    are one object."""
    count = min(pending, MEMORY_SAMPLE)
    delays = timeouts_ms(short_every=TIMEOUTS + 1)
    seconds = [delay / 1000 for delay in delays]
    places: list[Any] = [None] * count
    mask = TIMEOUTS - 1

    def fill(make: Callable[[int], Any]) -> float:
        before = tracemalloc.get_traced_memory()[0]
        for n in range(count):
            places[n] = make(n)
        return (tracemalloc.get_traced_memory()[0] - before) / count

    async def work(call_later: Callable[..., Any]) -> dict[str, float]:
        call_later(100, bool, 1).cancel()
        return {"bytes": fill(lambda n: call_later(seconds[n & mask], bool, 1))}

    tracemalloc.start()
    if library in {"timingwheel", "timingwheel-compiled"}:
        from timingwheel import SystemTimer, TimerTask

        timer = SystemTimer(0)
        request = type("Request", (TimerTask,), {"__slots__": ()})

        def make(n: int) -> TimerTask:
            task: TimerTask = request(delays[n & mask])
            timer.add(task, 1_000_000 + n)
            return task

        make(0).cancel()
        return fill(make)
    if library == "heapq":
        heap = HeapTimer()
        return fill(lambda n: heap.add(1_000_000 + n + delays[n & mask], print))
    return loop_run(library, work)["bytes"]


def check_build(library: str) -> None:
    """A row says that it is of the compiled wheel, or of the plain one: so it is."""
    import timingwheel.wheel

    compiled = not str(timingwheel.wheel.__file__).endswith(".py")
    if compiled != (library == "timingwheel-compiled"):
        raise SystemExit(f"{library}: {timingwheel.wheel.__file__} is {'compiled' if compiled else 'plain Python'}")


def main(library: str, workload: str, pending: int, ops: int) -> None:
    if library.startswith("timingwheel"):
        check_build(library)
    gc.disable()
    if workload == "memory":
        print(json.dumps({"bytes_per_timer": bytes_per_timer(library, pending)}))
    else:
        print(json.dumps(measure(library, workload, pending, ops)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
