"""What an executor is asked before a load. It runs where perhaps nothing of ours works: standard library only."""

from __future__ import annotations

import importlib
import os
import platform
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Executor(NamedTuple):
    """One slot, as seen from inside."""

    host: str
    python: str  # the executable
    version: str
    missing: list[str]  # of what must be importable there, with the reason where it is there and fails
    code: str  # where our code comes from
    sees: bool  # the file that the driver has put where the results are to go


def look(needed: Sequence[str], modules: Sequence[str], token: str | None) -> Executor:
    """Try to import `needed`, and, if that all works, `modules`, which are ours."""
    missing = []
    for name in needed:
        if complaint := complaint_of(name):
            missing.append(complaint)
    for name in modules if not missing else ():
        if complaint := complaint_of(name):
            missing.append(complaint)
    code = os.path.dirname(os.path.dirname(os.path.abspath(importlib.import_module("fakebroker_load").__file__ or "")))
    sees = token is None or Path(token).is_file()
    return Executor(socket.gethostname(), sys.executable, platform.python_version(), missing, code, sees)


def complaint_of(name: str) -> str:
    """The module if it is not there; with what it says if it is and does not work; else nothing."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        return error.name or name
    except Exception as error:  # whatever an import may do
        return f"{name} ({type(error).__name__}: {error})"
    return ""
