"""The build of the package: by setuptools, with its hot modules compiled by mypyc if possible.

A wheel is compiled if the machine can do it. Without a C compiler or mypy, or after any error, the wheel is slower, and
otherwise equal. `pip install --editable` installs the source itself, so that you can edit it.
FAKEBROKER_COMPILE=0 never compiles. FAKEBROKER_COMPILE=1 always compiles, editable or not, and fails if it cannot.
FAKEBROKER_COMPILE=all also adds the modules that only simulations, producers and oracles need. compiled.toml names the
modules, and setup.py compiles them.

Each build except an editable one runs in a copy of the checkout, in its own temporary folder. Setuptools writes to
./build and ./*.egg-info, and leaves files there. Two builds in the checkout would overwrite each other's files.

Source   PEP 517 (build hooks), PEP 660 (editable installs); setuptools.build_meta.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036  before anything that an old Python does not have
    sys.exit(f"fakebroker needs Python 3.11 or later; this is Python {sys.version.split()[0]}, {sys.executable}")

import contextlib
import os
import re
import shutil
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from setuptools import build_meta

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

# Other versions may translate the source differently. The tests ran with this one.
MYPY = "mypy[mypyc]>=2.4,<2.5"
# The dependencies that compiled modules import (tests/test_build_backend.py).
IMPORTED = {"crc32c", "kio", "librt", "mypy_extensions"}
# Generated files are no part of a build, nor are the tests, which are most of the files.
MADE = ("__pycache__", "*.egg-info", "*.so", "*.pyd")
NOT_BUILT = {"build", "dist", "tests"}  # in the checkout; a package may be called so


def _wish() -> str:
    """Return the value of FAKEBROKER_COMPILE, "" by default. Raises SystemExit, with a sentence, if it is invalid."""
    wish = os.environ.get("FAKEBROKER_COMPILE", "")
    if wish not in ("", "0", "1", "all"):
        raise SystemExit(f"FAKEBROKER_COMPILE is {wish!r}; it can be 0 (never compile), 1 (compile or fail) or all.")
    return wish


def _insists() -> bool:
    """Return True if a build that cannot compile must fail."""
    return _wish() in ("1", "all")


def _has_compiler() -> bool:
    command = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    return sys.implementation.name == "cpython" and (sys.platform == "win32" or shutil.which(command) is not None)


def _requirements() -> list[str]:
    """Return the requirements of compilation: mypyc, and the dependencies that the compiled modules import. mypyc reads
    their types to translate the modules."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [MYPY, *(each for each in project["dependencies"] if re.split(r"[^\w.-]", each)[0] in IMPORTED)]


# These do not call setuptools: setup.py requires nothing, and the call would leave an egg-info in the checkout.


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return _requirements() if _insists() or (_wish() != "0" and _has_compiler()) else []


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    return []


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return _requirements() if _insists() else []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    target = os.path.abspath(metadata_directory)
    with _copy_of_checkout():
        return str(build_meta.prepare_metadata_for_build_wheel(target, config_settings))


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Any = None) -> str:
    target = os.path.abspath(metadata_directory)
    with _copy_of_checkout():
        return str(build_meta.prepare_metadata_for_build_editable(target, config_settings))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    target = os.path.abspath(sdist_directory)
    with _copy_of_checkout():
        return str(build_meta.build_sdist(target, config_settings))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    # From the copy, a relative path would lead elsewhere.
    target = os.path.abspath(wheel_directory)
    metadata = None if metadata_directory is None else os.path.abspath(metadata_directory)

    def build(compiling: str) -> str:
        with _copy_of_checkout():
            return _build(build_meta.build_wheel, compiling, target, config_settings, metadata)

    if _wish() == "0" or not (_insists() or _has_compiler()):
        return build("0")
    try:
        return build("all" if _wish() == "all" else "1")
    except (Exception, SystemExit) as error:  # mypyc raises SystemExit after an error
        if _insists():
            raise
        print(f"fakebroker is not compiled, which makes it slower and nothing else: {error!r}", file=sys.stderr)
        return build("0")


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build in the checkout itself, since the installation is the path to it."""
    compiling = _wish() if _insists() else "0"
    return _build(build_meta.build_editable, compiling, wheel_directory, config_settings, metadata_directory)


@contextlib.contextmanager
def _copy_of_checkout() -> Iterator[None]:
    """Change into a temporary copy of the current folder, which is the checkout (PEP 517)."""
    made = shutil.ignore_patterns(*MADE)

    def ignored(folder: str, names: list[str]) -> set[str]:
        found = {name for name in names if name.startswith(".") or Path(folder, name, "pyvenv.cfg").exists()}
        return found | made(folder, names) | (NOT_BUILT if folder == os.curdir else set())

    with tempfile.TemporaryDirectory(prefix="fakebroker-build-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, "source")
        shutil.copytree(os.curdir, copy, symlinks=True, ignore=ignored)
        with contextlib.chdir(copy):
            yield


def _build(hook: Any, compiling: str, *arguments: Any) -> str:
    os.environ["FAKEBROKER_COMPILING"] = compiling  # read by setup.py
    try:
        return str(hook(*arguments))
    finally:
        del os.environ["FAKEBROKER_COMPILING"]
