"""Points of failure in a journal."""

from __future__ import annotations

import json
import shlex

from fakebroker.core.faults.fault import Fault
from fakebroker.core.journal.journal import Journal
from fakebroker.testing import Simulation, wire
from fakebroker.testing.failures.points import Point, points_of, sample


def points(*acks: int) -> list[Point]:
    """Return the points of Produce requests with these acks."""
    journal = Journal()
    simulation = Simulation(journal=journal)
    simulation.topic("t")
    client = simulation.connect()
    for number, level in enumerate(acks):
        client.send(wire.produce(number, level, 1_000, [(("t", 0), wire.batch(b"v", 1, 1))]))
    return points_of(journal)


def test_a_produce_with_acks_all() -> None:
    assert [point.text for point in points(-1)] == [
        "Produce 1: the request is lost",
        "Produce 1: it is done, and the answer is lost",
        "Produce 1: nothing is done, and NOT_LEADER_OR_FOLLOWER is answered",
        "Produce 1: nothing is done, and NOT_ENOUGH_REPLICAS is answered",
        "Produce 1: it is done, and REQUEST_TIMED_OUT is answered",
        "Produce 1: it is done, and NOT_ENOUGH_REPLICAS_AFTER_APPEND is answered",
    ]


def test_what_does_not_wait_is_not_told_that_it_waited_in_vain_and_what_has_no_answer_cannot_lose_it() -> None:
    one = [point.text for point in points(1)]
    assert one[:2] == ["Produce 1: the request is lost", "Produce 1: it is done, and the answer is lost"]
    assert not [text for text in one if "REQUEST_TIMED_OUT" in text or "AFTER_APPEND" in text]
    assert [point.text for point in points(0)] == ["Produce 1: the request is lost"]


def test_each_request_of_an_api_has_its_number() -> None:
    points_ = points(1, 1, 0)
    assert [point.text.split(":")[0] for point in points_ if "is lost" in point.text] == [
        "Produce 1",
        "Produce 1",
        "Produce 2",
        "Produce 2",
        "Produce 3",
    ]
    assert {point.fault.times.on_call for point in points_} == {1, 2, 3}
    assert all(point.fault.when.api == ("Produce",) for point in points_)


def test_a_point_can_be_had_again_by_its_json() -> None:
    for point in points(-1):
        assert Fault.from_json(json.loads(point.spec)) == point.fault
        option, spec = shlex.split(point.option)
        assert (option, spec) == ("--kafka-failure", point.spec)


def test_a_sample_is_spread_evenly() -> None:
    points_ = points(*[1] * 10)
    assert sample(points_, 1_000) == points_
    chosen = sample(points_, 7)
    assert len(chosen) == len(set(chosen)) == 7
    assert [points_.index(point) for point in chosen] == sorted(points_.index(point) for point in chosen)
    assert points_.index(chosen[-1]) > len(points_) * 0.8
