"""Copies of the checkout, in which mutants are tried. The checkout itself is never changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutants.draw import ROOT

PACKAGES = ("fakebroker", "timingwheel", "load", "conformance", "benchmarks")


def copy_checkout(folder: Path, root: Path = ROOT) -> Path:
    """Copy every file that git knows or would add, and compile the packages. Compiled files are checked by their hash:
    a mutant of the same size, written in the same second, is never mistaken for the original."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)
    compile_all = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", *PACKAGES]
    subprocess.run(compile_all, cwd=folder, check=True)
    return folder


@contextmanager
def changed(path: Path, text: bytes) -> Iterator[None]:
    """Give a file another text for the time of the block."""
    original = path.read_bytes()
    path.write_bytes(text)
    try:
        yield
    finally:
        path.write_bytes(original)
