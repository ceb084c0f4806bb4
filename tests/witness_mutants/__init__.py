"""Check whether the verdict notices one changed row of an honest run: `python -m tests.witness_mutants`."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
for folder in (str(TESTS), str(TESTS.parent / "load")):
    if folder not in sys.path:
        sys.path.append(folder)  # pytest puts the first one there
