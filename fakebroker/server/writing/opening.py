"""Files, pipes and devices that an option names, opened without waiting for a reader.

Source   open(2): a FIFO that is opened for writing waits for its reader, or with O_NONBLOCK fails with ENXIO.
"""

from __future__ import annotations

import errno
import os
import stat
from os import PathLike

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MODE = 0o666  # less the umask, as open() does


def open_to_write(path: str | PathLike[str]) -> int | None:
    """Open and truncate the path, and return a descriptor. None for a pipe without a reader: try again later. Raises
    OSError."""
    try:
        return os.open(path, _FLAGS, _MODE)
    except OSError as error:
        if error.errno == errno.ENXIO and stat.S_ISFIFO(os.stat(path).st_mode):
            return None
        raise


def is_file(descriptor: int) -> bool:
    """Return True for an ordinary file: writes to it succeed or fail, but do not wait."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)
