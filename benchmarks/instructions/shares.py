"""The largest share of an operation's time that each module of the package takes, interpreted.

    python -m benchmarks.instructions.shares    the modules of [serve] in compiled.toml, the smallest share first

A share is the time inside a module's own functions, by cProfile, of the time of one operation of `benchmarks guard`.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import tomllib
from collections import Counter

from benchmarks.instructions.work import WORKS
from benchmarks.machine.programs import HERE
from fakebroker import COMPILED

ROOT = HERE.parent
WARM_UP = 100
COUNT = 300


def shares() -> dict[str, tuple[float, str]]:
    """Return, by module ("timingwheel/task.py"), its largest share and the operation that has it."""
    largest: dict[str, tuple[float, str]] = {}
    for name, (make, count) in WORKS.items():
        work = make()
        work(min(count, WARM_UP))
        profile = cProfile.Profile()
        profile.runcall(work, min(count, COUNT))
        times: Counter[str] = Counter()
        for (path, _, _), (_, _, own, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
            times[path.removeprefix(f"{ROOT}/")] += own
        for module, own in times.items():
            largest[module] = max(largest.get(module, (0.0, name)), (own / times.total(), name))
    return largest


def main() -> int:
    if COMPILED:
        print("fakebroker is compiled here; cProfile sees only functions that are interpreted", file=sys.stderr)
        return 2
    by_module = shares()
    served = tomllib.loads((ROOT / "compiled.toml").read_text())["serve"]
    modules = [module for group in served.values() for module in group]
    for module in sorted(modules, key=lambda module: by_module.get(module, (0.0, ""))):
        share, name = by_module.get(module, (0.0, "no operation"))
        print(f"{share:7.2%}  {module}  ({name})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
