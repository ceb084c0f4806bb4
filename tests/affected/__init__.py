"""Which tests can a change break? `python -m tests.affected` tells, by import graph and by what tests execute."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)  # pytest puts it there; the packages of the tests import each other by their own names
