"""`python -m benchmarks NAME [options]` runs one benchmark, `python -m benchmarks` all of them in turn.

A benchmark is a module of this package with `main(argv) -> int`, its purpose in the first line of its docstring;
modules that begin with an underscore are parts of others. Adding one takes nothing but the file.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def names() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))


def run(name: str, argv: list[str]) -> int:
    return int(importlib.import_module(f"benchmarks.{name}").main(argv))


def main(argv: list[str]) -> int:
    if argv and argv[0] in names():
        return run(argv[0], argv[1:])
    if argv and not argv[0].startswith("-"):
        print(f"no benchmark {argv[0]!r}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    if argv and argv[0] in {"-h", "--help"}:
        print(__doc__)
        for name in names():
            purpose = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").strip().splitlines()
            print(f"  {name:<12} {purpose[0] if purpose else ''}")
        return 0
    return max([run(name, argv) for name in names()], default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
