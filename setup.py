"""How mypyc compiles the modules that compiled.toml names, for build_backend.py. Everything else is in pyproject.toml.

FAKEBROKER_COMPILING   "0" compiles nothing, "1" the modules of [serve], "all" those of [all] too (build_backend.py)
FAKEBROKER_OBJECTS     a folder that keeps compiled C files: one whose text, headers and flags are known is not compiled
                       again (`make compiled`)
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# Where [serve] alone is compiled, compiling has to be quick: gcc takes half the time that -O2 takes (docs/speed.md).
QUICK_TO_COMPILE = ["-O1", "-finline-small-functions", "-foptimize-sibling-calls", "-fstrict-aliasing"]
# All modules are one library, whose functions nothing replaces: they call each other directly, and Python's without the
# detour by a table. A tenth of the time of a simulation.
CALLED_DIRECTLY = ["-fno-semantic-interposition", "-fno-plt"]
LINKED_DIRECTLY = ["-Wl,-Bsymbolic-functions", "-Wl,-z,now"]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
HEADERS = ("__native_fakebroker.h", "__native_internal_fakebroker.h")


def extensions(wish: str) -> list[Extension]:
    """The library and, for each module, what lets Python import it from there."""
    from mypyc.build import mypycify

    groups = tomllib.loads(Path("compiled.toml").read_text(encoding="utf-8"))
    chosen = [*groups["serve"].values(), *(groups["all"].values() if wish == "all" else [])]
    # Not pyproject's settings for mypy. What else the modules import is looked at for its types alone.
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", "--python-version=3.11"]
    made: list[Extension] = mypycify(
        [*options, *(module for group in chosen for module in group)],
        opt_level="2",
        debug_level="0",
        group_name="fakebroker",
        multi_file=True,
    )
    if sys.platform == "linux":
        for each in made:  # mypyc gives all of them the same lists
            each.extra_compile_args = [
                *each.extra_compile_args,
                *([] if wish == "all" else QUICK_TO_COMPILE),
                *CALLED_DIRECTLY,
            ]
            each.extra_link_args = [*(each.extra_link_args or []), *LINKED_DIRECTLY]
    return made


class BuildInParallel(build_ext):
    """As many compilers at once as there are cores, each for one C file."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or CORES

    def build_extensions(self) -> None:
        compile_some = self.compiler.compile
        pool = ThreadPoolExecutor(CORES)

        def compile_one(source: str, options: dict[str, Any]) -> list[str]:
            [target] = self.compiler.object_filenames([source], output_dir=options["output_dir"])
            kept = self._kept(source, options)
            if kept is not None and kept.exists():
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(kept, target)
                return [target]
            made: list[str] = compile_some([source], **options)
            if kept is not None:
                part = kept.with_suffix(f".{os.getpid()}")
                shutil.copy(target, part)
                part.replace(kept)
            return made

        def compile_all(sources: list[str], **options: Any) -> list[str]:
            if len(sources) == 1:  # one of the small ones, which `parallel` deals to threads
                return compile_one(sources[0], options)
            options["extra_postargs"] = [*options["extra_postargs"], *self._precompiled_headers(options)]
            return [made for each in pool.map(lambda one: compile_one(one, options), sources) for made in each]

        self.compiler.compile = compile_all
        with pool:
            super().build_extensions()

    def _kept(self, source: str, options: dict[str, Any]) -> Path | None:
        folder = os.environ.get("FAKEBROKER_OBJECTS")
        if not folder:
            return None
        from mypy.version import __version__ as mypy_version

        flags = [*self.compiler.compiler_so, *options["extra_postargs"]]
        # Without paths: the build runs in a temporary folder, another one each time.
        told = [sys.version, mypy_version, *(flag for flag in flags if os.path.sep not in flag)]
        digest = hashlib.sha256("\0".join(told).encode())
        digest.update(Path(source).read_bytes())
        if os.path.basename(source).startswith("__native"):
            digest.update(_headers(os.path.dirname(source)))
        os.makedirs(folder, exist_ok=True)
        return Path(folder, digest.hexdigest() + ".o")

    def _precompiled_headers(self, options: dict[str, Any]) -> Sequence[str]:
        """The flags by which gcc reads the headers of all modules once, not once a module: an eighth of its time."""
        if sys.platform != "linux" or not all(os.path.exists(os.path.join("build", name)) for name in HEADERS):
            return []
        compiler = list(self.compiler.compiler_so)
        version = subprocess.run([compiler[0], "--version"], capture_output=True, text=True, check=False).stdout
        if "Free Software Foundation" not in version:
            return []
        header = os.path.abspath(os.path.join("build", "fakebroker_precompiled.h"))
        text = "".join(f'#include "{name}"\n' for name in HEADERS)
        Path(header).write_text(text, encoding="utf-8")
        folders = [f"-I{folder}" for folder in [*options["include_dirs"], *self.compiler.include_dirs]]
        command = [*compiler, *folders, *options["extra_postargs"], "-x", "c-header", header, "-o", f"{header}.gch"]
        done = subprocess.run(command, capture_output=True, check=False)
        return ["-include", header] if done.returncode == 0 else []


@cache
def _headers(folder: str) -> bytes:
    """All headers that mypyc has made."""
    return b"".join(path.read_bytes() for path in sorted(Path(folder).glob("__native*.h")))


wish = os.environ.get("FAKEBROKER_COMPILING", "0")
setup(ext_modules=extensions(wish) if wish != "0" else [], cmdclass={"build_ext": BuildInParallel})
