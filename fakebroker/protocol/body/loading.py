"""The classes of messages are modules of kio, imported when the first request of its kind and version comes: a process
that has no file left to open could not read it.

Theory   Descriptors are kept for that. asyncio accepts as many connections at once as there are descriptors, so for a
         moment there are none, whatever becomes of those connections.
"""

from __future__ import annotations

import os


class _Files:
    """Open files of which nothing is read. As a context: they are free meanwhile."""

    def __init__(self) -> None:
        self._most = 0
        self._kept: list[int] = []

    def keep(self, number: int) -> None:
        """From now on; as many as there are."""
        self._most = number
        self._adjust(number)

    def __enter__(self) -> None:
        self._adjust(0)

    def __exit__(self, *_: object) -> None:
        self._adjust(self._most)

    def _adjust(self, number: int) -> None:
        while len(self._kept) > number:
            os.close(self._kept.pop())
        try:
            while len(self._kept) < number:
                self._kept.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:  # somebody else was faster; there may be some next time
            pass


files_to_load = _Files()
