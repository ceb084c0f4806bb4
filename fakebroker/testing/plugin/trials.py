"""`--kafka-every-failure` and `--kafka-failure`: a test run again for each of its points of failure.

Theory   A test that has a cluster of the plugin is run as ever, and what the journal of that run shows is what could
         fail. Then all of it is run again, fixtures and test, for each point, with that one fault in the cluster once
         its topics are there. The test is reported once: as it was without a failure, if it survived all of them, or as
         failed, with those that it did not survive.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

if TYPE_CHECKING:
    from fakebroker.core.faults.fault import Fault
    from fakebroker.server.fake_cluster import FakeCluster
    from fakebroker.testing.failures.points import Point

_PROPERTY = "kafka_every_failure"
_FIXTURES = ("kafka_cluster", "kafka_broker")


@dataclass
class Trial:
    """One run. `fault` is put in; `events` and `hits` are what came of it; `seconds` is how long the test may take."""

    fault: Fault | None = None
    seconds: float = 0.0
    events: Sequence[Any] = field(default_factory=list)
    hits: int = 0


TRIAL = pytest.StashKey[Trial]()
FAILURE = pytest.StashKey["Fault | None"]()
"""Of the configuration: what `--kafka-failure` says."""


def add_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--kafka-every-failure",
        action="store_true",
        help="Run each test that has a cluster again for each request, append and answer that could have failed.",
    )
    group.addoption(
        "--kafka-failures-most", metavar="N", type=int, default=200, help="So many of them for each test (200)."
    )
    group.addoption(
        "--kafka-failures-seconds", metavar="S", type=float, default=60.0, help="For so long for each test (60)."
    )
    group.addoption(
        "--kafka-failure", metavar="JSON", help="Run each test that has a cluster with this fault, as a report has it."
    )


def fault_of(config: pytest.Config) -> Fault | None:
    """What `--kafka-failure` says. Raises UsageError."""
    text = config.getoption("kafka_failure")
    if text is None:
        return None
    import json

    from fakebroker.core.faults.fault import Fault

    try:
        return Fault.from_json(json.loads(text))
    except ValueError as error:
        raise pytest.UsageError(f"--kafka-failure: {error}") from None


@contextmanager
def in_hand(trial: Trial, kafka: FakeCluster) -> Iterator[None]:
    """As long as the test has the cluster, and its clients are there: put the fault in, and see what comes of it."""
    installed = None if trial.fault is None else kafka.faults.add(trial.fault)
    yield
    if installed is not None:
        trial.hits = installed.hits
        installed.remove()
    trial.events = list(kafka.journal)


def found(trial: Trial) -> str:
    """What `--kafka-failure` has brought about, as the journal shows it, if the fault has acted."""
    if not trial.hits:
        return ""
    from fakebroker.testing.history import check_history, describe

    findings = check_history(trial.events)
    return f"after {trial.fault}: {describe(findings)}" if findings else ""


def limited(item: pytest.Item) -> AbstractContextManager[None]:
    """So long may a test take that is run with a failure."""
    trial = item.stash.get(TRIAL, None)
    if trial is None or trial.fault is None:
        return nullcontext()
    from fakebroker.testing.failures.survey import time_limit

    return time_limit(trial.seconds)


def injected(item: pytest.Item) -> Fault | None:
    """The fault that is not the test's own."""
    trial = item.stash.get(TRIAL, None)
    return item.config.stash[FAILURE] if trial is None else trial.fault


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not item.config.getoption("kafka_every_failure") or not _has_cluster(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, trial, healthy_s = _run(item, Trial())
    if all(report.passed for report in reports):
        _survey(item, reports, trial, healthy_s)
    reports += _tear_down(item, nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _has_cluster(item: pytest.Item) -> bool:
    return not {*_FIXTURES}.isdisjoint(getattr(item, "fixturenames", ()))


def _run(item: pytest.Item, trial: Trial) -> tuple[list[pytest.TestReport], Trial, float]:
    item.stash[TRIAL] = trial
    began = monotonic()
    stays: Any = item.parent  # what the module and the session have is not made anew
    try:
        reports = runtestprotocol(item, nextitem=stays, log=False)
    finally:
        del item.stash[TRIAL]
    return reports, trial, monotonic() - began


def _tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    """What the module and the session have, if the next test does not use it; a report if that fails."""
    call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
    if call.excinfo is None:
        return []
    return [item.ihook.pytest_runtest_makereport(item=item, call=call)]


def _survey(item: pytest.Item, reports: Sequence[pytest.TestReport], healthy: Trial, healthy_s: float) -> None:
    """Run it with each failure, and write what came of it into the report."""
    from fakebroker.testing.failures.every_failure import judged
    from fakebroker.testing.failures.points import points_of, sample
    from fakebroker.testing.failures.survey import Survey, limit_s
    from fakebroker.testing.history import check_history

    option = item.config.getoption
    found = points_of(healthy.events)
    points = sample(found, option("kafka_failures_most"))
    is_judged = not check_history(healthy.events)
    ends_at = monotonic() + option("kafka_failures_seconds")
    tried = []
    for number, point in enumerate(points):
        if monotonic() > ends_at:
            break
        _draw(item, number, len(points), point)
        with_it, trial, _ = _run(item, Trial(point.fault, limit_s(healthy_s)))
        reason = next((_reason(report) for report in with_it if report.failed), "")
        if reason:
            _forget_what_was_left()
        tried.append(judged(point, trial.hits, reason, trial.events if is_judged else ()))
    _draw(item, 0, 0, None)
    survey = Survey(tried, len(found) - len(tried))
    [call] = [report for report in reports if report.when == "call"]
    if survey.failed:
        call.outcome = "failed"
        call.longrepr = "\n".join(survey.lines(f"pytest {item.nodeid}"))
    call.user_properties.append((_PROPERTY, survey.summary()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line for each test."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    told = [
        f"{report.nodeid}: {value}"
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if told:
        terminalreporter.section("kafka: every failure")
        for line in told:
            terminalreporter.write_line(line)


def _forget_what_was_left() -> None:
    """Who fails does not close what he has opened: that is no failure of the next run."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


def _reason(report: pytest.TestReport) -> str:
    """The line of an error that says what it is."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    said = (text.splitlines() or ["it failed"])[0]
    return said if report.when == "call" else f"in its {report.when}: {said}"


def _draw(item: pytest.Item, number: int, total: int, point: Point | None) -> None:
    """A line that is written over, where somebody looks."""
    if not sys.__stderr__ or not sys.__stderr__.isatty() or hasattr(item.config, "workerinput"):
        return
    text = "" if point is None else f"{number + 1}/{total} {point.text}"
    sys.__stderr__.write(f"\r\x1b[K{text[:100]}")
    sys.__stderr__.flush()
