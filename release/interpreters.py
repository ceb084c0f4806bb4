"""Find CPython interpreters for which wheels can be built.

An interpreter is looked for as `python3.N` on PATH and among pyenv's versions. It must answer: pyenv's commands exist
for versions that are not selected. One that cannot compile (no Python.h) is passed over if compiling is wanted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_PROBE = """
import json, os, sys, sysconfig
print(json.dumps({
    "version": ".".join(map(str, sys.version_info[:3])),
    "is_cpython": sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"),
    "has_headers": os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")),
    "compiler": (sysconfig.get_config_var("CC") or "cc").split()[0],
}))
"""
_PROBE_LIMIT_S = 30


class Interpreter(NamedTuple):
    """The facts that an interpreter reports about itself.

    version       as in 3.12.1
    is_cpython    False for other implementations, and for CPython without its global lock
    has_headers   whether Python.h is there
    compiler      the command that it was compiled with
    """

    path: str
    version: str
    is_cpython: bool
    has_headers: bool
    compiler: str

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])


class Selection(NamedTuple):
    """Interpreters to build wheels with, and the versions or paths for which none was found."""

    chosen: list[Interpreter]
    missing: list[str]


Probe = Callable[[str], Interpreter | None]


def probe(path: str) -> Interpreter | None:
    """Ask an interpreter; None if it does not answer."""
    try:
        done = subprocess.run(
            [path, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=_PROBE_LIMIT_S, check=True
        )
        return Interpreter(path, **json.loads(done.stdout))
    except (OSError, ValueError, TypeError, subprocess.SubprocessError):
        return None


def candidates(version: str, environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield the paths where CPython of this version (3.12) may be, the best first."""
    for folder in environment.get("PATH", "").split(os.pathsep):
        path = shutil.which(f"python{version}", path=folder) if folder else None
        if path is not None:
            yield path
    root = Path(environment.get("PYENV_ROOT") or Path.home() / ".pyenv")
    installed = [path for path in (root / "versions").glob(f"{version}.*/bin/python") if path.exists()]
    yield from map(str, sorted(installed, key=lambda path: _patch(path.parts[-3]), reverse=True))


def select(
    requested: Sequence[str],
    has_to_compile: bool,
    places: Callable[[str], Iterator[str]] = candidates,
    ask: Probe = probe,
) -> Selection:
    """Find an interpreter for each version (3.12) or path that was asked for."""
    chosen: list[Interpreter] = []
    missing = []
    for wanted in requested:
        paths = places(wanted) if is_version(wanted) else iter([wanted])
        probed = (ask(path) for path in paths)
        fitting = (
            candidate
            for candidate in probed
            if candidate is not None
            and candidate.is_cpython
            and (candidate.has_headers or not has_to_compile)
            and (not is_version(wanted) or candidate.minor == wanted)
        )
        interpreter = next(fitting, None)
        if interpreter is None:
            missing.append(wanted)
        elif interpreter.path not in [other.path for other in chosen]:
            chosen.append(interpreter)
    return Selection(chosen, missing)


def is_version(wanted: str) -> bool:
    return wanted.replace(".", "").isdigit()


def _patch(version: str) -> int:
    digits = version.rpartition(".")[2]
    return int(digits) if digits.isdigit() else -1
