"""docs/suites.md: what ran, what passed, what failed and whose fault that is, from what is kept in the cache.

Whose fault   A test that passes on Apache Kafka and not here is ours: the API that it asked for and that is not served
              is told, or a sentence of `REASONS`. What passes on neither is the suite's or the machine's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from conformance.suites.reasons import reason
from conformance.suites.results import Results, only_there
from conformance.suites.sides import KAFKA, OURS
from conformance.suites.suite import PASSED, SKIPPED
from conformance.suites.table import NOT_THERE, SUITES
from conformance.targets.kafka_box import kafka_version

PAGE = Path(__file__).parents[2] / "docs" / "suites.md"


def write_page(folder: Path) -> None:
    PAGE.write_text("\n".join(_lines(folder)) + "\n")


def _lines(folder: Path) -> Iterator[str]:
    yield from (
        "# The clients' own suites",
        "",
        "`make suites` runs the tests that clients bring themselves, unmodified, against `fakebroker serve` and",
        f"against Apache Kafka {kafka_version()}: brokers with the same ids and settings. Packages are fetched by",
        "the clients of their registries (Go modules, sdists, crates) into the cache; each test is a process of its",
        "own. This page is written by `python -m conformance.suites --page`.",
        "",
        f"| suite | package | tests | passed on {KAFKA} | passed here | on Kafka only | here only | on neither "
        "| skipped |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    )
    found = []
    for suite in SUITES:
        ours, kafka = Results(folder, suite, "ours").by_test, Results(folder, suite, "kafka").by_test
        if not ours or not kafka:
            yield f"| {suite.name} | `{suite.package}` | not run | | | | | | |"
            continue
        both = [test for test in kafka if test in ours]
        words = Counter((kafka[test].what == PASSED, ours[test].what == PASSED) for test in both)
        skipped = sum(kafka[test].what == SKIPPED and ours[test].what == SKIPPED for test in both)
        yield (
            f"| {suite.name} | `{suite.package}` | {len(both)} | {words[True, True] + words[True, False]} | "
            f"{words[True, True] + words[False, True]} | {words[True, False]} | {words[False, True]} | "
            f"{words[False, False] - skipped} | {skipped} |"
        )
        found.append((suite, ours, kafka, both))
    yield from ("", "## Not run", "")
    for name, why in NOT_THERE.items():
        yield f"- **{name}**: {why}"
    yield from ("", f"## Passes on {KAFKA}, not on {OURS}", "", "Ours, each of them.", "")
    for suite, ours, kafka, _ in found:
        for test in only_there(ours, kafka, PASSED):
            log = Results(folder, suite, "ours").log(test)
            yield f"- {suite.name} `{test}`: {reason(ours[test], log.read_text() if log.exists() else '')}"
    yield from ("", f"## Passes on {OURS}, not on {KAFKA}", "")
    for suite, ours, kafka, _ in found:
        for test in only_there(kafka, ours, PASSED):
            if kafka[test].what != SKIPPED:
                log = Results(folder, suite, "kafka").log(test)
                yield f"- {suite.name} `{test}`: {reason(kafka[test], log.read_text() if log.exists() else '')}"
    yield from ("", "## Passes on neither", "", "The suite's, or Kafka's as much as ours.", "")
    for suite, ours, kafka, both in found:
        for test in both:
            if PASSED not in (ours[test].what, kafka[test].what) and SKIPPED not in (ours[test].what, kafka[test].what):
                log = Results(folder, suite, "kafka").log(test)
                yield f"- {suite.name} `{test}`: {reason(kafka[test], log.read_text() if log.exists() else '')}"
