"""The journal on disk, or in a pipe: every event as a line of JSON, in order.

Theory   Lines are gathered, and handed to a thread within 0.2 s or when they are 64 KiB. A file takes all of it. For a
         pipe with a slow reader, or none, up to 64 MiB are buffered. Later events are dropped until half of the buffer
         has been read, and a `Dropped` event takes their place. The reader misses nothing else.
Errors   The first error ends the journal, with a line in the log; the cluster goes on.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from os import PathLike

from fakebroker.core.journal.events import Dropped, Event
from fakebroker.core.journal.json_lines import to_json
from fakebroker.server.writing.opening import is_file, open_to_write
from fakebroker.server.writing.writer import Writer

log = logging.getLogger("fakebroker")

CAPACITY_BYTES = 64 * 1024 * 1024
_TOGETHER_BYTES = 65_536
_HAND_OVER_AFTER_S = 0.2
_PATIENCE_S = 1.0  # at the end: total for a pipe, without progress for a file
_LOOK_S = 0.001


class JournalFile:
    """A journal that is made and used on one event loop."""

    def __init__(
        self, path: str | PathLike[str], loop: asyncio.AbstractEventLoop, capacity_bytes: int = CAPACITY_BYTES
    ) -> None:
        """Open the journal and truncate the file. A pipe may get its reader at any time. Raises OSError if it cannot be
        written to."""
        self._path = path
        self._loop = loop
        self._lines: list[str] = []
        self._size = 0
        self._first: Event | None = None  # the first event of those lines
        self._flushing: asyncio.TimerHandle | None = None
        self._gap: Dropped | None = None  # the events dropped so far
        descriptor = open_to_write(path)
        self._is_file = descriptor is not None and is_file(descriptor)
        ready = [descriptor]
        self._writer = Writer(
            lambda: ready.pop() if ready else open_to_write(path), "fakebroker journal", capacity_bytes, self._ends_here
        )
        atexit.register(self.close_at_once)  # for a program that does not stop its cluster

    def write(self, event: Event) -> None:
        if self._writer.is_finished:
            return
        line = to_json(event)
        if not self._lines:
            self._first = event
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size >= _TOGETHER_BYTES:
            self._hand_over()
        elif self._flushing is None:
            self._flushing = self._loop.call_later(_HAND_OVER_AFTER_S, self._flush)

    def descriptors(self) -> list[int]:
        """Return the open descriptors."""
        return self._writer.descriptors()

    async def close(self) -> None:
        """Write the rest and close the file, while the loop goes on. A pipe gets a second at most."""
        self._finish()
        done, patience = self._writer.unwritten_bytes, self._loop.time() + _PATIENCE_S
        try:
            while not self._writer.has_ended:
                if self._loop.time() >= patience:
                    left = self._writer.unwritten_bytes
                    if not self._is_file or left >= done:
                        break
                    done, patience = left, self._loop.time() + _PATIENCE_S
                await asyncio.sleep(_LOOK_S)
        finally:
            self._give_up()

    def close_at_once(self) -> None:
        """Close the file without a loop, at the end of a program that has not stopped its cluster."""
        self._finish()
        self._writer.wait(_PATIENCE_S)
        self._give_up()

    def _finish(self) -> None:
        atexit.unregister(self.close_at_once)
        self._flush()
        if self._gap is not None:
            self._writer.write(_line(self._gap), whatever=True)
            self._gap = None
        self._writer.finish()

    def _give_up(self) -> None:
        writer = self._writer
        if not writer.has_ended:
            log.error(
                "the journal %s is incomplete: its reader did not take the last %d bytes",
                self._path,
                writer.unwritten_bytes,
            )
            writer.give_up()
            writer.wait(_PATIENCE_S)

    def _flush(self) -> None:
        if self._lines:
            self._hand_over()

    def _hand_over(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        lines, first = self._lines, self._first
        self._lines, self._size, self._first = [], 0, None
        assert first is not None
        data = ("\n".join(lines) + "\n").encode()
        writer = self._writer
        if self._gap is not None:
            if writer.unwritten_bytes > writer.capacity_bytes // 2:
                self._gap = self._gap._replace(events=self._gap.events + len(lines))
                return
            log.warning("the journal %s continues: %d events are missing", self._path, self._gap.events)
            writer.write(_line(self._gap), whatever=True)
            self._gap = None
        if not writer.write(data) and not writer.is_finished:
            log.warning("the reader of the journal %s is too slow: events are dropped from now on", self._path)
            self._gap = Dropped(first.mono_ms, first.wall_ms, len(lines))

    def _ends_here(self, error: OSError) -> bool:
        log.error("the journal %s ends here: %s", self._path, error.strerror)
        return False


def _line(event: Event) -> bytes:
    return f"{to_json(event)}\n".encode()
