"""The log of a process that serves, on a stderr that may have no reader."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from typing import Final

from fakebroker.server.writing.writer import Writer
from fakebroker.streams import descriptor_of

FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"
CAPACITY_BYTES: Final = 1024 * 1024  # some ten thousand lines
_PATIENCE_S: Final = 0.5


class LogHandler(logging.Handler):
    """A handler that writes lines to a descriptor, in order. Lines that do not fit are dropped; the next line that fits
    says how many."""

    def __init__(self, descriptor: int, capacity_bytes: int = CAPACITY_BYTES, encoding: str = "utf-8") -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self._encoding = encoding
        self._dropped = 0
        self._writer = Writer(lambda: descriptor, "fakebroker log", capacity_bytes, self._goes_on, owns=False)

    def emit(self, record: logging.LogRecord) -> None:
        data = self._encoded(record)
        note = self._note() if self._dropped else b""
        if self._writer.write(note + data):
            self._dropped = 0
        else:
            self._dropped += 1

    def close(self) -> None:
        """Write the rest, for at most half a second."""
        if self._dropped:
            self._writer.write(self._note(), whatever=True)
            self._dropped = 0
        self._writer.end(_PATIENCE_S)
        super().close()

    def _note(self) -> bytes:
        text = f"{self._dropped} lines were dropped here: stderr was not read"
        return self._encoded(logging.LogRecord("fakebroker", logging.WARNING, "", 0, text, None, None))

    def _encoded(self, record: logging.LogRecord) -> bytes:
        try:
            text = self.format(record)
        except Exception as error:  # a line of other code with values that do not fit its format
            text = f"a line of the log cannot be shown: {record.msg!r}: {error!r}"
        return f"{text}\n".encode(self._encoding, "backslashreplace")

    def _goes_on(self, error: OSError) -> bool:
        return error.errno == ENOSPC  # the disk may have space again later


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Write the log of this process to stderr while the block lasts. If stderr is closed, write it nowhere."""
    root = logging.getLogger()
    descriptor = descriptor_of(sys.stderr)
    handler: logging.Handler = logging.NullHandler()
    if descriptor is not None:
        handler = LogHandler(descriptor, encoding=sys.stderr.encoding or "utf-8")
    elif sys.stderr is not None:  # a replacement of stderr, as in a test
        handler = logging.StreamHandler(sys.stderr)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()
