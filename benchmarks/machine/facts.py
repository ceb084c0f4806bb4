"""Facts about the machine of a measurement: versions, build, commit, load."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version

from benchmarks.machine.programs import HERE

LIBRARIES = ("kio", "crc32c", "uvloop")


def load_average() -> float:
    return round(os.getloadavg()[0], 2)


def own_versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "fakebroker": f"{package('fakebroker')} ({build()})"}
    return versions | {name: package(name) for name in LIBRARIES}


def package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def build() -> str:
    """Return whether the hot modules run compiled or interpreted."""
    import timingwheel.wheel

    return "interpreted" if str(timingwheel.wheel.__file__).endswith(".py") else "compiled"


def commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"
