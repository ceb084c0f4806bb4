"""The parts of CI, and the table from paths to the parts that a change of them can break.

CI runs the parts of all files that differ from the newest ancestor that passed on this machine. A path that no row
matches runs every part. So does a commit without such an ancestor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple


class Step(NamedTuple):
    """A command of the README, with the environment that sets its dose."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = MappingProxyType({})

    def __str__(self) -> str:
        return " ".join([*(f"{name}={value}" for name, value in self.environment.items()), *self.command])


def make(*words: str, **environment: str) -> Step:
    return Step(("make", *words), environment)


CHECK, TEST, COMPILED, DEMO, INSTALL = "check", "test", "compiled", "demo", "install"

# In the order in which they run. Live Kafka is asked at night: on a busy machine it answers otherwise now and then,
# which is no verdict on a commit. The tests replay what it has answered to every case.
PARTS: dict[str, tuple[Step, ...]] = {
    CHECK: (make("check"),),
    TEST: (make("test"),),
    COMPILED: (
        make("test-compiled", "QUICK=1", HYPOTHESIS_PROFILE="quick", FAKEBROKER_SEEDS="20"),
        make("fuzz", "MINUTES=0.5"),
        make("guard"),
    ),
    INSTALL: (Step((".venv/bin/python", "-m", "release.install")),),
    DEMO: (make("demo"),),
}
EVERYTHING = frozenset(PARTS)

# The first row that matches a path decides. `*` matches `/` too.
TABLE: tuple[tuple[str, frozenset[str]], ...] = (
    ("README.md", frozenset({CHECK, TEST, INSTALL})),  # what it tells to type is typed by the part
    ("*.md", frozenset({TEST})),  # links, stories, examples, generated pages
    ("docs/*", frozenset({TEST})),
    ("LICENSE", frozenset({INSTALL})),
    ("fakebroker/*", EVERYTHING),
    ("timingwheel/*", EVERYTHING),
    ("load/*", frozenset({CHECK, TEST, DEMO, COMPILED})),
    ("benchmarks/instructions/*", frozenset({CHECK, TEST, COMPILED})),
    ("benchmarks/guard*", frozenset({CHECK, TEST, COMPILED})),
    ("benchmarks/*", frozenset({CHECK, TEST})),
    ("conformance/*", frozenset({CHECK, TEST})),
    ("examples/*", frozenset({CHECK, TEST})),
    ("clients/*", frozenset({CHECK, TEST})),
    ("release/*", frozenset({CHECK, TEST, INSTALL})),
    ("tests/golden/*", frozenset({TEST, COMPILED})),
    # Tests that `make test-compiled` does not run.
    *(
        (f"tests/{folder}/*", frozenset({CHECK, TEST}))
        for folder in (
            "affected",
            "benchmarks",
            "clients",
            "conformance",
            "control",
            "costs",
            "load",
            "mutants",
            "plants",
            "witness_mutants",
        )
    ),
    ("tests/ci/*", EVERYTHING),
    ("tests/*", frozenset({CHECK, TEST, COMPILED})),
    (".gitignore", frozenset()),
    (".gitattributes", frozenset()),
)


def parts_of(path: str) -> frozenset[str]:
    """Return the parts that a change of this file can break."""
    return next((parts for pattern, parts in TABLE if fnmatchcase(path, pattern)), EVERYTHING)


def chosen(paths: Iterable[str] | None) -> Sequence[str]:
    """Return the parts for these changed paths, in the order in which they run; all parts for None."""
    if paths is None:
        return list(PARTS)
    names = frozenset().union(*map(parts_of, paths))
    return [part for part in PARTS if part in names]
