"""Do the tests notice slips in the code? `python -m tests.mutants` asks: chosen slips, or random ones."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)  # pytest puts it there; the packages of the tests import each other by their own names
