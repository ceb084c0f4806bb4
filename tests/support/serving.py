"""`fakebroker serve` as a process of its own, as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fakebroker.protocol.produce_response import NodeEndpoint
from support.cpu_time import ProcessTimes
from support.forked import shared
from support.watchdog import LIMIT_S, wait_until

COMMAND = [sys.executable, "-c", "from fakebroker.cli import main; main()"]


def fakebroker(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that ends by itself, in a new process: it may not find what is not installed."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=LIMIT_S, check=False)


class Serving:
    """A running `serve`: its facts from the ready file, its process, and what it wrote in the end. Its stdout and
    stderr are pipes unless given. `prelude` is Python that runs before the command. With it, or without `is_forked`, it
    is a new process, as that of a user. Others are forked from one that has imported the command."""

    def __init__(
        self,
        *arguments: str,
        stdin: int | None = None,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        prelude: str = "",
        is_forked: bool = True,
    ) -> None:
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._prelude = prelude
        self._is_forked = is_forked and not prelude
        self._folder = tempfile.TemporaryDirectory()
        self._scratch = tempfile.TemporaryDirectory()  # a server that is killed leaves its temporary files there
        self._ready_file = Path(self._folder.name) / "ready.json"
        self.arguments: Sequence[str] = ["serve", *arguments, "--ready-file", str(self._ready_file)]
        self.process: subprocess.Popen[str]
        self.facts: dict[str, Any] = {}

    def __enter__(self) -> Self:
        options: dict[str, Any] = {"stdin": self._stdin, "stdout": self._stdout, "stderr": self._stderr}
        options["env"] = {**os.environ, "TMPDIR": self._scratch.name}
        if self._is_forked:
            self.process = shared().start(*COMMAND[1:], *self.arguments, **options)
        else:
            command = [*COMMAND[:-1], f"{self._prelude}\n{COMMAND[-1]}", *self.arguments]
            self.process = subprocess.Popen(command, text=True, **options)
        try:
            wait_until(lambda: self._ready_file.exists() or self.process.poll() is not None, "the ready file")
            assert self.process.poll() is None, self.process.communicate()
        except BaseException:
            self._end()
            raise
        self.facts = json.loads(self._ready_file.read_text())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def endpoint(self, broker_id: int) -> NodeEndpoint:
        broker = next(broker for broker in self.facts["brokers"] if broker["id"] == broker_id)
        return NodeEndpoint(broker["id"], broker["host"], broker["port"])

    def stop(self, number: signal.Signals) -> tuple[int, str, str]:
        """Send a signal and wait: (exit status, stdout, stderr)."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, err

    def end(self, number: signal.Signals = signal.SIGTERM) -> ProcessTimes:
        """Send a signal and wait for the end of the process: return what it did until then.

        Nothing is read from it. Its status is in `process.returncode`.
        """
        times = ProcessTimes(self.process.pid)
        self.process.send_signal(number)

        def has_ended() -> bool:
            times.look()
            return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

        wait_until(has_ended, f"the end of the process after {number.name}")
        times.look()
        self.process.wait()
        return times

    def files(self) -> list[str]:
        """Return the files in the folder of the ready file."""
        return sorted(path.name for path in Path(self._folder.name).iterdir())

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        with self.process:
            pass
        self._folder.cleanup()
        self._scratch.cleanup()
