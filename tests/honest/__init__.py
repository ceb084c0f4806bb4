"""Honest runs of the load beside busy loops: no broker is accused; `python -m tests.honest --help`."""

import sys
from pathlib import Path

TESTS = str(Path(__file__).resolve().parent.parent)
if TESTS not in sys.path:
    sys.path.append(TESTS)  # pytest puts it there; for `support`
