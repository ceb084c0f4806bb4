"""The neighbours and the prober, processes of their own (`drivers/crowd.c` says what each does)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.drivers.driver import Address, DriverError
from benchmarks.drivers.frames import frame_file
from benchmarks.machine.programs import crowd_program

UNLIMITED, UNANSWERED = 0, -1  # windows: as much as the socket takes; there are no answers
_START_LIMIT_S = 30.0


@dataclass(frozen=True)
class Neighbours:
    """Neighbours that send the same frame again and again, with `window` requests in flight."""

    name: str
    frame: bytes
    window: int = UNLIMITED
    error_at: int = 0


@dataclass(frozen=True)
class Probe:
    """One request every so often, and when its answer is due."""

    name: str
    frame: bytes
    timeout_ms: int = 0
    error_at: int = 0
    error: int = 0
    connections: int = 256


class Program:
    """A process that talks by lines."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [str(crowd_program()), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self.line() != "connected":
            raise DriverError(self.ended())

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self) -> None:
        """Tell the process to do its next step: begin, or report the result."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise DriverError(self.ended()) from None

    def result(self) -> dict[str, Any]:
        line = self.line()
        if not line:
            raise DriverError(self.ended())
        parsed: dict[str, Any] = json.loads(line)
        return parsed

    def ended(self) -> str:
        _, said = self.process.communicate(timeout=_START_LIMIT_S)
        return (said.strip() or f"exit status {self.process.returncode}").splitlines()[-1]

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def flood(address: Address, neighbours: Neighbours, connections: int) -> Iterator[Program]:
    """Connected, and silent until told to begin; gone at the end of the block."""
    with frame_file([neighbours.frame]) as path:
        numbers = [neighbours.window, connections, neighbours.error_at]
        program = Program(["flood", *map(str, numbers), address[0], str(address[1]), str(path)])
        try:
            yield program
        finally:
            program.close()


@contextmanager
def prober(probes: Sequence[tuple[Address, Probe]], run_ms: int, period_us: int, patience_ms: int) -> Iterator[Program]:
    """Connected, and silent until told to begin."""
    with ExitStack() as stack:
        texts = []
        for address, probe in probes:
            path = stack.enter_context(frame_file([probe.frame]))
            numbers = [probe.connections, probe.timeout_ms, probe.error_at, probe.error]
            texts.append(",".join([probe.name, address[0], str(address[1]), *map(str, numbers), str(path)]))
        program = Program(["probe", str(run_ms), str(period_us), str(patience_ms), *texts])
        try:
            yield program
        finally:
            program.close()
