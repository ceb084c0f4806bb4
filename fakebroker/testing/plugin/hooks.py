"""The entry point `pytest11`: fixtures, the marker, settings, and the sections in the report of a failed test.

    def test_it(kafka_broker):  # one broker; kafka_cluster has three
        producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})

Theory   Each test has its own cluster on free ports. So a client left over from an earlier test cannot connect to it,
         and workers of pytest-xdist do not interfere.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakebroker.testing.plugin import tracebacks, trials
from fakebroker.testing.plugin.cluster_request import ClusterRequest, ClusterRequestError, read_markers
from fakebroker.testing.plugin.ini import add_keys, read_keys
from fakebroker.testing.plugin.shadowing import shadowed
from fakebroker.testing.plugin.trials import FAILURE, TRIAL, FailureTrial

if TYPE_CHECKING:
    from fakebroker.server.clock_in_hand import ClockInHand
    from fakebroker.server.fake_cluster import FakeCluster
    from fakebroker.server.faults_from_threads import FaultsInHand

_MARKER = "kafka(brokers, topics, clock, followers, faults, configs, listeners, ...): what the test's cluster is like"
_CLUSTER = pytest.StashKey["FakeCluster"]()
_ALLOWS_UNFIRED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka", "Kafka (fakebroker)")
    group.addoption(
        "--kafka-artifacts",
        metavar="DIR",
        type=Path,
        help="Folder for the journal of each failed test's cluster, as lines of JSON.",
    )
    trials.add_options(group)
    add_keys(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FAILURE] = trials.fault_of(config)
    if config.getoption("kafka_every_failure"):
        config.pluginmanager.register(trials, "fakebroker-every-failure")
    config.addinivalue_line("markers", _MARKER)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return shadowed(config, sys.modules[__name__])


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    """A Kafka cluster of three brokers, or as `@pytest.mark.kafka(...)` wants it: `bootstrap_servers`, `create_topic`,
    `followers`, `brokers`, `clock`, `journal`."""
    yield from _cluster(request, {})


@pytest.fixture
def kafka_broker(request: pytest.FixtureRequest) -> Iterator[FakeCluster]:
    """A Kafka cluster of one broker, otherwise as `@pytest.mark.kafka(...)` wants it."""
    yield from _cluster(request, {"brokers": 1})


@pytest.fixture
def kafka_faults(request: pytest.FixtureRequest) -> FaultsInHand:
    """The faults of the test's cluster: `kafka_faults.add(when={"api": "Produce"}, do="disconnect")`."""
    return _of_test(request).faults


@pytest.fixture
def kafka_clock(request: pytest.FixtureRequest) -> ClockInHand:
    """The clock of the test's cluster, which the test controls: `kafka_clock.advance(30_000)`."""
    return _of_test(request).clock


def _of_test(request: pytest.FixtureRequest) -> FakeCluster:
    name = "kafka_broker" if "kafka_broker" in request.fixturenames else "kafka_cluster"
    cluster: FakeCluster = request.getfixturevalue(name)
    return cluster


def _cluster(request: pytest.FixtureRequest, usual: dict[str, Any]) -> Iterator[FakeCluster]:
    item: pytest.Item = request.node
    if _CLUSTER in item.stash:
        pytest.fail(f"a test has one cluster: kafka_cluster or kafka_broker, not both as {item.nodeid} has", False)
    mistake = ""
    trial = item.stash.get(TRIAL, None) or FailureTrial(request.config.stash[FAILURE])
    try:
        cluster_request = _cluster_request(request, usual)
        with made(cluster_request) as kafka:
            item.stash[_CLUSTER] = kafka
            item.stash[_ALLOWS_UNFIRED] = cluster_request.allows_unfired
            with trials.in_hand(trial, kafka):
                yield kafka
    except ClusterRequestError as slip:
        mistake = str(slip)
    if mistake:
        said = "@pytest.mark.kafka" if item.get_closest_marker("kafka") else "pytest's settings"
        pytest.fail(f"{said} for {item.nodeid}: {mistake}", pytrace=False)
    if TRIAL not in item.stash and (failure := trials.found(trial)):
        pytest.fail(failure, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test. Fail it if one of its faults never fired, or could not act, since that tests nothing."""
    with trials.limited(item):
        result = yield
    kafka = item.stash.get(_CLUSTER, None)
    if kafka is not None and not item.stash[_ALLOWS_UNFIRED]:
        unfired = [fault for fault in kafka.faults.unfired() if fault.fault is not trials.injected(item)]
        if unfired:
            listing = "\n".join(
                f"{handle.fault} (it {handle.problem or f'matched {handle.matches} requests'})" for handle in unfired
            )
            verb = "could not act" if all(handle.problem for handle in unfired) else "never fired"
            pytest.fail(f'{verb}, and so tested nothing (unfired="allowed" allows that):\n{listing}', pytrace=False)
    return result


def _cluster_request(request: pytest.FixtureRequest, usual: dict[str, Any]) -> ClusterRequest:
    markers = [(mark.args, mark.kwargs) for mark in request.node.iter_markers("kafka")]
    cluster_request = read_markers(markers, read_keys(request.config) | usual)
    if usual and cluster_request.arguments["brokers"] != usual["brokers"]:
        raise ClusterRequestError(
            f"kafka_broker has one broker; for brokers={cluster_request.arguments['brokers']!r} use kafka_cluster"
        )
    if "kafka_clock" in request.fixturenames:
        cluster_request.arguments.setdefault("clock", "manual")
    return cluster_request


def made(cluster_request: ClusterRequest) -> AbstractContextManager[FakeCluster]:
    from fakebroker.testing.plugin import cluster  # and with it the broker

    return cluster.made(cluster_request)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo is not None:
        tracebacks.end_at_users_line(call.excinfo.tb, item)
    made_report = yield
    if made_report.failed:
        for name, kafka in _clusters(item).items():
            _tell(item, made_report, name, kafka)
    if call.when == "teardown" and _CLUSTER in item.stash:
        del item.stash[_CLUSTER]
    return made_report


def _clusters(item: pytest.Item) -> dict[str, FakeCluster]:
    """Return the clusters of the test's fixtures by fixture name, including the test's own fixtures. A cluster of two
    fixtures is returned once."""
    server = sys.modules.get("fakebroker.server.fake_cluster")
    if server is None:  # no cluster was created
        return {}
    clusters: dict[str, FakeCluster] = {}
    for name, value in getattr(item, "funcargs", {}).items():
        if isinstance(value, server.FakeCluster) and value not in clusters.values():
            clusters[name] = value
    kafka = item.stash.get(_CLUSTER, None)
    if kafka is not None and kafka not in clusters.values():
        clusters["kafka_cluster"] = kafka
    return clusters


def _tell(item: pytest.Item, made_report: pytest.TestReport, name: str, kafka: FakeCluster) -> None:
    from fakebroker.testing.plugin import report

    made_report.sections += report.sections(kafka, name)
    folder = item.config.getoption("kafka_artifacts")
    if folder is not None and made_report.when != "teardown":
        path = report.write_journal(kafka, folder, f"{item.nodeid}-{name}")
        made_report.sections.append((f"kafka journal of {name} as a file", str(path)))
