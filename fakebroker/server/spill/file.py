"""The store of a cluster's old records: a temporary file without a name, written by a thread of its own.

Theory   The loop only hands over what is to be written, which stays in memory until it is. Beyond `max_unwritten_bytes`
         the loop waits for the disk, so that memory is bounded. The thread writes in the order of the calls, so a place
         that is freed and reused ends up with the last data put there. Reads are done on the loop: they mostly hit the
         page cache, take a few microseconds, and have the size that a response needs at a time. The file is in the
         usual folder for temporary files (TMPDIR), made when the first records go there. Without a name no other
         process finds it, and it is gone with the process, however that ends.
Errors   If the disk is full, or there is no folder to write to, `put` raises StoreFullError, and tries again each time.
         Data that could not be written is still in memory then. Failed reads raise OSError.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from queue import SimpleQueue
from typing import IO

from fakebroker.core.log.store import Store, StoreFullError
from fakebroker.protocol.answers.pieces import Part
from fakebroker.server.spill.space import Space

_PARTS_AT_ONCE = 1_024  # IOV_MAX
_DEFAULT_UNWRITTEN_BYTES = 4_194_304


class _SpilledData:
    """The data put at `position`."""

    __slots__ = ("parts", "position", "size")

    def __init__(self, position: int, parts: list[Part], size: int) -> None:
        self.position = position
        self.parts = parts
        self.size = size


class SpillFile(Store):
    """A store that one thread makes and uses; `close` it in the end."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._space = Space()
        self._max_unwritten_bytes = _DEFAULT_UNWRITTEN_BYTES
        self._closed = False
        # Shared with the thread, under the lock of `_changed`.
        self._changed = threading.Condition()
        self._unwritten: dict[int, _SpilledData] = {}  # by position, the last data put there
        self._error: OSError | None = None
        self._tries = 0
        self.unwritten_bytes = 0
        # Shared with the garbage collector: these two may be used from a finalizer.
        self._freed: deque[tuple[int, int]] = deque()
        self._inbox: SimpleQueue[_SpilledData | None] = SimpleQueue()  # None: check again

    @property
    def place(self) -> str:
        return f"an unnamed temporary file in {tempfile.gettempdir()}"

    @property
    def size(self) -> int:
        """Return the length of the file when all is written."""
        with self._changed:
            self._take_back()
            return self._space.end

    def set_max_unwritten_bytes(self, size: int) -> None:
        self._max_unwritten_bytes = size

    def put(self, parts: Sequence[Part], size: int) -> int:
        self._start()
        with self._changed:
            if self._error is not None:
                self._try_again()
            self._take_back()
            position = self._space.take(size)
            run = self._unwritten[position] = _SpilledData(position, list(parts), size)
            self.unwritten_bytes += size
            self._inbox.put(run)
            while self.unwritten_bytes > self._max_unwritten_bytes and self._error is None:
                self._changed.wait()
        return position

    def read(self, position: int, start: int, size: int) -> bytes:
        with self._changed:
            run = self._unwritten.get(position)
        if run is not None:
            return _slice(run.parts, start, size)
        assert self._file is not None
        content = b""
        while len(content) < size:
            more = os.pread(self._file.fileno(), size - len(content), position + start + len(content))
            if not more:
                raise OSError(f"the file of old records ends before {position + start + size}")
            content = content + more if content else more
        return content

    def free(self, position: int, size: int) -> None:
        self._freed.append((position, size))
        if not self._closed:
            self._inbox.put(None)

    def close(self) -> None:
        """Drop everything. Wait for the write in progress."""
        self._closed = True
        if self._thread is not None:
            self._inbox.put(None)
            self._thread.join()
        if self._file is not None:
            self._file.close()

    def _start(self) -> None:
        if self._thread is None:
            try:
                self._file = tempfile.TemporaryFile(buffering=0, prefix="fakebroker-")  # noqa: SIM115
            except OSError as error:
                raise StoreFullError(str(error)) from error
            self._thread = threading.Thread(target=self._work, name="fakebroker-spill", daemon=True)
            self._thread.start()

    def _try_again(self) -> None:
        tries = self._tries
        self._inbox.put(None)
        while self._tries == tries:
            self._changed.wait()
        if self._error is not None:
            raise StoreFullError(self._error.strerror or str(self._error))

    def _take_back(self) -> None:
        """Free the places that are not used any more."""
        while self._freed:
            self._space.give_back(*self._freed.popleft())

    # Methods of the thread.

    def _work(self) -> None:
        backlog: deque[_SpilledData] = deque()
        length = 0
        while True:
            run = self._inbox.get()
            if self._closed:
                return
            if run is not None:
                backlog.append(run)
                length = max(length, run.position + run.size)
            error = self._write(backlog)
            with self._changed:
                self._error = error
                self._tries += 1
                self._take_back()
                end = self._space.end
                self._changed.notify_all()
            if end < length and not backlog:
                length = end
                self._cut(end)
            run = None  # release the records while waiting for the next run

    def _write(self, backlog: deque[_SpilledData]) -> OSError | None:
        """Write the backlog in its order. Return the error that stopped it, or None."""
        assert self._file is not None
        while backlog and not self._closed:
            run = backlog[0]
            try:
                _write_all(self._file.fileno(), run)
            except OSError as error:
                return error
            backlog.popleft()
            with self._changed:
                self.unwritten_bytes -= run.size
                if self._unwritten.get(run.position) is run:
                    del self._unwritten[run.position]
                self._changed.notify_all()
            del run
        return None

    def _cut(self, end: int) -> None:
        assert self._file is not None
        try:
            os.ftruncate(self._file.fileno(), end)
        except OSError:
            return  # the data is right, only the disk space is not returned


def _write_all(fileno: int, run: _SpilledData) -> None:
    at = run.position
    for first in range(0, len(run.parts), _PARTS_AT_ONCE):
        parts = [memoryview(part) for part in run.parts[first : first + _PARTS_AT_ONCE]]
        while parts:
            written = os.pwritev(fileno, parts, at)
            at += written
            while parts and written >= len(parts[0]):
                written -= len(parts.pop(0))
            if written:
                parts[0] = parts[0][written:]


def _slice(parts: Sequence[Part], start: int, size: int) -> bytes:
    """Return `size` bytes of the parts, from `start` on."""
    slices: list[Part] = []
    for part in parts:
        if size <= 0:
            break
        if start < len(part):
            taken = part[start : start + size]
            slices.append(taken)
            size -= len(taken)
        start = max(start - len(part), 0)
    return b"".join(slices)
