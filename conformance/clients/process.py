"""A client's program while it runs: the plan goes in, pauses and the report come out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, ClassVar, Self

_ROOT = Path(__file__).resolve().parents[2]
PAUSED = "paused"


class Broken(Exception):
    """The program did not give a report; the message says what it did instead."""


class ClientProcess:
    """A program that runs during the `with` block and is given its plan at once. It is killed at the end of the block,
    or after `limit_s`. Every method raises Broken if the program has ended or says something else."""

    popen: ClassVar[Callable[..., subprocess.Popen[str]]] = subprocess.Popen

    def __init__(self, command: Sequence[str], folder: Path, plan: Mapping[str, Any], limit_s: float) -> None:
        self._command = command
        self._folder = folder
        self._plan = plan
        self._limit_s = limit_s
        self._stack = ExitStack()
        self._killed_late = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._errors: IO[str] = stack.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
            self._process = self.popen(
                self._command,
                cwd=self._folder,
                env=os.environ | {"PYTHONPATH": str(_ROOT)},  # the Python programs are modules of this package
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
            stack.callback(self._end)
            timer = threading.Timer(self._limit_s, self._kill_late)
            timer.daemon = True
            timer.start()
            stack.callback(timer.cancel)
            self._tell(json.dumps(self._plan))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def await_pause(self) -> bool:
        """True once the program says that it waits."""
        line = self._line()
        if line != PAUSED:
            raise Broken(f"instead of pausing it said {line[:200]!r}")
        return True

    def go_on(self) -> None:
        self._tell("")

    def say(self, line: Mapping[str, Any]) -> None:
        """A line of JSON to the program."""
        self._tell(json.dumps(line))

    def hear(self) -> dict[str, Any]:
        """The next line of JSON from the program."""
        line = self._line()
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError) as error:
            raise Broken(f"instead of JSON it said {line[:200]!r}") from error

    def pause(self) -> None:
        """Stop the process for a while, as a garbage collector or a busy machine does."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the program at once: it has no time to close its connections."""
        self._process.kill()
        self._process.wait()

    def report(self) -> dict[str, Any]:
        """Return what the program prints at its end: its `version`, and the `jobs`."""
        line = self._line()
        try:
            printed = json.loads(line)
            return {"version": str(printed["version"]), "jobs": list(printed["jobs"])}
        except (ValueError, LookupError, TypeError) as error:
            raise Broken(f"instead of its report it said {line[:200]!r}") from error

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Broken(self._ending()) from error

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Broken(self._ending())
        return line.rstrip("\n")

    def _ending(self) -> str:
        status = self._process.wait()
        ending = f"it was killed after {self._limit_s:g} s" if self._killed_late else f"it ended with status {status}"
        self._errors.seek(0)
        said = [line for line in self._errors.read().splitlines() if line.strip()]
        return ": ".join([ending, *said[-1:]])

    def _kill_late(self) -> None:
        self._killed_late = True
        self._process.kill()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
