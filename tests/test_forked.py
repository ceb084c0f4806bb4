"""Programs that share their imports (support/forked.py, support/forked_processes.py)."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.forked import Forks
from support.forked_processes import ADOPTS_ORPHANS, ForkedProcess, LivingForks
from support.watchdog import LIMIT_S


def test_a_program_that_hangs_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "hangs.py"
    program.write_text("import signal\nsignal.alarm(0)\nwhile True:\n    signal.pause()")
    limit_s = 1  # it never ends by itself
    with Forks("", limit_s) as forks:
        assert forks.run(program, cwd=tmp_path).returncode == -signal.SIGKILL


def test_each_program_has_its_arguments_output_and_status(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(sys.argv[1])\nsys.exit(int(sys.argv[2]))")
    with Forks("") as forks:
        for word, status in (("one", 3), ("two", 0)):
            ended = forks.run(program, word, str(status), cwd=tmp_path)
            assert (ended.returncode, ended.stdout, ended.stderr) == (status, f"{word}\n", "")


SAY = "import os, sys; print(sys.argv[1:], os.getcwd(), os.environ['WORD'], os.getppid(), input()); sys.exit(3)"
of_linux = pytest.mark.skipif(not ADOPTS_ORPHANS, reason="orphans are not adopted there")


@of_linux
def test_a_forked_process_is_a_child_with_its_own_arguments_streams_and_status(tmp_path: Path) -> None:
    with LivingForks("") as forks, (tmp_path / "err").open("w+") as stderr:
        options = {"cwd": tmp_path, "env": {"WORD": "w"}, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with ForkedProcess(forks, ["-c", SAY, "a", "b"], stderr=stderr, **options) as process:
            out, _ = process.communicate("said", LIMIT_S)
        with ForkedProcess(forks, ["-c", "1 / 0"], stderr=stderr) as failing:
            assert failing.wait(LIMIT_S) == 1
        stderr.seek(0)
        assert stderr.read().endswith("ZeroDivisionError: division by zero\n")

    assert (process.returncode, out) == (3, f"['a', 'b'] {tmp_path} w {os.getpid()} said\n")


@of_linux
def test_a_forked_process_can_be_killed_while_others_live() -> None:
    wait = ["-c", "print('begun', flush=True); input()"]
    with LivingForks("") as forks:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with ForkedProcess(forks, wait, **pipes) as first, ForkedProcess(forks, wait, **pipes) as second:
            assert first.stdout is not None
            assert first.stdout.readline() == "begun\n"
            first.kill()
            assert first.wait(LIMIT_S) == -signal.SIGKILL
            assert second.communicate("\n", LIMIT_S)[0] == "begun\n"
            assert second.returncode == 0
