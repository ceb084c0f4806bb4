"""Results of the benchmark of the load, and the load that it starts."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.load.__main__ import RATE, SIZES, TIMEOUT_MS, rows, scenario_of

FOUND: dict[str, Any] = {
    "requests": 300_000,
    "confirmed": 300_000,
    "early": 0,
    "ways": 3,
    "send_delay_ms": [0.1, 4.0, 20.0],
    "lateness_ms": [1.0, 6.0, 30.0],
    "load_s": 240.0,
    "after_s": 20.0,
    "judge_s": 30.0,
    "task_mb": 180.0,
    "driver_mb": 200.0,
    "jvm_mb": 900.0,
    "broker_mb": 300.0,
}


def met(**other: Any) -> dict[str, bool | None]:
    return {row.work.partition(": ")[2]: row.met() for row in rows("w", FOUND | other)}


def test_limits_are_held_or_not() -> None:
    assert met() == {"send delay p99": True, "lateness p99": False, "verdict": False, "memory": None}
    assert met(judge_s=28.0, lateness_ms=[1.0, 5.0, 9.0]) == dict.fromkeys(met(), True) | {"memory": None}


def test_a_verdict_of_few_requests_has_no_limit() -> None:
    assert met(requests=299_999)["verdict"] is None


@pytest.mark.parametrize("requests", SIZES)
def test_no_request_waits_for_the_one_before_it(requests: int) -> None:
    """Requests of a connection do not wait for each other, so the rate is the requested one, and the send delay is the
    load's."""
    scenario = scenario_of(requests, RATE)
    (group,) = scenario.groups
    assert requests <= scenario.requests < requests * 1.1
    assert group.connections / RATE * 1000 > TIMEOUT_MS[1] * 1.2
