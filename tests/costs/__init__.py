"""The cost and coverage table: what each test takes, and which lines it executes. `python -m tests.costs` makes it."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)  # pytest puts it there; the packages of the tests import each other by their own names
