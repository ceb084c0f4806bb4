"""Programs in processes of their own that do not pay for their imports.

A process imports what the programs need and forks for each of them. A program runs as with `python FILE ARGUMENTS` or
`python -m MODULE ARGUMENTS`: it has its own `__main__`, folder, environment, streams and exit status.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

_PROGRAM_LIMIT_S = 300
_END_LIMIT_S = 60


class Forks:
    """A process that forks for each program. `preload` is Python that it runs first. A program that hangs is killed
    after the limit."""

    def __init__(self, preload: str, limit_s: int = _PROGRAM_LIMIT_S) -> None:
        self._preload = preload
        self._limit_s = limit_s

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, self._preload, str(self._limit_s)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()  # which ends it
            try:
                process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise

    def run(
        self, *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, prelude: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program: a file or `-m` and a module, then its arguments. `prelude` is Python that it runs first."""
        asked = {"words": list(map(str, words)), "cwd": str(cwd), "env": {**(env or {})}, "prelude": prelude}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            self._process.stdin.write(json.dumps({**asked, "out": str(out), "err": str(err)}) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
            assert answer, "the process that forks has ended"
            return subprocess.CompletedProcess(words, int(answer), out.read_text(), err.read_text())


def serve(preload: str, limit_s: int) -> None:
    """Fork for each line of stdin and write the exit status of the program to stdout. In a fork: be that program. The
    limit is kept by this process, since a program may use the alarm itself."""
    exec(preload, {})
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            become(json.loads(line))
        signal.signal(signal.SIGALRM, lambda *_, pid=pid: os.kill(pid, signal.SIGKILL))
        signal.alarm(limit_s)
        status = os.waitpid(pid, 0)[1]
        signal.alarm(0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become(asked: dict[str, Any]) -> None:
    """Run the program and end this process, as Python does at the end of a program."""
    writing = os.O_WRONLY | os.O_CREAT
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, asked["out"], writing), (2, asked["err"], writing)):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    try:
        exec(asked["prelude"], {})
        first, *arguments = asked["words"]
        if first == "-m":
            sys.path.insert(0, asked["cwd"])
            sys.argv = arguments
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(first).parent))
            sys.argv = [first, *arguments]
            main = sys.modules["__main__"] = ModuleType("__main__")
            main.__file__ = first
            exec(compile(Path(first).read_bytes(), first, "exec"), vars(main))
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
