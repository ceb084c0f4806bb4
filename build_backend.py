"""How the package is built: by setuptools, its hot modules compiled by mypyc where that can be done.

A wheel is compiled if it can be, and plain Python otherwise: without a C compiler or mypy, or when anything goes wrong,
nothing is lost but speed. What pip installs `--editable` is the source as it stands, since it is there to be edited.
FAKEBROKER_COMPILE=0 never compiles; FAKEBROKER_COMPILE=1 does in any case, editable or not, and fails if it cannot.
setup.py names the modules that are compiled.

Source   PEP 517 (build hooks), PEP 660 (editable installs); setuptools.build_meta.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

# Other versions may translate the source differently; this is the one that the tests ran with.
MYPY = "mypy[mypyc]>=2.4,<2.5"


def _wish() -> str:
    return os.environ.get("FAKEBROKER_COMPILE", "")


def _has_compiler() -> bool:
    command = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    return sys.implementation.name == "cpython" and (sys.platform == "win32" or shutil.which(command) is not None)


def _requirements() -> list[str]:
    """What compiling needs: mypyc, and the packages that the modules import. Their types decide how the modules are
    translated, so they must be there wherever it is done."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [MYPY, *project["dependencies"]]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    wanted = _wish() == "1" or (_wish() != "0" and _has_compiler())
    return [*build_meta.get_requires_for_build_wheel(config_settings), *(_requirements() if wanted else [])]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    wanted = _wish() == "1"
    return [*build_meta.get_requires_for_build_editable(config_settings), *(_requirements() if wanted else [])]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    if _wish() == "0" or (_wish() != "1" and not _has_compiler()):
        return _build(build_meta.build_wheel, False, wheel_directory, config_settings, metadata_directory)
    try:
        return _build(build_meta.build_wheel, True, wheel_directory, config_settings, metadata_directory)
    except (Exception, SystemExit) as error:  # mypyc ends the process when it has found something wrong
        if _wish() == "1":
            raise
        print(f"fakebroker is not compiled, which makes it slower and nothing else: {error!r}", file=sys.stderr)
        for built in Path("build").glob("lib*"):
            shutil.rmtree(built)
        return _build(build_meta.build_wheel, False, wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    return _build(build_meta.build_editable, _wish() == "1", wheel_directory, config_settings, metadata_directory)


def _build(hook: Any, compiled: bool, *arguments: Any) -> str:
    os.environ["FAKEBROKER_COMPILING"] = "1" if compiled else "0"  # read by setup.py
    try:
        return str(hook(*arguments))
    finally:
        del os.environ["FAKEBROKER_COMPILING"]
