"""The journal of a cluster from its start to its stop: the last events in memory, all events in a file, or neither."""

from __future__ import annotations

import asyncio
from os import PathLike

from fakebroker.core.arguments import PATH_OR_NONE, WHOLE_NUMBER, require
from fakebroker.core.journal.journal import Journal
from fakebroker.server.journal_in_hand import Snapshot
from fakebroker.server.writing.journal_file import JournalFile


class KeptJournal:
    """A journal that keeps `size` events and writes all events to the file `path`, if any. Raises TypeError or
    ValueError for wrong values."""

    def __init__(self, size: int, path: str | PathLike[str] | None) -> None:
        require(WHOLE_NUMBER, journal=size)
        require(PATH_OR_NONE, journal_file=path)
        if path == "":
            raise ValueError("journal_file must be the name of a file, not ''")
        if size < 0:
            raise ValueError(f"a journal keeps 0 events or more, not {size}")
        self._size = size
        self._path = path
        self._events = Journal(size)
        self._file: JournalFile | None = None

    def open(self) -> Journal | None:
        """Return an empty journal, or None if none is kept or written. Raises OSError if the file cannot be written."""
        if self._path is not None:
            self._file = JournalFile(self._path, asyncio.get_running_loop())
        return self.renew()

    def renew(self) -> Journal | None:
        """Return another empty journal; the file is continued."""
        on_event = None if self._file is None else self._file.write
        self._events = Journal(self._size, on_event)
        return self._events if self._size or on_event is not None else None

    async def close(self) -> None:
        """Write all events to the file. The kept events stay."""
        file, self._file = self._file, None
        if file is not None:
            await file.close()

    def close_at_once(self) -> None:
        """Write all events to the file, if no loop runs any more."""
        file, self._file = self._file, None
        if file is not None:
            file.close_at_once()

    def descriptors(self) -> list[int]:
        """Return the descriptors of the file, if it is open."""
        return [] if self._file is None else self._file.descriptors()

    def snapshot(self) -> Snapshot:
        """Return the kept events. Raises RuntimeError if none are kept."""
        if not self._size:
            raise RuntimeError("the cluster keeps no journal: it was made with journal=0")
        return Snapshot(self._events.events(), self._events.dropped)

    def clear(self) -> None:
        """Drop the kept events."""
        self._events.clear()
