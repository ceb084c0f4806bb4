"""The standard streams of a command: closed ones, full ones, and a reader of stdout that goes."""

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
    """Of stdout or stderr; None if it is closed, or stands for something else, as in a test."""
    if stream is None:
        return None
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError, io.UnsupportedOperation):
        return None


def fill_closed_streams() -> None:
    """Put /dev/null where stdin, stdout or stderr was closed before the process began: else the next file or socket is
    that, and gets what a library writes there. uvloop's ends the process when it closes one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        continue
    os.close(descriptor)


def let_go(stream: TextIO | None) -> None:
    """Send what is still written to a stream to /dev/null: Python would complain when it flushes it at the end."""
    descriptor = descriptor_of(stream)
    if descriptor is not None:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)


def run_with_output(run: Callable[[Output], Status], complain: Callable[[str], object], not_written: Status) -> Status:
    """Run a command whose stdout is an Output. If stdout takes nothing, one sentence goes to `complain`, and the status
    is `not_written`."""
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
    """Stdout, which keeps in mind that it could not be written to: argparse does not tell. `stream` is None if it was
    closed before the process began. A reader that has gone, as in `| head`, is no error: the rest is dropped."""

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
