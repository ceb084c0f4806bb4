"""The parts of CI that a change needs; the nightly run of everything; the search for flaky tests."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in sys.path:  # `python -m tests.ci`; pytest has it there
    sys.path.append(TESTS)
