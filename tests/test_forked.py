"""Programs that share their imports (support/forked.py)."""

from __future__ import annotations

import signal
from pathlib import Path

from support.forked import Forks


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
