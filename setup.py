"""Compile the modules of compiled.toml with mypyc. build_backend.py calls it; everything else is in pyproject.toml.

mypyc translates the modules to C files, which become one library. Most of this file makes the C compiler faster.

FAKEBROKER_COMPILING   "0" compiles nothing, "1" the modules of [serve], "all" those of [all] too (build_backend.py)
FAKEBROKER_OBJECTS     a folder for object files. A C file is not compiled again if the folder has its object file, with
                       equal text, headers and flags (`make compiled`)
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
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

# A build of [serve] alone is part of a plain install, so it must be quick. With these flags gcc takes two thirds of the
# time of -O2 (docs/speed.md). Points-to analysis would take a tenth of the rest, and hardly changes mypyc's code.
# The plain allocation of registers takes an eighth less, and the code as many instructions.
# The modules in `cold` are compiled with -Og, in two thirds of the time of -O1.
QUICK_TO_COMPILE = [
    "-O1",
    "-finline-small-functions",
    "-foptimize-sibling-calls",
    "-fstrict-aliasing",
    "-fno-tree-pta",
    "-fno-asynchronous-unwind-tables",  # of use to debuggers alone; a tenth of the library
    "-fira-region=one",
    "-fira-algorithm=priority",
]
COLD = ["-Og"]
# mypyc passes -Werror. A gcc that is newer than mypyc may have a new warning, which would end the install.
NO_WARNINGS = ["-w"]
# All modules are in one library, and nothing replaces its functions. So they call each other directly, and functions of
# Python without the PLT. This saves a tenth of the time of a simulation.
CALLED_DIRECTLY = ["-fno-semantic-interposition", "-fno-plt"]
LINKED_DIRECTLY = ["-Wl,-Bsymbolic-functions", "-Wl,-z,now"]
# No compiled module of another room imports anything of these (tests/test_architecture.py).
NOT_READ = ("fakebroker.producer.*", "fakebroker.producing.*", "fakebroker.server.*")
# The package itself imports these rooms, and mypy takes a third of its time to read them. Modules of [serve] do not
# import them (tests/test_architecture.py).
NOT_READ = "fakebroker.producer.*,fakebroker.producing.*,fakebroker.server.*"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
HEADERS = ("__native_fakebroker.h", "__native_internal_fakebroker.h")

# The C file that mypyc makes for a module gets the module's initialization from a capsule of the library, by this call.
ENTRY = re.compile(r'PyCapsule_GetPointer\(capsule, "fakebroker__mypyc\.(init_\w+)"\)')
ENTRIES = """
#include <Python.h>

static PyObject *enter(const char *name, const char *full_name) {
    PyObject *list = Py_BuildValue("(s)", "*");  /* not empty: the library itself is returned, not its package */
    if (list == NULL) return NULL;
    PyObject *library = PyImport_ImportModuleLevel("fakebroker__mypyc", NULL, NULL, list, 0);
    Py_DECREF(list);
    if (library == NULL) return NULL;
    PyObject *capsule = PyObject_GetAttrString(library, name);
    Py_DECREF(library);
    if (capsule == NULL) return NULL;
    void *init = PyCapsule_GetPointer(capsule, full_name);
    Py_DECREF(capsule);
    return init == NULL ? NULL : ((PyObject *(*)(void))init)();
}

