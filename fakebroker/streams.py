"""The standard streams of a command: closed ones, full ones, and a stdout with a reader that disappears."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

_STDERR = 2

Status = int | str | None  # as sys.exit takes it


def descriptor_of(stream: TextIO | None) -> int | None:
    """Return the descriptor of stdout or stderr; None if it is closed or replaced, as in a test."""
    if stream is None:
        return None
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError, io.UnsupportedOperation):
        return None


def fill_closed_streams() -> None:
    """Put /dev/null where stdin, stdout or stderr was closed before the process began. Otherwise the next opened file
    gets that descriptor, and what a library writes there. uvloop ends the process when it closes one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        continue
    os.close(descriptor)


def let_go(stream: TextIO | None) -> None:
    """Send what is still unwritten to /dev/null: Python would complain when it flushes the stream at the end."""
    descriptor = descriptor_of(stream)
    if descriptor is not None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)


def run_with_output(run: Callable[[Output], Status], complain: Callable[[str], object], not_written: Status) -> Status:
    """Run a command with an Output as stdout. If stdout cannot be written to, pass one sentence to `complain`, and
    return `not_written`."""
    stdout, sys.stdout = sys.stdout, Output(sys.stdout)
    output = sys.stdout
    status = not_written
    try:
        try:
            status = run(output)
            output.flush()
        except OSError as error:
            if error is not output.problem:
                raise
        if output.problem is not None:
            complain(f"stdout: {output.problem.strerror}")
            status = not_written
            let_go(stdout)
    finally:
        sys.stdout = stdout
    return status


class Output(io.TextIOBase):
    """A stdout that remembers a failed write, because argparse does not report it. `stream` is None if it was closed
    before the process began. A closed pipe, as in `| head`, is no error: the rest is dropped."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.problem: OSError | None = None

    def write(self, text: str) -> int:
        with self._remembering():
            if self._stream is None:
                raise OSError(errno.EBADF, "it is closed")
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        if self._stream is not None and self.problem is None:
            with self._remembering():
                self._stream.flush()

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            let_go(self._stream)
        except OSError as error:
            self.problem = error
            raise

    @property
    def closed(self) -> bool:
        return self._stream is None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8" if self._stream is None else self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return None if self._stream is None else self._stream.errors

    def fileno(self) -> int:
        if self._stream is None:
            raise io.UnsupportedOperation("it is closed")
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def writable(self) -> bool:
        return True
