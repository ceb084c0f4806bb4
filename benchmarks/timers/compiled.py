"""The package's own compiled timing wheel: the copy that runs here, the one that `make bench` uses, or a build of it.

It is compiled as users get it, by setup.py and build_backend.py. No text of the source is looked for or patched.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from importlib.metadata import version
from pathlib import Path

import timingwheel.wheel
from benchmarks import modules
from benchmarks.machine.programs import HERE, Missing

ROOT = HERE.parent
PACKAGE = "timingwheel"
SETUPTOOLS = 77  # as pyproject.toml asks for


def compiled_wheel(folder: Path, timeout_s: float) -> Path:
    """A folder from which `import timingwheel` gives the compiled one, of the source as it is now; built in `folder` if
    there is none. Raises Missing without a C compiler, RuntimeError if the build fails."""
    for copy in (Path(timingwheel.wheel.__file__).parent.parent, ROOT / "build" / "compiled"):
        if is_compiled(copy) and is_of_this_source(copy):
            return copy
    if shutil.which(os.environ.get("CC", "cc")) is None:
        raise Missing("no C compiler on this machine")
    listed = modules.compiled_modules((ROOT / modules.LIST).read_text())
    folder.mkdir()
    try:
        others = [module for module in listed if not module.startswith(f"{PACKAGE}/")]
        copy = modules.build(folder, others, timeout_s, isolated=not can_build_here(), wish="all")
    except Missing as reason:  # there is all it takes, so this is a mistake of ours
        raise RuntimeError(str(reason)) from None
    if not is_compiled(copy):
        raise RuntimeError("the build is not compiled")
    return copy


def can_build_here() -> bool:
    """Return True if the tools that compile are installed in usable versions: then nothing has to be fetched."""
    if importlib.util.find_spec("mypyc") is None:
        return False
    return int(version("setuptools").split(".")[0]) >= SETUPTOOLS


def is_compiled(copy: Path) -> bool:
    return any(path.suffix in {".so", ".pyd"} for path in (copy / PACKAGE).glob("wheel.*"))


def is_of_this_source(copy: Path) -> bool:
    """A wheel has the source beside what was compiled from it."""
    return sources(copy) == sources(ROOT)


def sources(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / PACKAGE).glob("*.py")}
