"""`every_failure(test)`: the duplicate of a client that sends again what was answered REQUEST_TIMED_OUT."""

from __future__ import annotations

import json
import runpy
import threading
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from support import doses

from fakebroker import FakeCluster
from fakebroker.faults import Fault
from fakebroker.testing import check_history, every_failure
from fakebroker.testing.failures.survey import FAILED, RunTooLong, time_limit

Test = Callable[[FakeCluster], object]
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "buggy_client.py"
OrderClient: Any = runpy.run_path(str(EXAMPLE))["OrderClient"]


def orders(retries: int, count: int = 1) -> Test:
    """A test of a client that takes a lost connection for a failed order, and goes on."""

    def test(kafka: FakeCluster) -> None:
        kafka.create_topic("orders")
        leader = kafka.endpoints[0]
        for number in range(count):
            client = OrderClient(leader.host, leader.port, "orders", retries)
            try:
                client.place(f"order {number}", 500)
            except Exception:
                pass
            finally:
                client.close()

    return test


def test_the_duplicate_is_found_and_nothing_else() -> None:
    survey = every_failure(orders(retries=2))

    [failure] = survey.failed
    assert failure.point.text == "Produce 1: it is done, and REQUEST_TIMED_OUT is answered"
    assert failure.reason.startswith("duplicate: orders-0 offset 1: the same record as at offset 0")
    assert survey.summary() == "6 points of failure: 5 survived, 1 failed"
    assert failure.point.spec in str(survey)


def test_the_line_of_a_failure_brings_it_about_again() -> None:
    [failure] = every_failure(orders(retries=2)).failed
    with FakeCluster() as kafka:
        kafka.faults.add(Fault.from_json(json.loads(failure.point.spec)))
        orders(retries=2)(kafka)
        assert [finding.kind for finding in check_history(kafka.journal)] == ["duplicate"]


def test_the_mended_client_survives() -> None:
    assert every_failure(orders(retries=0)).failed == []


@pytest.mark.slow
def test_a_point_takes_less_than_300_ms_of_cpu_time() -> None:
    most = doses.count(25, 200)  # of one length of the test: each point runs it again
    began = process_time()
    survey = every_failure(orders(retries=0, count=34), most=most)

    assert len(survey.tried) == most
    assert survey.left_out == 34 * 6 - most
    assert process_time() - began < 60 * most / 200


def test_it_is_bounded_in_time() -> None:
    survey = every_failure(orders(retries=0, count=3), seconds=0)
    assert survey.tried == []
    assert survey.summary() == "0 points of failure: none; 18 more were left out"


def test_what_fails_without_a_failure_is_raised() -> None:
    def test(kafka: FakeCluster) -> None:
        raise ZeroDivisionError("of the test itself")

    with pytest.raises(ZeroDivisionError, match="of the test itself"):
        every_failure(test)


def test_a_failure_that_the_test_tells_of() -> None:
    def test(kafka: FakeCluster) -> None:
        kafka.create_topic("orders")
        client = OrderClient(kafka.endpoints[0].host, kafka.endpoints[0].port, "orders", 0)
        assert client.place("order", 500) == 0
        client.close()

    survey = every_failure(test)
    assert [attempt.outcome for attempt in survey.tried] == [FAILED] * 6
    assert {attempt.reason.split(":")[0] for attempt in survey.tried} == {"error", "AssertionError"}


def test_a_point_that_the_next_run_does_not_reach() -> None:
    runs = []

    def test(kafka: FakeCluster) -> None:
        runs.append(kafka)
        if len(runs) == 1:
            orders(retries=0)(kafka)

    assert every_failure(test).summary() == "6 points of failure: 6 not reached"


def test_equal_records_that_the_test_writes_itself_are_no_finding() -> None:
    def test(kafka: FakeCluster) -> None:
        orders(retries=0)(kafka)
        client = OrderClient(kafka.endpoints[0].host, kafka.endpoints[0].port, "orders", 0)
        client.place("order 0", 500)
        client.close()

    assert not [failure for failure in every_failure(test).failed if "duplicate" in failure.reason]


def test_a_run_that_hangs_is_broken_off() -> None:
    with pytest.raises(RunTooLong, match="it did not end within 0 s"), time_limit(0.05):
        threading.Event().wait()


def test_arguments_are_those_of_the_cluster() -> None:
    brokers = []
    every_failure(lambda kafka: brokers.append(len(kafka.brokers)), brokers=1)
    assert brokers == [1]