#define ENTRY(last, name) PyMODINIT_FUNC PyInit_##last(void) { return enter(name, "fakebroker__mypyc." name); }
"""


def extensions(wish: str) -> list[Extension]:
    """Return the library and, for each module, a small extension by which Python imports it from the library."""
    from mypyc.build import mypycify

    groups = _listed()
    chosen = [*groups["serve"].values(), *(groups["all"].values() if wish == "all" else [])]
    # pyproject's settings for mypy are not used. Other modules that these import are read for their types alone. The
    # package itself imports everything, so rooms above those that are compiled are named, and not read.
    settings = Path("build", "types.ini")
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"[mypy]\n[mypy-{','.join(NOT_READ)}]\nfollow_imports = skip\n", encoding="utf-8")
    options = [f"--config-file={settings}", "--ignore-missing-imports", "--follow-imports=silent"]
    options += ["--python-version=3.11"]
    made: list[Extension] = mypycify(
        [*options, *(module for group in chosen for module in group)],
        opt_level="2",
        debug_level="0",
        group_name="fakebroker",
        multi_file=True,
    )
    gc.freeze()  # otherwise Python frees mypyc's trees at its end: a tenth of the time of an install
    if sys.platform == "linux":
        for each in made:  # mypyc gives all extensions the same lists, so each gets its own
            each.extra_compile_args = [
                *each.extra_compile_args,
                *([] if wish == "all" else QUICK_TO_COMPILE),
                *CALLED_DIRECTLY,
                *NO_WARNINGS,
            ]
            each.extra_link_args = [*(each.extra_link_args or []), *LINKED_DIRECTLY]
    return made


def _not_to_read() -> str:
    """Write settings for mypy by which it does not read NOT_READ, and return their path."""
    path = Path("build", "types.ini")
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[mypy]\n[mypy-{NOT_READ}]\nfollow_imports = skip\n", encoding="utf-8")
    return str(path)


class BuildInParallel(build_ext):
    """The build command. It runs one compiler for each core at a time, each on one C file."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or CORES

    def build_extensions(self) -> None:
        copies = self._merge_entries()
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
            if len(sources) == 1:  # a small extension: setuptools builds these in parallel already
                return compile_one(sources[0], options)
            jobs: list[tuple[str, dict[str, Any]]] = []
            for number, (flags, chosen) in enumerate(_by_flags(sources)):
                ours = {**options, "extra_postargs": [*options["extra_postargs"], *flags]}
                ours["extra_postargs"] += self._precompiled_headers(ours, number)
                jobs += [(source, ours) for source in _bundles(chosen, number)]
            return [made for each in pool.map(lambda job: compile_one(*job), jobs) for made in each]

        self.compiler.compile = compile_all
        every = self.extensions
        self.extensions = [each for each in every if each.name in copies or len(each.sources) > 1]
        with pool:
            super().build_extensions()
        self.extensions = every  # setuptools lists their files afterwards
        for name, paths in copies.items():
            for path in paths:
                self.mkpath(os.path.dirname(path))
                self.copy_file(self.get_ext_fullpath(name), path)

    def _merge_entries(self) -> dict[str, list[str]]:
        """Merge the small extensions of modules into a few. Return the name of each merged one, with the paths of its
        copies.

        mypyc makes a C file for each module, with the function that Python calls to import it. Python finds the
        function by the last part of the module's name. So modules with different last parts can share one extension, of
        which each gets a copy. Three runs of compiler and linker replace two hundred."""
        entries = [(each, _capsule(each)) for each in self.extensions if len(each.sources) == 1]
        if not all(capsule for _, capsule in entries):  # C files of another mypyc are compiled without a change
            return {each.name: [] for each, _ in entries}
        sheets: list[dict[str, tuple[Extension, str]]] = []
        for each, capsule in entries:
            last = each.name.rpartition(".")[2]
            sheet = next((sheet for sheet in sheets if last not in sheet), None)
            if sheet is None:
                sheets.append(sheet := {})
            sheet[last] = each, capsule
        found: dict[str, list[str]] = {}
        for number, sheet in enumerate(sheets):
            first, *others = (each for each, _ in sheet.values())
            first.sources = [os.path.join("build", f"entries_{number}.c")]
            lines = [f'ENTRY({last}, "{capsule}")' for last, (_, capsule) in sheet.items()]
            Path(first.sources[0]).write_text("\n".join([ENTRIES, *lines, ""]), encoding="utf-8")
            found[first.name] = [self.get_ext_fullpath(each.name) for each in others]
        return found

    def _kept(self, source: str, options: dict[str, Any]) -> Path | None:
        """Return the path of the object file in FAKEBROKER_OBJECTS, named by a digest of all that it depends on."""
        folder = os.environ.get("FAKEBROKER_OBJECTS")
        if not folder:
            return None
        from mypy.version import __version__ as mypy_version

        flags = [*self.compiler.compiler_so, *options["extra_postargs"]]
        # Flags with paths are left out: each build runs in a new temporary folder.
        told = [sys.version, mypy_version, _version(flags[0]), *(flag for flag in flags if os.path.sep not in flag)]
        digest = hashlib.sha256("\0".join(told).encode())
        digest.update(Path(source).read_bytes())
        if os.path.basename(source).startswith("__native"):
            digest.update(_headers(os.path.dirname(source)))
        os.makedirs(folder, exist_ok=True)
        return Path(folder, digest.hexdigest() + ".o")

    def _precompiled_headers(self, options: dict[str, Any], number: int) -> Sequence[str]:
        """Precompile the headers of all modules with these `options`, and return the flags that use the result.

        gcc then parses the headers once instead of once for each module, which saves a tenth of its time. It accepts a
        precompiled header only with the flags of its compilation. So each set of flags has its own one, named by
        `number`. Return no flags if the compiler is not gcc, or fails."""
        if sys.platform != "linux" or not all(os.path.exists(os.path.join("build", name)) for name in HEADERS):
            return []
        compiler = list(self.compiler.compiler_so)
        if "Free Software Foundation" not in _version(compiler[0]):
            return []
        header = os.path.abspath(os.path.join("build", f"fakebroker_precompiled_{number}.h"))
        text = "".join(f'#include "{name}"\n' for name in HEADERS)
        Path(header).write_text(text, encoding="utf-8")
        folders = [f"-I{folder}" for folder in [*options["include_dirs"], *self.compiler.include_dirs]]
        command = [*compiler, *folders, *options["extra_postargs"], "-x", "c-header", header, "-o", f"{header}.gch"]
        done = subprocess.run(command, capture_output=True, check=False)
        return ["-include", header] if done.returncode == 0 else []


