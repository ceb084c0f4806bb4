"""Bytes to somebody who may not take them, written by a thread: who hands them over never waits.

Theory   The one who hands over counts what was handed over, the thread what was written; the difference is bounded, and
         what does not fit is refused. Each counter has one who writes it, so there is no lock. The thread never stands
         in a write(2) that it cannot leave: it asks whether the descriptor takes anything, and gives what a pipe then
         takes for certain (PIPE_BUF).
Differs  `logging.handlers.QueueListener` has a thread and a queue too; but its `stop()` waits for the thread without
         limit, and a full queue is told by a traceback on the very stderr that nobody reads.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from queue import SimpleQueue

from fakebroker.server.writing.opening import is_file

_LOOK_MS = 50  # how often a thread that stands still looks whether it has been given up
_PIPE_BUF = getattr(select, "PIPE_BUF", 512)


class _GivenUp(Exception):
    pass


class Writer:
    """Writes to what `open_it` gives: a descriptor, or None for "not yet". `owns` says whether it is closed at the end.

    `on_error` is told, in the thread, of an error of writing; unless it returns True nothing more is written.
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
        self._done = 0  # written, or lost by an error
        self.is_finished = False
        self._given_up = threading.Event()
        self._ended = threading.Event()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @property
    def unwritten_bytes(self) -> int:
        """What was handed over and is not written."""
        return self._handed_over - self._done

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def write(self, data: bytes, whatever: bool = False) -> bool:
        """Hand it over, whole or not at all; whether that was done. `whatever`: also if there is no room."""
        if self.is_finished or (not whatever and self.unwritten_bytes + len(data) > self.capacity_bytes):
            return False
        self._handed_over += len(data)
        self._chunks.put(data)
        return True

    def finish(self) -> None:
        """Nothing more comes: the thread ends once all is written."""
        if not self.is_finished:
            self.is_finished = True
            self._chunks.put(None)

    def give_up(self) -> None:
        """What is not written is not written any more."""
        self.finish()
        self._given_up.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end, at most so long; whether it has come."""
        return self._ended.wait(seconds)

    def end(self, seconds: float) -> bool:
        """Have all written that is taken within so many seconds, and give up the rest; whether that was all."""
        self.finish()
        is_whole = self.wait(seconds)
        self.give_up()
        return is_whole

    def descriptors(self) -> list[int]:
        """What is open, for who has to close it in a child process."""
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
                except BlockingIOError:  # somebody else was quicker
                    continue
