"""Programs of the documentation, each run in a process of its own that has the clients imported already.

Theory   Importing the package and three clients takes longer than most of these programs. A server that has done it
         forks a process for each of them; the program is read from its file and runs as `__main__`.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import warnings
from pathlib import Path

LIMIT_S = 120
IMPORTED = ("support.recipes", "fakebroker", "fakebroker.server", "aiokafka", "confluent_kafka", "kafka", "pytest")


def run_recipe(script: Path) -> tuple[int | None, str]:
    """Run a program in its own folder. Return its exit status, None if it did not end, and what it printed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    said = script.with_suffix(".said")
    process = context.Process(target=_run, args=(script, said))
    process.start()
    process.join(LIMIT_S)
    status = process.exitcode
    if status is None:
        process.kill()
        process.join()
    process.close()
    return status, said.read_text() if said.exists() else ""


def _run(script: Path, said: Path) -> None:
    with said.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(script.parent)
    sys.argv = [str(script)]
    warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
    runpy.run_path(str(script), run_name="__main__")