@cache
def _listed() -> dict[str, Any]:
    """Return the modules of compiled.toml."""
    return tomllib.loads(Path("compiled.toml").read_text(encoding="utf-8"))


def _by_flags(sources: Sequence[str]) -> list[tuple[Sequence[str], list[str]]]:
    """Return the C files in groups, each with its extra flags. The first group has none."""
    if wish == "all" or sys.platform != "linux":
        return [([], [*sources])]
    cold = {f"__native_{module[:-3].replace('/', '___')}.c" for module in _listed()["cold"]}
    cold.add("__native_fakebroker.c")  # runs once, when the library is loaded
    return [
        ([], [source for source in sources if os.path.basename(source) not in cold]),
        (COLD, [source for source in sources if os.path.basename(source) in cold]),
    ]


def _bundles(sources: Sequence[str], number: int) -> list[str]:
    """Write a few C files that include these, and return them: the start of gcc is a tenth of its time for one file.

    With FAKEBROKER_OBJECTS the object files are kept one by one, so nothing is bundled."""
    ours = [source for source in sources if os.path.basename(source).startswith("__native_")]
    if os.environ.get("FAKEBROKER_OBJECTS") or not ours:
        return [*sources]
    bundles: list[list[str]] = [[] for _ in range(min(4 * CORES, len(ours)))]
    sizes = [0] * len(bundles)
    for source in sorted(ours, key=os.path.getsize, reverse=True):
        smallest = sizes.index(min(sizes))
        bundles[smallest].append(source)
        sizes[smallest] += os.path.getsize(source)
    made = [source for source in sources if source not in ours]
    for count, bundle in enumerate(bundles):
        path = os.path.join(os.path.dirname(bundle[0]), f"bundle_{number}_{count}.c")
        text = "".join(f'#include "{os.path.basename(source)}"\n' for source in bundle)
        Path(path).write_text(text, encoding="utf-8")
        made.append(path)
    return made


@cache
def _version(compiler: str) -> str:
    """Return the output of the compiler's `--version`."""
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout


def _capsule(entry: Extension) -> str:
    """Return the name of the capsule that a C file of mypyc uses; "" if it does not match ENTRY."""
    found = ENTRY.search(Path(entry.sources[0]).read_text(encoding="utf-8"))
    return found[1] if found else ""


@cache
def _headers(folder: str) -> bytes:
    """Return the text of all headers that mypyc has made."""
    return b"".join(path.read_bytes() for path in sorted(Path(folder).glob("__native*.h")))


wish = os.environ.get("FAKEBROKER_COMPILING", "0")
setup(ext_modules=extensions(wish) if wish != "0" else [], cmdclass={"build_ext": BuildInParallel})
