"""A writer thread for a reader that may be slow or absent: the caller never waits.

Theory   The caller counts the bytes it hands over, the thread those it has written. The difference is bounded, and data
         that does not fit is refused. Each counter has one writer, so there is no lock. The thread never blocks in
         write(2): it polls the descriptor, and writes what a pipe then certainly takes (PIPE_BUF).
Differs  `logging.handlers.QueueListener` has a thread and a queue too. But its `stop()` waits for the thread without
         limit. It reports a full queue by a traceback on stderr, which is the very thing without a reader.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from queue import SimpleQueue

from fakebroker.server.writing.opening import is_file

_LOOK_MS = 50  # how often a waiting thread checks whether to give up
_PIPE_BUF = getattr(select, "PIPE_BUF", 512)


class _GivenUp(Exception):
    pass


class Writer:
    """A thread that writes to the descriptor that `open_it` returns; None means "not yet". `owns`: close it at the end.

    The thread calls `on_error` for an error of writing, and ends unless that returns True.
    """

    def __init__(
        self,
        open_it: Callable[[], int | None],
        name: str,
        capacity_bytes: int,
        on_error: Callable[[OSError], bool],
        owns: bool = True,
    ) -> None:
        self.capacity_bytes = capacity_bytes
        self._open_it = open_it
        self._owns = owns
        self._on_error = on_error
        self._descriptor: int | None = None
        self._chunks: SimpleQueue[bytes | None] = SimpleQueue()
        self._handed_over = 0
        self._done = 0  # bytes written, or lost by an error
        self.is_finished = False
        self._given_up = threading.Event()
        self._ended = threading.Event()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def unwritten_bytes(self) -> int:
        """Return the bytes that were handed over and are not written."""
        return self._handed_over - self._done

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def write(self, data: bytes, whatever: bool = False) -> bool:
        """Hand data over, whole or not at all. Return True if it was accepted. `whatever`: accept it even if it does
        not fit."""
        if self.is_finished or (not whatever and self.unwritten_bytes + len(data) > self.capacity_bytes):
            return False
        self._handed_over += len(data)
        self._chunks.put(data)
        return True

    def finish(self) -> None:
        """Accept no more data: the thread ends once all is written."""
        if not self.is_finished:
            self.is_finished = True
            self._chunks.put(None)

    def give_up(self) -> None:
        """Drop the unwritten data."""
        self.finish()
        self._given_up.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the thread. Return True if it has ended."""
        return self._ended.wait(seconds)

    def end(self, seconds: float) -> bool:
        """Finish, wait for at most `seconds`, and drop the rest. Return True if all was written."""
        self.finish()
        is_whole = self.wait(seconds)
        self.give_up()
        return is_whole

    def descriptors(self) -> list[int]:
        """Return the open descriptors, which a child process has to close."""
        return [] if self._descriptor is None or not self._owns else [self._descriptor]

    def _run(self) -> None:
        try:
            self._descriptor = self._open()
            while (chunk := self._chunks.get()) is not None:
                try:
                    self._write(self._descriptor, chunk)
                except OSError as error:
                    if not self._on_error(error):
                        break
                self._done += len(chunk)
        except OSError as error:  # it cannot be opened any more
            self._on_error(error)
        except _GivenUp:
            pass
        finally:
            self.is_finished = True
            descriptor, self._descriptor = self._descriptor, None
            if descriptor is not None and self._owns:
                try:
                    os.close(descriptor)
                except OSError as error:
                    self._on_error(error)
            self._ended.set()

    def _open(self) -> int:
        while (descriptor := self._open_it()) is None:
            if self._given_up.wait(_LOOK_MS / 1000):
                raise _GivenUp
        return descriptor

    def _write(self, descriptor: int, chunk: bytes) -> None:
        if is_file(descriptor):
            piece = len(chunk)
        else:
            piece = _PIPE_BUF if os.get_blocking(descriptor) else len(chunk)
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        left = memoryview(chunk)
        while left:
            if self._given_up.is_set():
                raise _GivenUp
            if poll.poll(_LOOK_MS):
                try:
                    left = left[os.write(descriptor, left[:piece]) :]
                except BlockingIOError:  # another writer was quicker
                    continue
