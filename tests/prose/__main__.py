"""Print the problems of prose and names of tests: `python -m tests.prose [--count] [PATH...]`.

The default is the paths that are clean. The exit status is 1 if there is a problem. `--count` prints the number of
problems for each folder and each rule instead.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import PurePosixPath

from . import names, pronouns
from .lint import CLEAN, problems


def main(argv: list[str]) -> int:
    paths = [argument for argument in argv if argument != "--count"] or list(CLEAN)
    of_names = [
        problem
        for problem in (*names.problems(), *pronouns.problems())
        if any(PurePosixPath(problem.path).is_relative_to(path) for path in paths)
    ]
    broken = [*problems(paths), *of_names]
    if "--count" in argv:
        counts = Counter((str(PurePosixPath(problem.path).parent), problem.rule) for problem in broken)
        for (folder, rule), count in sorted(counts.items()):
            print(f"{count:5} {rule:8} {folder}")
    else:
        for problem in broken:
            print(problem)
    print(f"{len(broken)} problems", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
