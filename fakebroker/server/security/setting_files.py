"""Files that a setting of a broker names: keys of tokens, key stores and trust stores.

Theory   A client that may alter settings can name any path. So only a regular file is read, at most 1 MiB of it, and
         no read waits: a pipe, a terminal or an endless device would stall all clients.
Source   open(2): O_NONBLOCK does not wait for the writer of a FIFO. Opening a device can have effects, so its type is
         looked at first.
"""

from __future__ import annotations

import os
import stat
from os import PathLike
from typing import Final

from fakebroker.core.errors import ConfigError

_MOST_BYTES: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def read_setting_file(setting: str, path: str | PathLike[str]) -> bytes:
    """Return the content of the file that the setting names. Raise ConfigError."""
    try:
        return _read(path)
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:  # a null byte, or a character that no name of a file can have
        reason = str(error)
    name = os.fspath(path)
    raise ConfigError(f"{setting}: {name if name.isprintable() else ascii(name)} cannot be read: {reason}")


def _read(path: str | PathLike[str]) -> bytes:
    _require_file(os.stat(path))
    descriptor = os.open(path, _FLAGS)
    try:
        _require_file(os.fstat(descriptor))
        content = bytearray()
        while part := os.read(descriptor, _MOST_BYTES + 1 - len(content)):
            content += part
            if len(content) > _MOST_BYTES:
                raise OSError(f"it has more than {_MOST_BYTES} bytes")
        return bytes(content)
    finally:
        os.close(descriptor)


def _require_file(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise OSError("it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is a pipe, a socket or a device, and not a file")
