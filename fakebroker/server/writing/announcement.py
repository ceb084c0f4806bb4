"""What a process that serves says once it is ready: a line on stdout, and the file of `--ready-file`.

A file appears whole or not at all. A pipe, a terminal or a device is written to and never replaced, and as nobody need
read it, nobody waits for that.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from fakebroker.server.writing.opening import open_to_write
from fakebroker.server.writing.writer import Writer
from fakebroker.streams import descriptor_of

log = logging.getLogger("fakebroker")

_CAPACITY_BYTES = 65_536
_PATIENCE_S = 0.5


class Announcement:
    """Made before the start, so that a mistake is told before anything listens."""

    def __init__(self, ready_file: Path | None) -> None:
        """Raises OSError if that is no file and cannot be one."""
        self._path = ready_file
        self._writers: list[Writer] = []
        if ready_file is not None:
            _check(ready_file)

    def make(self, line: str, facts: str) -> None:
        """Say the line, after the facts have been put into the file. Raises OSError if that cannot be written."""
        stdout = descriptor_of(sys.stdout)
        said = f"{line}\n"
        if self._path is not None:
            if stdout is not None and _is_same(self._path, stdout):
                said = f"{facts}\n{said}"
            elif _is_special(self._path):
                self._hand_over(str(self._path), f"{facts}\n", _opener(self._path), owns=True)
            else:
                _write_atomically(Path(os.path.realpath(self._path)), f"{facts}\n")
        if stdout is not None:
            self._hand_over("stdout", said, lambda: stdout, owns=False)
        elif sys.stdout is not None and not sys.stdout.closed:  # something in its place, as in a test
            print(said, end="", flush=True)

    def close(self) -> None:
        """What nobody has read by now is not waited for any longer."""
        for writer in self._writers:
            writer.end(_PATIENCE_S)

    def _hand_over(self, name: str, text: str, open_it: Callable[[], int | None], owns: bool) -> None:
        def cannot(error: OSError) -> bool:
            log.warning("it could not be said on %s that the brokers are ready: %s", name, error.strerror)
            return False

        writer = Writer(open_it, f"fakebroker {name}", _CAPACITY_BYTES, cannot, owns)
        writer.write(text.encode())
        writer.finish()
        self._writers.append(writer)


def _check(path: Path) -> None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise OSError(None, f"the folder {folder} does not exist") from None
        return
    if stat.S_ISDIR(mode):
        raise OSError(None, "Is a directory")
    if not stat.S_ISREG(mode) and not _is_written_to(mode):
        raise OSError(None, "it is neither a file nor a pipe")


def _is_written_to(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _is_special(path: Path) -> bool:
    return path.exists() and _is_written_to(os.stat(path).st_mode)


def _is_same(path: Path, descriptor: int) -> bool:
    """Whether it is what a descriptor has open, as /dev/stdout is."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _opener(path: Path) -> Callable[[], int | None]:
    """Opens it at once, so that an error is told, and again until a pipe has its reader."""
    first = [open_to_write(path)]
    return lambda: first.pop() if first else open_to_write(path)


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
