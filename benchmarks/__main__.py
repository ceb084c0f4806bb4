"""`python -m benchmarks NAME [options]` runs one benchmark, `python -m benchmarks` all of them in turn.

A benchmark is a module of this package with `main(argv) -> int`. Its purpose is the first line of its docstring. A
package is a benchmark if its `__main__` is such a module. Other packages hold parts. A new benchmark needs only the
file.

Options: --quick (all of them in about five minutes), --json (one line for each).
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import benchmarks

HERE = Path(__file__).resolve().parent
# `report` and `curve` write pages, `guard` compares instructions, `modules` takes twenty minutes.
NOT_IN_ALL = {"curve", "guard", "modules", "report"}
# In full they take ten minutes and more: for when their subject is changed.
ALWAYS_QUICK = {"wheel", "producers", "verdict", "load", "turns"}


def names() -> list[str]:
    modules = pkgutil.iter_modules(benchmarks.__path__)
    return sorted(
        module.name
        for module in modules
        if not module.name.startswith("_") and (not module.ispkg or (HERE / module.name / "__main__.py").exists())
    )


def module_of(name: str) -> ModuleType:
    is_package = (HERE / name).is_dir()
    return importlib.import_module(f"benchmarks.{name}.__main__" if is_package else f"benchmarks.{name}")


def run(name: str, argv: list[str]) -> int:
    return int(module_of(name).main(argv))


def run_all(argv: list[str]) -> int:
    """One after the other; what fails does not keep the rest from running."""
    status = 0
    for name in names():
        if name in NOT_IN_ALL:
            continue
        quick = ["--quick"] if name in ALWAYS_QUICK and "--quick" not in argv else []
        try:
            status = max(status, run(name, argv + quick))
        except Exception as error:
            print(f"benchmarks {name}: failed: {type(error).__name__}: {error}", file=sys.stderr)
            status = 1
    return status


def main(argv: list[str]) -> int:
    if argv and argv[0] in names():
        return run(argv[0], argv[1:])
    if argv and not argv[0].startswith("-"):
        print(f"no benchmark {argv[0]!r}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    if argv and argv[0] in {"-h", "--help"}:
        print(__doc__)
        for name in names():
            purpose = (module_of(name).__doc__ or "").strip().splitlines()
            print(f"  {name:<12} {purpose[0] if purpose else ''}")
        return 0
    if unknown := [option for option in argv if option not in {"--quick", "--json"}]:
        print(f"no option {unknown[0]!r}; there are: --quick, --json", file=sys.stderr)
        return 2
    return run_all(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
