"""The import of kio's modules with message classes, when the first request of a kind and version arrives. A process
without free file descriptors could not read them.

Theory   Some descriptors are reserved for that. The loop of asyncio accepts as many connections at once as there are
         free descriptors. So for a moment there are none, even if those connections are refused.
"""

from __future__ import annotations

import os


class _Files:
    """Open files that are never read. As a context manager it frees them for a while."""

    def __init__(self) -> None:
        self._most = 0
        self._kept: list[int] = []

    def keep(self, number: int) -> None:
        """Reserve this number of files from now on, or as many as there are."""
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
        except OSError:  # other code took the descriptor first; there may be one next time
            pass


files_to_load = _Files()
