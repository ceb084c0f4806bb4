"""docs/suites.md: the tests that ran, passed and failed, and the cause of each failure, from the results in the cache.

kfake   Another stand-in, where a suite was run against it (`--side kfake`): it passes what we do not, or not.
cause   A test that passes on Apache Kafka and not here is our failure. The page names the missing API, or has a
        sentence of `REASONS`. A test that passes on neither is a failure of the suite or of the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.suites.kfake import KFAKE
from conformance.suites.kfake import VERSION as KFAKE_VERSION
from conformance.suites.reasons import reason
from conformance.suites.results import Result, Results, only_there
from conformance.suites.sides import KAFKA, OURS
from conformance.suites.suite import PASSED, SKIPPED, Suite
from conformance.suites.table import NOT_THERE, SUITES
from conformance.targets.kafka_box import kafka_version

PAGE = Path(__file__).parents[2] / "docs" / "suites.md"


@dataclass(frozen=True)
class _Ran:
    """The results of a suite; `kfake` is empty where it did not run there."""

    suite: Suite
    ours: Mapping[str, Result]
    kafka: Mapping[str, Result]
    kfake: Mapping[str, Result]
    said: Callable[[str, str], str]  # what a test printed on a side

    @property
    def both(self) -> list[str]:
        return [test for test in self.kafka if test in self.ours]

    def line(self, test: str, side: str) -> str:
        """Return why a test did not pass there, and its result on kfake."""
        result = (self.ours if side == "ours" else self.kafka)[test]
        there = f" On {KFAKE}: {self.kfake[test].what}." if test in self.kfake else ""
        name = f"{self.suite.name} {test}"
        return f"- {self.suite.name} `{test}`: {reason(result, self.said(side, test), name)}.{there}"


def write_page(folder: Path) -> None:
    PAGE.write_text("\n".join(_lines(folder)) + "\n")


def _lines(folder: Path) -> Iterator[str]:
    yield from (
        "# The clients' own suites",
        "",
        "`make suites` runs the tests that clients bring themselves, unmodified, against `fakebroker serve` and",
        f"against Apache Kafka {kafka_version()}: brokers with the same ids and settings. Packages are fetched by",
        "the clients of their registries (Go modules, sdists, crates) into the cache; each test is a process of its",
        f"own. With `SUITES='kgo --side kfake'` it meets franz-go's {KFAKE} too ({KFAKE_VERSION.split('-')[-1]}).",
        "This page is written by `python -m conformance.suites --page`.",
        "",
        f"| suite | package | tests | passed on {KAFKA} | passed here | on Kafka only | here only | on neither "
        f"| skipped on both | passed on {KFAKE} |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    )
    found, alone = [], []
    for suite in SUITES:
        ran = _ran(folder, suite)
        if not ran.ours:
            yield f"| {suite.name} | `{suite.package}` | not run | | | | | | | |"
            continue
        if not ran.kafka:
            passed = sum(result.what == PASSED for result in ran.ours.values())
            skipped = sum(result.what == SKIPPED for result in ran.ours.values())
            run = len(ran.ours)
            yield f"| {suite.name} | `{suite.package}` | {run} | not run | {passed} | | | | {skipped} here | |"
            alone.append(ran)
            continue
        words = Counter((ran.kafka[test].what == PASSED, ran.ours[test].what == PASSED) for test in ran.both)
        skipped = sum(ran.kafka[test].what == SKIPPED and ran.ours[test].what == SKIPPED for test in ran.both)
        # A suite that ran out of time on one side has not been run whole.
        all_of = max(len(ran.ours), len(ran.kafka))
        count = f"{len(ran.both)}" if len(ran.both) == all_of else f"{len(ran.both)} of {all_of}"
        there = sum(result.what == PASSED for result in ran.kfake.values())
        yield (
            f"| {suite.name} | `{suite.package}` | {count} | {words[True, True] + words[True, False]} | "
            f"{words[True, True] + words[False, True]} | {words[True, False]} | {words[False, True]} | "
            f"{words[False, False] - skipped} | {skipped} | {f'{there} ' if ran.kfake else ''}|"
        )
        found.append(ran)
    yield from ("", "## Not run", "")
    for name, why in NOT_THERE.items():
        yield f"- **{name}**: {why}"
    yield from ("", f"## Passes on {KAFKA}, not on {OURS}", "", "Ours, each of them, and why.", "")
    for ran in found:
        yield from (ran.line(test, "ours") for test in only_there(ran.ours, ran.kafka, PASSED))
    if alone:
        yield from ("", f"## Does not pass on {OURS}, and was not run on {KAFKA}", "")
    for ran in alone:
        yield from (ran.line(test, "ours") for test, each in ran.ours.items() if each.what not in (PASSED, SKIPPED))
    yield from ("", f"## Passes on {OURS}, not on {KAFKA}", "")
    for ran in found:
        tests = only_there(ran.kafka, ran.ours, PASSED)
        yield from (ran.line(test, "kafka") for test in tests if ran.kafka[test].what != SKIPPED)
    yield from (
        "",
        "## Passes on neither",
        "",
        f"The suite's, or Kafka's as much as ours: what {KAFKA} made of it.",
        "",
    )
    for ran in found:
        for test in ran.both:
            if not {PASSED, SKIPPED} & {ran.ours[test].what, ran.kafka[test].what}:
                yield ran.line(test, "kafka")


def _ran(folder: Path, suite: Suite) -> _Ran:
    ours, kafka, kfake = (Results(folder, suite, side) for side in ("ours", "kafka", "kfake"))

    def said(side: str, test: str) -> str:
        log = (ours if side == "ours" else kafka).log(test)
        return log.read_text() if log.exists() else ""

    return _Ran(suite, ours.by_test, kafka.by_test, kfake.by_test, said)
