"""Programs consume, transform and produce under the same transactional id, one after the other, and die at a point. In
the end all inputs have had their effect once.

Theory   A program reports the input that it has consumed, and waits for a command. So the harness knows the input in
         progress when the program dies, and whether the next one may get it again. Each input is written to both
         partitions of `out`, so that a torn transaction shows. Members are static, so that no rebalance waits for the
         session of a dead one. A program that is silent for long is killed, like by a supervisor. The client librdkafka
         2.16 waits forever for a coordinator that Metadata omitted for a moment while it was down, on Kafka too.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.clients.exactly_once.committed import read_values
from conformance.clients.exactly_once.points import Point
from conformance.clients.exactly_once.proxy import INIT_PRODUCER_ID, Proxy, Strike
from conformance.clients.process import Broken, ClientProcess
from conformance.clients.wire import Wire

IN_PARTITIONS, OUT_PARTITIONS = 1, 2
_LIMIT_S = 180.0
SILENT_S = 5.0
_STARTS = 5  # of a program until an input is done, when brokers go
_BACKOFF_S = 1.0  # more each time, as a supervisor waits


@dataclass
class Outcome:
    """The outcome of one input.

    met        the client has this step, or sent this request: it came to what the point says
    consumed   how many programs consumed it, except those that aborted it and continued
    seen       in each partition of `out`: how often read_committed sees it
    written    the same for read_uncommitted
    errors     errors of programs, by the client's names
    took_s     until it was done, if brokers went
    """

    name: str
    point: Point | None = None
    met: bool = True
    consumed: int = 0
    seen: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def is_right(self) -> bool:
        """Return True if its effect is there once, and no program repeated a completed input."""
        once = self.seen == [1] * OUT_PARTITIONS
        if self.point is None:
            return once
        again = self.met and not self.point.is_done and not self.point.at_start
        return once and self.consumed == (2 if again else 1)


class Chain:
    """Programs of one client on the topics `in` and `out`, behind a proxy. Use in its `with` block.

    A program that is silent for `silent_s` during `strike` is killed, and none lives longer than `limit_s`.
    """

    def __init__(
        self,
        command: tuple[Sequence[str], Path],
        proxy: Proxy,
        name: str,
        silent_s: float = SILENT_S,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._command = command
        self._proxy = proxy
        self._silent_s, self._limit_s = silent_s, limit_s
        self.name = name
        self.inputs, self.outputs = f"{name}-in", f"{name}-out"
        self.transactional_id = f"{name}-id"
        # Those that must be there, with their partitions; records have old timestamps, so nothing may be too old.
        self.topics = {self.inputs: IN_PARTITIONS, self.outputs: OUT_PARTITIONS}
        self._consumed: Counter[str] = Counter()
        self._errors: dict[str, list[str]] = {}
        self._program: ClientProcess | None = None

    def crash(self, points: Sequence[Point]) -> list[Outcome]:
        """A program dies at each; the last one gets to the end. Raises Broken if one does something else."""
        outcomes = []
        for number, point in enumerate(points):
            outcome = Outcome(f"{number} {point.name}", point)
            self._feed(outcome.name)
            outcome.met = self._die(point, outcome.name)
            outcomes.append(outcome)
        self._feed("the last")
        self._go_on_to("the last", lambda: None)
        self._close()
        return self._read([*outcomes, Outcome("the last")])

    def strike(self, points: Iterable[tuple[Point, str, Callable[[], object]]]) -> list[Outcome]:
        """Act on the brokers at each point, as its name says. The program lives on, or another one replaces it if it
        fails. The next point is requested when the previous input is done."""
        outcomes = []
        for number, (point, what, do) in enumerate(points):
            outcome = Outcome(f"{number} {point.name}: {what}")
            self._feed(outcome.name)
            began_s = time.monotonic()
            strike = Strike(point.api_key if point.api_key is not None else -1, point.is_after, do, cut=False)
            self._go_on_to(outcome.name, lambda strike=strike: self._proxy.arm(strike), aborts=point.aborts)  # type: ignore[misc]
            self._proxy.disarm()
            if strike.begun.is_set():  # by another broker the program may be done before the one that stopped is back
                strike.over.wait(self._limit_s)
            outcome.met, outcome.took_s = strike.over.is_set(), time.monotonic() - began_s
            outcomes.append(outcome)
        self._close()
        return self._read(outcomes)

    def _feed(self, value: str) -> None:
        with Wire(self._proxy.bootstrap_servers) as wire:
            wire.produce(self.inputs, {0: [value]})

    def _start(self, die: str | None = None) -> ClientProcess:
        settings = {
            "group": f"{self.name}-group",
            "instance": "one",
            "id": self.transactional_id,
            "in": self.inputs,
            "out": self.outputs,
            "die": die,
        }
        command, folder = self._command
        plan = {"bootstrap": self._proxy.bootstrap_servers, "processor": settings}
        return ClientProcess(list(command), folder, plan, self._limit_s)

    def _die(self, point: Point, value: str) -> bool:
        """Return True if it died: a client need not have each step, nor send each request."""
        with self._start(point.step if point.at_start else None) as program:
            if point.api_key == INIT_PRODUCER_ID:
                self._proxy.arm(Strike(INIT_PRODUCER_ID, point.is_after, program.kill))
            if point.at_start:
                return self._ended(program, "")
            while (consumed := self._consume(program)) != value:
                self._commit(program, consumed)
            if point.api_key is not None:
                self._proxy.arm(Strike(point.api_key, point.is_after, program.kill))
            self._do(program, "abort" if point.aborts else "commit", point.step)
            is_dead = self._ended(program, value)
            self._proxy.disarm()
            return is_dead

    def _ended(self, program: ClientProcess, value: str) -> bool:
        """False if it goes on beyond its point."""
        while True:
            try:
                message = program.hear()
            except Broken as how:
                if "status -9" in str(how) or "status 9" in str(how):
                    return True
                raise
            if "error" in message:
                raise Broken(f"{value}: {message['error']}")
            if "done" in message or "consumed" in message:
                return False
            if "aborted" in message:
                self._consumed[value] -= 1

    def _go_on_to(self, value: str, then: Callable[[], object], *, aborts: bool = False) -> None:
        """Continue until this input is done; `then` is called when it is in progress."""
        for number in range(_STARTS):
            time.sleep(number * _BACKOFF_S)
            if self._program is None:
                self._program = self._start()
                self._program.__enter__()
            try:
                while (consumed := self._consume(self._program)) != value:
                    self._commit(self._program, consumed)
                then()
                self._commit(self._program, value, aborts=aborts)
                return
            except _Told as error:
                self._errors.setdefault(value, []).append(str(error))
                self._close()
            then, aborts = lambda: None, False
        raise Broken(f"{value!r}: {_STARTS} programs gave up: {self._errors[value]}")

    def _close(self) -> None:
        if self._program is not None:
            self._program.__exit__(None, None, None)
            self._program = None

    def _consume(self, program: ClientProcess) -> str:
        message = self._hear(program)
        if "consumed" not in message:
            raise Broken(f"instead of what it consumed it told {message}")
        self._consumed[message["consumed"]] += 1
        return str(message["consumed"])

    def _commit(self, program: ClientProcess, value: str, *, aborts: bool = False) -> None:
        """Commit the input, or abort it. An aborted input is consumed again, whether the program or the harness aborted
        it."""
        self._do(program, "abort" if aborts else "commit")
        while (message := self._hear(program)) != {"done": value}:
            if message != {"aborted": value}:
                raise Broken(f"instead of ending {value!r} it told {message}")
            self._consumed[value] -= 1
            if (again := self._consume(program)) != value:
                raise Broken(f"instead of {value!r} it consumed {again!r}")
            self._do(program, "commit")

    def _hear(self, program: ClientProcess) -> dict[str, Any]:
        silence = threading.Event()

        def end() -> None:
            silence.set()
            program.kill()

        timer = threading.Timer(self._silent_s, end)
        timer.start()
        try:
            message = program.hear()
        except Broken as how:
            raise (_Told("silence") if silence.is_set() else how) from how
        finally:
            timer.cancel()
        if "error" in message:
            raise _Told(message["error"])
        return message

    def _do(self, program: ClientProcess, what: str, die: str | None = None) -> None:
        program.say({"do": what, "die": die})

    def _read(self, outcomes: list[Outcome]) -> list[Outcome]:
        seen, written = (
            read_values(self._proxy.bootstrap_servers, self.outputs, committed=committed) for committed in (True, False)
        )
        for outcome in outcomes:
            outcome.consumed = self._consumed[outcome.name]
            outcome.seen = [seen[partition].count(outcome.name) for partition in range(OUT_PARTITIONS)]
            outcome.written = [written[partition].count(outcome.name) for partition in range(OUT_PARTITIONS)]
            outcome.errors = self._errors.get(outcome.name, [])
        return outcomes


class _Told(Exception):
    """An error that the program told, before it ended; or that it told nothing."""
