"""Tracebacks that end at the user's line, if we refuse what a test requests or expects.

Theory   pytest shows the source of the last function in full. If this is a `raise` of ours, the message says all, and
         the relevant line is the user's. Any other exception of ours may be a bug and keeps its frames, and so does
         every failure of our own tests. `pytest --full-trace` shows all.
"""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import TracebackType

import pytest

import fakebroker

_PACKAGE = "fakebroker"
_HOME = Path(fakebroker.__file__).resolve().parents[1]
_NOT_THE_USERS = {_PACKAGE, *sys.stdlib_module_names}  # futures are between our threads


def end_at_users_line(traceback: TracebackType | None, item: pytest.Item) -> None:
    """Remove the frames after the user's last one, if we raised the exception."""
    if traceback is None or item.config.getoption("fulltrace") or _HOME in item.path.resolve().parents:
        return
    users: TracebackType | None = None
    last = traceback
    while True:
        if _module(last) not in _NOT_THE_USERS:
            users = last
        if last.tb_next is None:
            break
        last = last.tb_next
    if users is not None and users.tb_next is not None and _module(users.tb_next) == _PACKAGE and _is_raised_in(last):
        users.tb_next = None


def _is_raised_in(last: TracebackType) -> bool:
    file = _HOME / last.tb_frame.f_code.co_filename  # relative in compiled modules
    return linecache.getline(str(file), last.tb_lineno).lstrip().startswith("raise ")


def _module(traceback: TracebackType) -> str:
    name: str = traceback.tb_frame.f_globals.get("__name__", "")
    return name.partition(".")[0]
