"""`--kafka-every-failure` and `--kafka-failure`: a test runs again for each of its points of failure.

Theory   A test with a cluster of the plugin runs as usual first, and its journal shows the points of failure. Then the
         fixtures and the test run again for each point, with this one fault in the cluster once its topics exist. The
         test is reported once. If it survived all points, the report is that of the run without a failure. Otherwise it
         is reported as failed, with the points that it did not survive.
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
class FailureTrial:
    """One run. `fault` is injected; `events` and `hits` are the results; `seconds` is the time limit of the test."""

    fault: Fault | None = None
    seconds: float = 0.0
    events: Sequence[Any] = field(default_factory=list)
    hits: int = 0


TRIAL = pytest.StashKey[FailureTrial]()
FAILURE = pytest.StashKey["Fault | None"]()
"""The fault that `--kafka-failure` names, in the stash of the config."""


def add_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--kafka-every-failure",
        action="store_true",
        help="Run each test with a cluster again for each request, append and response that could have failed.",
    )
    group.addoption(
        "--kafka-failures-most", metavar="N", type=int, default=200, help="Most failures for each test (200)."
    )
    group.addoption(
        "--kafka-failures-seconds", metavar="S", type=float, default=60.0, help="Most seconds for each test (60)."
    )
    group.addoption(
        "--kafka-failure", metavar="JSON", help="Run each test with a cluster with this fault, copied from a report."
    )


def fault_of(config: pytest.Config) -> Fault | None:
    """Return the fault of `--kafka-failure`. Raises UsageError."""
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
def in_hand(trial: FailureTrial, kafka: FakeCluster) -> Iterator[None]:
    """Inject the fault while the test has the cluster and its clients, and keep the results."""
    installed = None if trial.fault is None else kafka.faults.add(trial.fault)
    yield
    if installed is not None:
        trial.hits = installed.hits
        installed.remove()
    trial.events = list(kafka.journal)


def found(trial: FailureTrial) -> str:
    """Return the findings in the journal with the fault of `--kafka-failure`, "" if it did not fire."""
    if not trial.hits:
        return ""
    from fakebroker.testing.history import check_history, describe

    findings = check_history(trial.events)
    return f"after {trial.fault}: {describe(findings)}" if findings else ""


def limited(item: pytest.Item) -> AbstractContextManager[None]:
    """Limit the time of a test that runs with a failure."""
    trial = item.stash.get(TRIAL, None)
    if trial is None or trial.fault is None:
        return nullcontext()
    from fakebroker.testing.failures.survey import time_limit

    return time_limit(trial.seconds)


def injected(item: pytest.Item) -> Fault | None:
    """Return the injected fault, which is not one of the test's own."""
    trial = item.stash.get(TRIAL, None)
    return item.config.stash[FAILURE] if trial is None else trial.fault


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not item.config.getoption("kafka_every_failure") or not _has_cluster(item):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, trial, healthy_s = _run(item, FailureTrial())
    if all(report.passed for report in reports):
        _survey(item, reports, trial, healthy_s)
    reports += _tear_down(item, nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _has_cluster(item: pytest.Item) -> bool:
    return not {*_FIXTURES}.isdisjoint(getattr(item, "fixturenames", ()))


def _run(item: pytest.Item, trial: FailureTrial) -> tuple[list[pytest.TestReport], FailureTrial, float]:
    item.stash[TRIAL] = trial
    began = monotonic()
    stays: Any = item.parent  # keep the fixtures of the module and the session
    try:
        reports = runtestprotocol(item, nextitem=stays, log=False)
    finally:
        del item.stash[TRIAL]
    return reports, trial, monotonic() - began


def _tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    """Tear down the fixtures of the module and the session that the next test does not use. Return a report if that
    fails."""
    call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), when="teardown")
    if call.excinfo is None:
        return []
    return [item.ihook.pytest_runtest_makereport(item=item, call=call)]


def _survey(item: pytest.Item, reports: Sequence[pytest.TestReport], healthy: FailureTrial, healthy_s: float) -> None:
    """Run the test with each failure, and add the results to the report."""
    from fakebroker.testing.failures.every_failure import judged
    from fakebroker.testing.failures.points import points_of, sample
    from fakebroker.testing.failures.survey import Survey, limit_s
    from fakebroker.testing.history import check_history

    option = item.config.getoption
    all_points = points_of(healthy.events)
    points = sample(all_points, option("kafka_failures_most"))
    is_judged = not check_history(healthy.events)
    ends_at = monotonic() + option("kafka_failures_seconds")
    tried = []
    for number, point in enumerate(points):
        if monotonic() > ends_at:
            break
        _draw(item, number, len(points), point)
        with_it, trial, _ = _run(item, FailureTrial(point.fault, limit_s(healthy_s)))
        reason = next((_reason(report) for report in with_it if report.failed), "")
        if reason:
            _forget_what_was_left()
        tried.append(judged(point, trial.hits, reason, trial.events if is_judged else ()))
    _draw(item, 0, 0, None)
    survey = Survey(tried, len(all_points) - len(tried))
    [call] = [report for report in reports if report.when == "call"]
    if survey.failed:
        call.outcome = "failed"
        call.longrepr = "\n".join(survey.lines(f"pytest {item.nodeid}"))
    call.user_properties.append((_PROPERTY, survey.summary()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each test."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    lines = [
        f"{report.nodeid}: {value}"
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("kafka: every failure")
        for line in lines:
            terminalreporter.write_line(line)


def _forget_what_was_left() -> None:
    """Collect the unclosed clients of a failed run, so that their warnings do not fail the next run."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


def _reason(report: pytest.TestReport) -> str:
    """Return the line of an error that says what it is."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    said = (text.splitlines() or ["it failed"])[0]
    return said if report.when == "call" else f"in its {report.when}: {said}"


def _draw(item: pytest.Item, number: int, total: int, point: Point | None) -> None:
    """Show the progress in one line, if stderr is a terminal."""
    if not sys.__stderr__ or not sys.__stderr__.isatty() or hasattr(item.config, "workerinput"):
        return
    text = "" if point is None else f"{number + 1}/{total} {point.text}"
    sys.__stderr__.write(f"\r\x1b[K{text[:100]}")
    sys.__stderr__.flush()
