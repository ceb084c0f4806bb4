"""The announcement of a process that is ready: a line on stdout, and the file of `--ready-file`.

A file appears whole or not at all. A pipe, a terminal or a device is written to and never replaced. It may have no
reader, so a thread writes to it.
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
    """An announcement, made before the start so that a wrong path is reported before anything listens."""

    def __init__(self, ready_file: Path | None) -> None:
        """Check the path. Raises OSError if it is not a file and cannot become one."""
        self._path = ready_file
        self._writers: list[Writer] = []
        if ready_file is not None:
            _check(ready_file)

    def make(self, line: str, facts: str) -> None:
        """Write the facts into the file, then the line to stdout. Raises OSError if the file cannot be written."""
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
        elif sys.stdout is not None and not sys.stdout.closed:  # a replacement of stdout, as in a test
            print(said, end="", flush=True)

    def close(self) -> None:
        """Stop waiting for readers."""
        for writer in self._writers:
            writer.end(_PATIENCE_S)

    def _hand_over(self, name: str, text: str, open_it: Callable[[], int | None], owns: bool) -> None:
        def cannot(error: OSError) -> bool:
            log.warning("the ready line could not be written to %s: %s", name, error.strerror)
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
    """Return True if the path is what the descriptor has open, as for /dev/stdout."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _opener(path: Path) -> Callable[[], int | None]:
    """Return a function that opens the path. Open it now, so that an error is raised, and again until a pipe has its
    reader."""
    first = [open_to_write(path)]
    return lambda: first.pop() if first else open_to_write(path)


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
