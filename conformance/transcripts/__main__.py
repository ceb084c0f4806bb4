"""`python -m conformance.transcripts FILE`: a golden file in words, as `git diff` wants it (tests/golden/README.md)."""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.transcripts.golden import load
from conformance.transcripts.show import golden_lines

if __name__ == "__main__":
    print(*golden_lines(load(Path(sys.argv[1]))), sep="\n")
