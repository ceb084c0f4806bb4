"""Programs in processes of their own that do not pay for their imports.

A process imports what the programs need and forks for each of them. A program runs as with `python FILE ARGUMENTS`,
`python -m MODULE ARGUMENTS` or `python -c CODE ARGUMENTS`: it has its own `__main__`, folder, environment, streams and
exit status.

Theory   The process that forks does so twice, and the one between ends at once. So the program has no parent, and gets
         the nearest ancestor that takes such processes: for this moment, the process of the tests. It can wait for the
         program as for any child of its own (prctl(2), PR_SET_CHILD_SUBREAPER). Only Linux has that: elsewhere each
         program is a new process.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

ARE_FORKED = sys.platform == "linux"
_PROGRAM_LIMIT_S = 300
_END_LIMIT_S = 60
_PR_SET_CHILD_SUBREAPER = 36
_MESSAGE_BYTES = 1 << 20
# What programs of tests import, a broker by its first request at the control too.
_SHARED = """
import aiokafka, confluent_kafka, hypothesis, kafka, pytest
import fakebroker.cli, fakebroker.commands.serve, fakebroker.serving
import fakebroker.control.app, fakebroker.control.listening
from fakebroker import FakeCluster
from fakebroker.apis import registry
registry.load()
"""


class Forks:
    """A process that forks for each program. `preload` is Python that it runs first. `run` kills a program that
    hangs."""

    def __init__(self, preload: str, limit_s: int = _PROGRAM_LIMIT_S) -> None:
        self._preload = preload
        self._limit_s = limit_s

    def __enter__(self) -> Self:
        self._asking, answering = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._asking, answering):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE_BYTES)
        with answering:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, self._preload, str(answering.fileno())],
                env=_with_our_path(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[answering.fileno()],
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._asking.close()  # which ends it
        with self._process as process:
            try:
                process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def socket_link(self) -> str:
        """Return what /proc shows of the socket to it."""
        return os.readlink(f"/proc/self/fd/{self._asking.fileno()}")

    def run(
        self, *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, prelude: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a program: a file, or `-m` and a module, or `-c` and code, then its arguments. `prelude` is Python that
        it runs first."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            streams = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            with self.start(*words, cwd=cwd, env=env, prelude=prelude, **streams) as process:
                try:
                    process.wait(self._limit_s)
                except subprocess.TimeoutExpired:
                    process.kill()
            for stream in (out, err):
                stream.seek(0)
            return subprocess.CompletedProcess(words, process.returncode, out.read(), err.read())

    def start(
        self,
        *words: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        prelude: str = "",
        **streams: Any,
    ) -> subprocess.Popen[str]:
        """Start a program. `streams` are those of Popen."""
        program = {
            "words": list(map(str, words)),
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "prelude": prelude,
        }
        if ARE_FORKED:
            return _Forked(self, program, **streams)
        command = [sys.executable, "-P", __file__, json.dumps(program)]
        return subprocess.Popen(command, env=_with_our_path(), text=True, **streams)

    def fork(self, asked: Mapping[str, Any], streams: list[int]) -> int:
        """Return the process id of a new child of this process, with these descriptors as its streams."""
        with _adopting():
            socket.send_fds(self._asking, [json.dumps(asked).encode()], streams)
            pid = self._asking.recv(_MESSAGE_BYTES)
            assert pid, "the process that forks has ended"
            assert self._asking.recv(_MESSAGE_BYTES) == b"adopted"
        os.waitid(os.P_PID, int(pid), os.WEXITED | os.WNOHANG | os.WNOWAIT)  # raises if it is another's child
        return int(pid)


class _Forked(subprocess.Popen[str]):
    """A process that is forked where Popen would make a new one."""

    def __init__(self, forks: Forks, asked: dict[str, Any], **streams: Any) -> None:
        self._forks = forks
        self._asked = asked
        super().__init__(asked["words"], text=True, **streams)

    def _execute_child(self, *arguments: Any) -> None:
        ends = arguments[10:16]  # of stdin, stdout and stderr: what the child reads or writes, and what we do
        theirs = ends[0], ends[3], ends[5]
        try:
            streams = [number if end == -1 else end for number, end in enumerate(theirs)]
            self.pid = self._forks.fork(self._asked, streams)
            self._child_created = True
        finally:
            self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


def _with_our_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@contextmanager
def _adopting() -> Iterator[None]:
    """Be the parent of descendants that lose theirs."""
    _prctl(1)
    try:
        yield
    finally:
        _prctl(0)


def _prctl(adopts: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, adopts, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@cache
def shared() -> Forks:
    """Return the one that all tests of a process share. It ends with the process."""
    forks = Forks(_SHARED).__enter__()
    atexit.register(forks.__exit__, None, None, None)
    return forks


def popen(command: Sequence[str], text: bool = True, **options: Any) -> subprocess.Popen[str]:
    """Start a command of this Python with streams of text, as `subprocess.Popen` does, but from the shared one."""
    python, *words = command
    assert (python, text) == (sys.executable, True)
    prelude = ""
    if words[:2] == ["-W", "ignore"]:
        words, prelude = words[2:], "import warnings; warnings.simplefilter('ignore')"
    return shared().start(*words, prelude=prelude, **options)


def of_shared() -> set[object]:
    """Return the process id of the shared one, and the link of the socket to it, if it is there."""
    return {shared().pid, shared().socket_link} if shared.cache_info().currsize else set()


def serve(preload: str, answering: socket.socket) -> None:
    """Fork for each message. In a fork: be that program."""
    exec(preload, {})
    gc.collect()
    gc.freeze()
    while True:
        message, streams, _, _ = socket.recv_fds(answering, _MESSAGE_BYTES, 3)
        if not message:
            return
        adopted, adopting = os.pipe()
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid == 0:
                os.close(adopting)
                os.read(adopted, 1)  # until the others have closed it: the program may look at its parent
                os.close(adopted)
                answering.close()
                become(json.loads(message), streams)
            answering.send(str(pid).encode())
            os._exit(0)
        os.waitpid(between, 0)
        for descriptor in (adopted, adopting, *streams):
            os.close(descriptor)
        answering.send(b"adopted")


def become(asked: dict[str, Any], streams: list[int]) -> None:
    """Run the program and end this process, as Python does at the end of a program."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    tempfile.tempdir = None  # it is read from the environment again
    try:
        exec(asked["prelude"], {})
        first, *arguments = asked["words"]
        if first == "-m":
            sys.path.insert(0, asked["cwd"])
            sys.argv = arguments
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            code, *arguments = arguments if first == "-c" else (Path(first).read_bytes(), *arguments)
            sys.path.insert(0, "" if first == "-c" else str(Path(first).parent))
            sys.argv = [first, *arguments]
            main = sys.modules["__main__"] = ModuleType("__main__")
            if first != "-c":
                main.__file__ = first
            exec(compile(code, "<string>" if first == "-c" else first, "exec"), vars(main))
    except Exception:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        become(json.loads(sys.argv[1]), [])
    serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
