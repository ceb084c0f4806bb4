"""Find the tests that a change can break, by import graph and by the code that tests execute: `python -m
tests.affected`."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)  # pytest puts it there; the packages of the tests import each other by their own names
