"""Programs that the benchmarks compile at run time, kept in the user's cache folder under the hash of their source."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from conformance.targets.kafka_box import cache_folder

HERE = Path(__file__).resolve().parent.parent  # benchmarks/
_LIMIT_S = 300


class Missing(Exception):
    """Something cannot be had on this machine; the message says why."""


def built(name: str, tool: str, sources: Sequence[Path], command: Sequence[str], cwd: Path = HERE) -> Path:
    """The path of a program, made by `tool command... PATH` if it is not in the cache yet. Raises Missing."""
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    program = cache_folder().parent / "benchmarks" / f"{name}-{digest}"
    if program.exists():
        return program
    tool_path = shutil.which(tool)
    if tool_path is None:
        raise Missing(f"no `{tool}` on this machine")
    program.parent.mkdir(parents=True, exist_ok=True)
    scratch = program.with_name(f".{program.name}.{os.getpid()}")
    try:
        done = subprocess.run(
            [tool_path, *command, str(scratch)], cwd=cwd, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
        if done.returncode:
            said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
            raise Missing(f"`{tool}` could not build {name}: {said[-1]}")
        scratch.rename(program)
    except subprocess.TimeoutExpired:
        raise Missing(f"`{tool}` took more than {_LIMIT_S} s to build {name}") from None
    finally:
        scratch.unlink(missing_ok=True)
    return program


def driver_program() -> Path:
    """The driver in C. Raises Missing where there is no C compiler."""
    return _compiled("driver")


def crowd_program() -> Path:
    """The neighbours and the prober in C. Raises Missing where there is no C compiler."""
    return _compiled("crowd")


def _compiled(name: str) -> Path:
    source = HERE / "drivers" / f"{name}.c"
    tool = os.environ.get("CC", "cc")
    return built(name, tool, [source], ["-O2", str(source), "-o"])


def kfake_program() -> Path:
    """The kfake peer. Raises Missing where there is no Go, or its modules cannot be fetched."""
    folder = HERE / "peers" / "kfake"
    return built(
        "kfake", "go", [folder / name for name in ("main.go", "lives.go", "go.mod", "go.sum")], ["build", "-o"], folder
    )
