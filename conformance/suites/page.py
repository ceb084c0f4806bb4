"""docs/suites.md: the tests that ran, passed and failed, and the cause of each failure, from the results in the cache.

kfake   Another stand-in. The page has its results if a suite was run against it (`--side kfake`).
cause   A test that passes on Apache Kafka and not on fakebroker is a failure of fakebroker. The page names the missing
        API, or has a sentence of `reasons.py`. A test that passes on neither is a failure of the suite or the machine.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
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
_OF_A_SUITE = re.compile(r"(?:\| |- )([\w-]+) (?:\| )?`")  # a row, or a test


@dataclass(frozen=True)
class _Ran:
    """The results of a suite; `kfake` is empty where it did not run there."""

    suite: Suite
    ours: Mapping[str, Result]
    kafka: Mapping[str, Result]
    kfake: Mapping[str, Result]
    said: Callable[[str, str], str]  # the output of a test on a side

    @property
    def both(self) -> list[str]:
        return [test for test in self.kafka if test in self.ours]

    def line(self, test: str, side: str) -> str:
        """Return why a test did not pass there, and its result on kfake."""
        result = (self.ours if side == "ours" else self.kafka)[test]
        there = f" On {KFAKE}: {self.kfake[test].what}." if test in self.kfake else ""
        name = f"{self.suite.name} {test}"
        return f"- {self.suite.name} `{test}`: {reason(result, self.said(side, test), name)}.{there}"


@dataclass(frozen=True)
class _Section:
    """A section of tests by their results: `tests` returns those of one suite, each with the side of its reason."""

    title: str
    about: str
    tests: Callable[[_Ran], Iterator[tuple[str, str]]]


def write_page(folder: Path) -> None:
    """Write the page. A suite without results in the cache keeps its lines."""
    kept = _kept(PAGE.read_text()) if PAGE.exists() else {}
    PAGE.write_text("\n".join(_lines(folder, kept)) + "\n")


def _kept(text: str) -> Mapping[tuple[str, str], list[str]]:
    """Return the lines of a page that are about one suite, by heading and suite."""
    heading, lines = "", defaultdict[tuple[str, str], list[str]](list)
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line
        elif named := _OF_A_SUITE.match(line):
            lines[heading, named[1]].append(line)
    return lines


def _lines(folder: Path, kept: Mapping[tuple[str, str], list[str]]) -> Iterator[str]:
    yield from (
        "# The clients' own suites",
        "",
        "Written by `python -m conformance.suites --page`; do not edit. `make suites` runs the clients' own test",
        f"suites, unmodified, against `fakebroker serve` and Apache Kafka {kafka_version()}. The brokers of both have",
        "the same ids and settings. The packages come from their registries (Go modules, sdists, crates) and are kept",
        "in the cache. Each test runs in its own process. A suite without results in the cache keeps its lines.",
        "",
        f"`make suites SUITES='kgo --side kfake'` runs kgo against franz-go's {KFAKE} too "
        f"({KFAKE_VERSION.split('-')[-1]}).",
        "",
        '"N of M" tests means that N tests have a result on both sides.',
        "",
        f"| suite | package | tests | passed on {KAFKA} | passed on {OURS} | on Kafka only | on {OURS} only "
        f"| on neither | skipped on both | passed on {KFAKE} |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    )
    ran = {suite.name: _ran(folder, suite) for suite in SUITES}
    for name, run in ran.items():
        rows = [row for row in kept.get(("", name), ()) if f"`{run.suite.package}`" in row]
        yield rows[0] if rows and not run.ours else _row(run)
    yield from (
        "",
        "## Secured brokers",
        "",
        "Both sides have the same listeners, users, certificates and authorizer. A suite that is not in this table",
        "has no test that needs them. The tests of kgo that need them are in kgo-tls. The fixture of",
        "kafka-python-secured starts a broker for each test, with SSL or SASL_PLAINTEXT.",
        "",
    )
    yield from ("| suite | listeners in addition to `PLAINTEXT` | users | authorizer |", "|---|---|---|---|")
    yield from (
        _secured(suite) for suite in SUITES if suite.security or "authorizer.class.name" in suite.broker_settings
    )
    yield from ("", "## Not run", "")
    for name, why in NOT_THERE.items():
        yield f"- **{name}**: {why}"
    for section in _SECTIONS:
        heading, lines = f"## {section.title}", list[str]()
        for name, run in ran.items():
            own_lines = [run.line(test, side) for test, side in section.tests(run)]
            lines += own_lines if run.ours else kept.get((heading, name), [])
        yield from ("", heading, "", *([section.about, ""] if section.about else []), *lines)


def _row(ran: _Ran) -> str:
    suite = f"| {ran.suite.name} | `{ran.suite.package}` |"
    if not ran.ours:
        return f"{suite} not run | | | | | | | |"
    if not ran.kafka:
        passed = sum(result.what == PASSED for result in ran.ours.values())
        skipped = sum(result.what == SKIPPED for result in ran.ours.values())
        return f"{suite} {len(ran.ours)} | not run | {passed} | | | | {skipped} on {OURS} | |"
    words = Counter((ran.kafka[test].what == PASSED, ran.ours[test].what == PASSED) for test in ran.both)
    skipped = sum(ran.kafka[test].what == SKIPPED and ran.ours[test].what == SKIPPED for test in ran.both)
    # A suite that ran out of time on one side has no results for its last tests.
    all_of = max(len(ran.ours), len(ran.kafka))
    count = f"{len(ran.both)}" if len(ran.both) == all_of else f"{len(ran.both)} of {all_of}"
    there = sum(result.what == PASSED for result in ran.kfake.values())
    return (
        f"{suite} {count} | {words[True, True] + words[True, False]} | "
        f"{words[True, True] + words[False, True]} | {words[True, False]} | {words[False, True]} | "
        f"{words[False, False] - skipped} | {skipped} | {f'{there} ' if ran.kfake else ''}|"
    )


def _secured(suite: Suite) -> str:
    listeners = ", ".join(f"`{name}`" for name in suite.security.ports) if suite.security else ""
    if suite.broker_settings.get("ssl.client.auth") == "required":
        listeners += ", with client certificates"
    users = ", ".join(f"`{name}`" for name in suite.security.users) if suite.security else ""
    authorizer = suite.broker_settings.get("authorizer.class.name", "").rpartition(".")[2]
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in (suite.name, listeners, users, authorizer))


def _on_kafka_only(ran: _Ran) -> Iterator[tuple[str, str]]:
    yield from ((test, "ours") for test in only_there(ran.ours, ran.kafka, PASSED))


def _not_here(ran: _Ran) -> Iterator[tuple[str, str]]:
    for test, result in ran.ours.items():
        if not ran.kafka and result.what not in (PASSED, SKIPPED):
            yield test, "ours"


def _here_only(ran: _Ran) -> Iterator[tuple[str, str]]:
    for test in only_there(ran.kafka, ran.ours, PASSED):
        if ran.kafka[test].what != SKIPPED:
            yield test, "kafka"


def _on_neither(ran: _Ran) -> Iterator[tuple[str, str]]:
    for test in ran.both:
        if not {PASSED, SKIPPED} & {ran.ours[test].what, ran.kafka[test].what}:
            yield test, "kafka"


_NEITHER = f"The suite fails by itself, or {KAFKA} behaves as {OURS} does. Each cause is that of the run on {KAFKA}."
_SECTIONS = (
    _Section(f"Passes on {KAFKA}, not on {OURS}", f"Each line is a failure of {OURS}, and its cause.", _on_kafka_only),
    _Section(f"Does not pass on {OURS}, and was not run on {KAFKA}", "", _not_here),
    _Section(f"Passes on {OURS}, not on {KAFKA}", "", _here_only),
    _Section("Passes on neither", _NEITHER, _on_neither),
)


def _ran(folder: Path, suite: Suite) -> _Ran:
    ours, kafka, kfake = (Results(folder, suite, side) for side in ("ours", "kafka", "kfake"))

    def said(side: str, test: str) -> str:
        log = (ours if side == "ours" else kafka).log(test)
        return log.read_text() if log.exists() else ""

    return _Ran(suite, ours.by_test, kafka.by_test, kfake.by_test, said)
