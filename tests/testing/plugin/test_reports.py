"""The cluster in the report of a failed test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakebroker.core.journal.events import Append
from fakebroker.core.journal.journal import from_lines

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

FAILS = """
    import socket
    import time
    import pytest
    from fakebroker.testing import wire

    @pytest.mark.kafka(topics=["orders"], followers={"orders": "frozen"})
    def test_it(kafka_cluster):
        host, port = kafka_cluster.bootstrap_servers.split(",")[0].split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(wire.produce(1, -1, 9_000, [(("orders", 0), wire.batch(b"order", 1, 1))]))
            while not any(type(event).__name__ == "Parked" for event in kafka_cluster.journal):
                time.sleep(0.001)
            assert "delivered" == "not yet"
"""
JOURNAL = [
    "*- kafka journal of kafka_cluster -*",
    "*0 ms  TopicCreated * topic=orders *",
    "* ms  Produce * request=1 acks=-1 timeout_ms=9000 partitions=orders-0",
    "* ms  Append * request=1 broker=1 topic=orders partition=0 error=NONE base_offset=0 * records=1",
    "* ms  Parked * request=1 api=Produce timeout_ms=9000*",
    "*- kafka requests in flight of kafka_cluster -*",
    "request 1: Produce v9 of '*' at broker 1 acks=-1 to orders-0, waits for at most 9000 ms; for * ms",
]


@pytest.mark.parametrize(
    "arguments",
    # Every day: test_each_test_has_a_cluster_of_its_own_in_several_processes.
    [pytest.param((), id="alone"), pytest.param(("-n", "2"), id="xdist", marks=pytest.mark.nightly)],
)
def test_a_failure_shows_the_journal_and_the_parked_requests(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(FAILS, *arguments)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(JOURNAL)


def test_the_whole_journal_in_a_file(run: Run, pytester: pytest.Pytester) -> None:
    result = run(FAILS, "--kafka-artifacts", "artifacts")

    result.stdout.fnmatch_lines(["artifacts/test_it.py-test_it-kafka_cluster.jsonl"])
    with (pytester.path / "artifacts" / "test_it.py-test_it-kafka_cluster.jsonl").open() as lines:
        assert [event.topic for event in from_lines(lines) if isinstance(event, Append)] == ["orders"]


LONG = """
    def test_it(kafka_broker):
        for number in range(30):
            kafka_broker.create_topic(f"t{number}")
        assert False

    def test_passes(kafka_broker):
        kafka_broker.create_topic("not-in-the-report")
"""


def test_a_long_journal_is_reported_by_its_end_and_only_for_failed_tests(run: Run) -> None:
    result = run(LONG)

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["... 20 events before these", "*topic=t29*"])
    result.stdout.no_fnmatch_line("*topic=t9 *")
    result.stdout.no_fnmatch_line("*not-in-the-report*")


OWN = """
    import pytest
    from fakebroker import FakeCluster

    @pytest.fixture(scope="module")
    def shared():
        with FakeCluster(brokers=1) as kafka:
            yield kafka

    @pytest.fixture
    def kafka(shared):
        shared.reset()
        return shared

    def test_one(kafka):
        kafka.create_topic("first")

    def test_two(kafka):
        kafka.create_topic("second")
        assert False

    def test_three():
        with FakeCluster(brokers=1, journal=0) as kafka:
            assert False

    @pytest.fixture
    def silent():
        with FakeCluster(brokers=1, journal=0) as kafka:
            yield kafka

    def test_four(silent):
        assert False
"""


def test_clusters_of_a_users_own_fixture_are_reported(run: Run) -> None:
    result = run(OWN)

    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*- kafka journal of shared -*", "*topic=second*"])
    result.stdout.no_fnmatch_line("*topic=first*")
    result.stdout.no_fnmatch_line("*kafka journal of silent*")
