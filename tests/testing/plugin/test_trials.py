"""Faults in tests, and `--kafka-every-failure`, in real runs of pytest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from support import doses

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CLIENT = f"""
    import sys
    import pytest

    sys.path.insert(0, {str(EXAMPLES)!r})
    from buggy_client import OrderClient

    def place(kafka, order="order", retries=0):
        leader = kafka.endpoints[0]
        client = OrderClient(leader.host, leader.port, "orders", retries)
        try:
            return client.place(order, 500)
        finally:
            client.close()
"""

FAULTS = f"""{CLIENT}
    NOT_ENOUGH = {{"when": {{"api": "Produce"}}, "do": "NOT_ENOUGH_REPLICAS"}}

    @pytest.mark.kafka(topics=["orders"], faults=[NOT_ENOUGH])
    def test_of_the_marker(kafka_cluster):
        assert place(kafka_cluster) == 19
        assert place(kafka_cluster) == 0

    @pytest.mark.kafka(topics=["orders"])
    def test_of_the_fixture(kafka_broker, kafka_faults):
        fault = kafka_faults.add(when={{"api": "Produce"}}, do="UNKNOWN_TOPIC_OR_PARTITION")
        assert place(kafka_broker) == 3
        assert fault.hits == 1

    def test_unfired(kafka_broker, kafka_faults):
        kafka_faults.add(when={{"api": "Produce", "topic": "orders"}}, do="disconnect")

    @pytest.mark.kafka(unfired="allowed", faults=[NOT_ENOUGH])
    def test_unfired_and_allowed(kafka_broker): pass

    @pytest.mark.kafka(faults=[{{"when": {{"api": "Prod"}}, "do": "disconnect"}}])
    def test_slip(kafka_broker): pass

    @pytest.mark.kafka(unfired="maybe")
    def test_other_slip(kafka_broker): pass
"""


def test_faults(run: Run) -> None:
    result = run(FAULTS)

    result.assert_outcomes(passed=3, failed=1, errors=2)
    result.stdout.fnmatch_lines(['never fired, and so tested nothing (unfired="allowed" allows that):', "disconnect *"])
    result.stdout.fnmatch_lines(["@pytest.mark.kafka for test_it.py::test_slip: *'Prod'*"])
    result.stdout.fnmatch_lines(["@pytest.mark.kafka for test_it.py::test_other_slip: unfired must be *not 'maybe'"])


def test_unfired_faults_may_be_allowed_for_all(run: Run) -> None:
    unfired = """
    def test_it(kafka_faults):
        kafka_faults.add(when={"api": "Produce"}, do="disconnect")
"""
    run(unfired).assert_outcomes(failed=1)
    run(unfired, ini="kafka_unfired = allowed").assert_outcomes(passed=1)


def test_a_fault_that_could_not_act_fails_the_test(run: Run) -> None:
    in_vain = f"""{CLIENT}
    @pytest.mark.kafka(topics=["orders"], faults=[{{"when": {{"api": "Produce"}}, "do": "move_leader"}}])
    def test_in_vain(kafka_broker):
        place(kafka_broker)

    @pytest.mark.kafka(faults=[{{"when": {{"api": "Produce"}}, "do": {{"kill": 9}}}}])
    def test_no_broker(kafka_cluster): pass
"""
    result = run(in_vain)
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["move_leader * (it could not do 'move_leader': No other replica is in the ISR of orders-0.)"]
    )
    result.stdout.fnmatch_lines(["*test_no_broker: 'kill' can never act: there is no broker 9: the ids are 1 to 3"])
    run(in_vain, ini="kafka_unfired = allowed").assert_outcomes(passed=1, errors=1)


ORDERS = f"""{CLIENT}
    RUNS = []

    @pytest.fixture(scope="module")
    def once():
        RUNS.append("made")
        yield
        print("unmade after", len(RUNS))

    @pytest.fixture
    def order(once):
        RUNS.append("order")
        return "order"

    def tried(kafka, order, retries):
        try:
            place(kafka, order, retries)
        except Exception:
            pass  # it may not have been placed, and the user is told so

    @pytest.mark.kafka(topics=["orders"])
    def test_sends_again(kafka_cluster, order):
        tried(kafka_cluster, order, retries=2)

    @pytest.mark.kafka(topics=["orders"])
    def test_gives_up(kafka_cluster, order):
        tried(kafka_cluster, order, retries=0)

    def test_without(): pass

    def test_what_was_made():
        assert RUNS.count("made") == 1
        assert RUNS.count("order") in (2, 14)

    @pytest.mark.kafka(topics=["orders"])
    def test_fails_by_itself(kafka_cluster):
        assert place(kafka_cluster) == 1
"""


@pytest.mark.parametrize(
    "arguments",
    # Every day: test_each_test_has_a_cluster_of_its_own_in_several_processes.
    [
        pytest.param((), id="alone"),
        pytest.param(("-n", "2", "--dist", "loadfile"), id="xdist", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.slow
def test_every_failure(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(ORDERS, "--kafka-every-failure", *arguments)

    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "6 points of failure: 5 survived, 1 failed",
            "Produce 1: it is done, and REQUEST_TIMED_OUT is answered",
            "    duplicate: orders-0 offset 1: the same record as at offset 0*",
            "    pytest test_it.py::test_sends_again --kafka-failure '{*}'",
        ]
    )
    result.stdout.fnmatch_lines(["test_it.py::test_gives_up: 6 points of failure: 6 survived"])
    result.stdout.fnmatch_lines(["E *assert 0 == 1"])


@pytest.mark.slow
@pytest.mark.parametrize("ci", doses.nightly_after(1, ["", "true"]))
def test_the_line_of_a_failure_brings_it_about_again(run: Run, monkeypatch: pytest.MonkeyPatch, ci: str) -> None:
    monkeypatch.setenv("CI", ci)
    text = run(ORDERS, "--kafka-every-failure").stdout.str()
    # In CI pytest tells the whole of a failure once more in its summary.
    [line] = set(re.findall(r"^    pytest (test_it\S+ --kafka-failure .*)$", text, re.MULTILINE))
    test, *option = shlex.split(line)

    again = run(ORDERS, test, *option)

    again.assert_outcomes(passed=1, errors=1)
    again.stdout.fnmatch_lines(["after *REQUEST_TIMED_OUT*: duplicate: orders-0 offset 1*"])


def test_it_is_bounded(run: Run) -> None:
    result = run(ORDERS, "--kafka-every-failure", "--kafka-failures-most", "2", "-k", "gives_up")
    result.stdout.fnmatch_lines(["test_it.py::test_gives_up: 2 points of failure: 2 survived; 4 more were left out"])
    result = run(ORDERS, "--kafka-every-failure", "--kafka-failures-seconds", "0", "-k", "gives_up")
    result.stdout.fnmatch_lines(["test_it.py::test_gives_up: 0 points of failure: none; 6 more were left out"])


@pytest.mark.parametrize("json", doses.nightly_after(1, ['{"do": "disconnect", "whenn": {}}', "nothing", "[]"]))
def test_a_failure_that_is_none(run: Run, json: str) -> None:
    result = run("    def test_it(kafka_cluster): pass", "--kafka-failure", json)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --kafka-failure: *"])
