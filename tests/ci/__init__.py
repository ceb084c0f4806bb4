"""What CI runs, by what changed; the nightly run of everything; the search for tests that fail by luck."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parents[1])
if TESTS not in sys.path:  # `python -m tests.ci`; pytest has it there
    sys.path.append(TESTS)
