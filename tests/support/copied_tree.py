"""A copy of the tree, in which something is added, and what its tests say then."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("fakebroker", "timingwheel", "load", "conformance", "benchmarks", "tests", "docs")
COMPILED = ("fakebroker", "timingwheel")  # to bytecode: more than a second
KINDS = (".py", ".md", ".toml", ".txt")


class CopiedTree:
    """A copy of this checkout below a folder, without what is built. The library's bytecode comes along: it stays
    valid, since the files keep their times."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in FOLDERS:
            left_out = ["*.so", "build"] if folder in COMPILED else ["*.so", "build", "__pycache__"]
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns(*left_out))
        for path in ROOT.glob("*.*"):
            if path.suffix in (".toml", ".md"):
                shutil.copy(path, root)

    def run(self, *arguments: str) -> str:
        """Return the output of Python in the copy. Its tests run in their daily dose, whatever runs here."""
        paths = os.pathsep.join(map(str, (self.root, self.root / "tests", self.root / "load")))
        outer = {
            name: value for name, value in os.environ.items() if not name.startswith(("FAKEBROKER_", "HYPOTHESIS_"))
        }
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=outer | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def failures(self, *tests: str) -> set[str]:
        """Return the tests that fail, by their ids. Some have to pass."""
        said = self.run("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", *tests)
        assert re.search(r"\d+ passed", said), said
        return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE))

    def changed(self) -> set[str]:
        """Return the files that are not as they are here."""
        paths = [path for path in self.root.rglob("*") if path.suffix in KINDS]
        twins = [ROOT / path.relative_to(self.root) for path in paths]
        return {
            path.relative_to(self.root).as_posix()
            for path, twin in zip(paths, twins, strict=True)
            if not twin.exists() or twin.read_bytes() != path.read_bytes()
        }
