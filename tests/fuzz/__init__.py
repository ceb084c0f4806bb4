"""Fuzzing: frames of every API and version, mutated, by the million; `python -m tests.fuzz --help`."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)  # pytest puts it there; for `support`
