"""`python -m benchmarks [NAME ...] [--quick] [--json]`: run benchmarks; without a name, all of them.

A benchmark is a module of this package with a function `main(quick: bool, as_json: bool) -> None`.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Benchmarks, side by side with peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(NAMES)}; all if none is named")
    parser.add_argument("--quick", action="store_true", help="shorter runs, rougher figures")
    parser.add_argument("--json", action="store_true", help="one JSON line each instead of tables")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {min(unknown)!r}; there are: {', '.join(NAMES)}")
    for name in options.names or NAMES:
        import_module(f"benchmarks.{name}").main(quick=options.quick, as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
