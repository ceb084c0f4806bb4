"""The import graph of the checkout: what a change of a file affects, and at which distance.

An edge leads from a file to each module that it imports, and to the packages around that module. Edges that no import
statement shows are added:

- a string that is the name of a module (`import_module`); lazy attributes of a package, for those that use them;
- a file of a package that looks for modules (`iter_modules`, `walk_packages`) depends on all below its folder;
- a test depends on the conftest.py of its folders;
- a test that starts processes depends on the command line, and a test that uses the pytest plugin on the plugin;
- a data file, and a program that nothing imports, is read by the files with a string that is its name. If there are
  none, the name of a folder around it counts: the innermost one that is not also the name of a folder of code;
- tests/test_architecture.py reads every file of the packages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from affected.facts import Facts, all_facts, module_names

CODE = ("fakebroker", "timingwheel", "load", "conformance", "benchmarks", "examples", "tests")
COMMAND_LINE = ("fakebroker/cli.py", "fakebroker/__main__.py")
PLUGIN = "fakebroker/testing/plugin/hooks.py"
LINKS = "tests/test_links.py"  # reads every page
ARCHITECTURE = "tests/test_architecture.py"
PACKAGES = ("fakebroker/", "timingwheel/", "load/", "conformance/")  # that the test of the architecture reads
PROGRAMS = ("examples/", "tests/")  # here, files that nothing imports are run as programs


class ImportGraph:
    """Files are named by their path from the root, with slashes."""

    def __init__(self, root: Path, cache: Path | None = None) -> None:
        self.files = sorted(
            path.relative_to(root).as_posix() for folder in CODE for path in (root / folder).rglob("*.py")
        )
        self.tests = [file for file in self.files if is_test(file)]
        self._importers: dict[str, set[str]] = {}  # by module name
        self._readers: dict[str, set[str]] = {}  # by a string that may be the name of a file or of a folder
        self._forced: dict[str, set[str]] = {}  # by path: dependents that no import shows
        self._folders_of_code = {PurePosixPath(file).parent.name for file in self.files}
        modules = {name for file in self.files for name in module_names(file)}
        facts = all_facts(root, self.files, cache)
        lazy = {name: module for fact in facts.values() for name, module in fact.lazy.items()}
        for file, facts_ in facts.items():
            self._add(file, facts_, modules, lazy)

    def dependents(self, path: str) -> dict[str, int] | None:
        """Return the files that a change of `path` can affect, with their distances; the file itself has 0. `path` may
        be gone. None for a file that nothing seems to read."""
        distances = {path: 0} if path.endswith(".py") else {}
        if not path.endswith(".py"):
            distances |= dict.fromkeys(sorted(self.readers(path)), 1)
        if path.startswith(PACKAGES) and path.endswith(".py") and ARCHITECTURE in self.files:
            distances[ARCHITECTURE] = 1
        if not distances:
            return None
        queue = deque(distances)
        while queue:
            file = queue.popleft()
            for dependent in self._direct(file):
                if dependent not in distances:
                    distances[dependent] = distances[file] + 1
                    queue.append(dependent)
        return distances

    def readers(self, path: str) -> set[str]:
        """Return the files that name a data file, or else a folder that it lies in."""
        parts = PurePosixPath(path).parts
        files = set(self._readers.get(path, ())) | self._readers.get(parts[-1], set())
        for folder in reversed(parts[:-1]):
            if files:
                break
            is_top = folder == parts[0] and not path.startswith("tests/")
            if folder not in self._folders_of_code or is_top:
                files = set(self._readers.get(folder, ()))
        if path.endswith(".md"):
            files |= {LINKS} & set(self.files)
        return files

    def _direct(self, file: str) -> set[str]:
        if self._is_program(file):
            return self.readers(file)
        names = module_names(file)
        return self._forced.get(file, set()).union(*(self._importers.get(name, set()) for name in names))

    def _is_program(self, file: str) -> bool:
        if not file.startswith(PROGRAMS) or is_test(file) or file.endswith(("/conftest.py", "/__main__.py")):
            return False
        return not any(name in self._importers for name in module_names(file))

    def _add(self, file: str, facts: Facts, modules: set[str], lazy: dict[str, str]) -> None:
        names = {*facts.imports, *(lazy[name] for name in (*facts.imports, *facts.used) if name in lazy)}
        if not facts.lazy:  # the strings of a package with lazy attributes are theirs
            names.update(name for name in facts.strings if "." in name and name in modules)
        for name in names:
            for module in (name, *enclosing(name)):
                self._importers.setdefault(module, set()).add(file)
        for string in facts.strings:
            self._readers.setdefault(string, set()).add(file)
        for needed in self._needed(file, facts.words):
            self._forced.setdefault(needed, set()).add(file)

    def _needed(self, file: str, words: Iterable[str]) -> Iterable[str]:
        if file.startswith("tests/"):
            yield from (conftest for conftest in conftests(file) if conftest != file)
            if "subprocess" in words:
                yield from COMMAND_LINE
            if "kafka_cluster" in words or "pytester" in words:
                yield PLUGIN
        elif "iter_modules" in words or "walk_packages" in words:
            folder = file.rpartition("/")[0]
            yield from (
                test_file for test_file in self.files if test_file.startswith(f"{folder}/") and test_file != file
            )


def is_test(file: str) -> bool:
    return file.startswith("tests/") and PurePosixPath(file).name.startswith("test_") and file.endswith(".py")


def enclosing(name: str) -> list[str]:
    """Return the packages around a module."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


def conftests(file: str) -> list[str]:
    """Return the places of a conftest.py that applies to a test file."""
    return [f"{folder}/conftest.py" for folder in PurePosixPath(file).parents if str(folder) != "."]
