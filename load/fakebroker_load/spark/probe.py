"""A check of executors before a load. It may run where our packages do not work, so it uses only the standard
library."""

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
    """One slot, seen from inside."""

    host: str
    python: str  # the executable
    version: str
    missing: list[str]  # modules that cannot be imported: with the reason, if they exist
    code: str  # the folder of our code
    sees: bool  # the driver's file in the results folder is visible


def look(needed: Sequence[str], modules: Sequence[str], token: str | None) -> Executor:
    """Try to import `needed`. If that works, try `modules`, which are ours."""
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
    """Return the name of a missing module, or the module with its error; else an empty text."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        return error.name or name
    except Exception as error:  # an import may raise anything
        return f"{name} ({type(error).__name__}: {error})"
    return ""
