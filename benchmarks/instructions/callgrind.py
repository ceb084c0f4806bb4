"""Counts the instructions of the work with valgrind's callgrind, in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.instructions.work import MARK, WORKS
from benchmarks.machine.programs import HERE, Missing

LIMIT_S = 600
CALIBRATION = next(iter(WORKS))

Counts = dict[str, int]  # instructions per operation, by work


def count(package: Path | None = None) -> Counts:
    """Run the work under callgrind, with the package that stands in that folder if one is given. Raises Missing where
    that is not possible."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise Missing("no `valgrind` on this machine")
    path = os.environ.get("PYTHONPATH") if package is None else str(package)
    with tempfile.TemporaryDirectory(prefix="benchmarks-guard-") as folder:
        command = [valgrind, "--tool=callgrind", f"--dump-before={MARK}", f"--callgrind-out-file={folder}/out"]
        # No more environment than needed: it lies on the stack, and where things lie changes the order of sets.
        environment = {
            "PATH": os.environ.get("PATH", ""),
            # What stands in PYTHONPATH first: it may be a compiled copy, and this folder holds the source.
            "PYTHONPATH": os.pathsep.join([*filter(None, [path]), str(HERE.parent)]),
            "PYTHONSAFEPATH": "1",
            "PYTHONHASHSEED": "0",
            "LC_ALL": "C.UTF-8",
        }
        done = subprocess.run(
            [*command, sys.executable, "-m", "benchmarks.instructions.work"],
            cwd=HERE.parent,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the work failed under valgrind:\n{done.stderr[-2000:]}")
        dumps = [path.read_text() for path in Path(folder).iterdir()]
    return per_operation(dumps)


def per_operation(dumps: list[str]) -> Counts:
    """Return the counts per operation from the files of callgrind. Parts 2, 4, 6... lie between two marks. Raises
    Missing if they do not."""
    totals = {}
    for dump in dumps:
        part, total = re.search(r"^part: (\d+)$", dump, re.MULTILINE), re.search(r"^totals: (\d+)$", dump, re.MULTILINE)
        if part is not None and total is not None:
            totals[int(part[1])] = int(total[1])
    if len(totals) != 2 * len(WORKS) + 1:
        raise Missing(f"callgrind found {len(totals) - 1} of {2 * len(WORKS)} marks: its view of the C library differs")
    return {
        name: round(totals[2 * number] / operations)
        for number, (name, (_, operations)) in enumerate(WORKS.items(), start=1)
    }
