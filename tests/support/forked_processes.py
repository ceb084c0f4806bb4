"""Processes that live beside a test and do not pay for their imports: half a second of CPU time for `fakebroker serve`.

Shape    A process imports what the programs need, and forks twice for each of them: the process between the two ends at
         once. Meanwhile this process adopts orphans (prctl(2), PR_SET_CHILD_SUBREAPER), so the program becomes its own
         child, and `subprocess` can wait for it. `support.forked` is for programs that are run to their end.
Limits   Only Linux adopts orphans. Elsewhere, and where no fixture asks for forks, a process starts as usual.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_REQUEST_BYTES = 1 << 20
_END_LIMIT_S = 60
ADOPTS_ORPHANS = sys.platform == "linux"


class LivingForks:
    """A process that forks. `preload` is Python that it runs first."""

    def __init__(self, preload: str) -> None:
        self._preload = preload

    def __enter__(self) -> Self:
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, self._preload, str(other.fileno())],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                pass_fds=[other.fileno()],
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()  # which ends it
        with self._process as process:
            process.wait(_END_LIMIT_S)

    def fork(
        self, words: Sequence[str], streams: Sequence[int], cwd: Path | None, env: Mapping[str, str] | None
    ) -> int:
        """Return the id of a child process that runs as `python WORDS` does. The first word is -c or -m. `streams`: its
        stdin, stdout and stderr; -1 is that of the process that forks. A folder or an environment of None is that of
        this process. Python itself does not read the environment again."""
        given = [number for number, file in enumerate(streams) if file != -1]
        asked = {"words": words, "given": given, "cwd": str(cwd or Path.cwd()), "env": dict(env or os.environ)}
        adopt_orphans(True)
        try:
            socket.send_fds(self._connection, [json.dumps(asked).encode()], [streams[number] for number in given])
            answer = self._connection.recv(_REQUEST_BYTES)
        finally:
            adopt_orphans(False)
        assert answer, "the process that forks has ended"
        return int(answer)


class ForkedProcess(subprocess.Popen[str]):
    """A process that was forked, with the words of a command from -c or -m on. `subprocess` makes the pipes, waits and
    reads."""

    def __init__(self, forks: LivingForks, command: Sequence[str], **options: Any) -> None:
        self._forks = forks
        first = next(number for number, word in enumerate(command) if word in ("-c", "-m"))
        super().__init__(list(command[first:]), **{"text": True, **options})

    def _execute_child(self, *given: Any) -> None:
        words, cwd, env = given[0], given[5], given[6]
        pipes = given[10:16]  # of stdin, stdout and stderr: for each, what is read and what is written
        self.pid = self._forks.fork(words, [pipes[0], pipes[3], pipes[5]], cwd, env)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def adopt_orphans(is_wanted: bool) -> None:
    assert ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(is_wanted), 0, 0, 0) == 0


def serve(connection: socket.socket) -> None:
    """Fork for each request. Returns in the fork, to be that process, and when the other end of the connection is
    closed."""
    while True:
        message, files, _, _ = socket.recv_fds(connection, _REQUEST_BYTES, 3)
        if not message:
            return
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            own = os.getpid()
            pid = os.fork()
            if pid == 0:
                while os.getppid() == own:  # it ends at once
                    os.sched_yield()
                for file in (reading, writing):
                    os.close(file)
                become(json.loads(message), files, connection)
                return
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)  # from now on the program is the child of the process that asked
        connection.send(os.read(reading, 100))
        for file in (reading, writing, *files):
            os.close(file)


def become(asked: dict[str, Any], files: Sequence[int], connection: socket.socket) -> None:
    connection.close()
    for number, file in zip(asked["given"], files, strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    gc.enable()
    first, code, *arguments = asked["words"]
    if first == "-m":
        sys.argv = [code, *arguments]
        runpy.run_module(code, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [first, *arguments]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(code, vars(main))


if __name__ == "__main__":
    gc.disable()  # modules leave no garbage
    exec(sys.argv[1], {})
    with socket.socket(fileno=int(sys.argv[2])) as asking:
        serve(asking)
