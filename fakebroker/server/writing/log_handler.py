"""The log of `serve` on stderr. A call of the logger never waits, even if nothing reads stderr."""

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
_CLOSE_TIMEOUT_S: Final = 0.5


class LogHandler(logging.Handler):
    """A handler with a thread that writes the lines to a descriptor, in order.

    A line is dropped if more than `capacity_bytes` would be unwritten with it. The next line that is not dropped comes
    after a line with the number of dropped ones.
    """

    def __init__(self, descriptor: int, capacity_bytes: int = CAPACITY_BYTES, encoding: str = "utf-8") -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(FORMAT))
        self._encoding = encoding
        self._dropped = 0
        self._writer = Writer(lambda: descriptor, "fakebroker log", capacity_bytes, self._on_error, owns=False)

    def emit(self, record: logging.LogRecord) -> None:
        data = self._encoded(record)
        count_line = self._count_line() if self._dropped else b""
        if self._writer.write(count_line + data):
            self._dropped = 0
        else:
            self._dropped += 1

    def close(self) -> None:
        """Wait until all is written, but no longer than `_CLOSE_TIMEOUT_S`."""
        if self._dropped:
            self._writer.write(self._count_line(), whatever=True)
            self._dropped = 0
        self._writer.end(_CLOSE_TIMEOUT_S)
        super().close()

    def _count_line(self) -> bytes:
        text = f"{self._dropped} lines were dropped here: stderr was not read"
        return self._encoded(logging.LogRecord("fakebroker", logging.WARNING, "", 0, text, None, None))

    def _encoded(self, record: logging.LogRecord) -> bytes:
        try:
            text = self.format(record)
        except Exception as error:  # a library passed arguments that do not match its format
            text = f"a line of the log cannot be shown: {record.msg!r}: {error!r}"
        return f"{text}\n".encode(self._encoding, "backslashreplace")

    def _on_error(self, error: OSError) -> bool:
        """Return True if the thread is to write the next lines: a full disk may have space again later."""
        return error.errno == ENOSPC


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Write the log of this process to stderr while the block lasts. If stderr is closed, drop it."""
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
