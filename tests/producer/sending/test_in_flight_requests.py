"""Requests in flight: who may send, who is next, and who has waited too long."""

from __future__ import annotations

import pytest

from fakebroker.producer.generation import Generation
from fakebroker.producer.sending.in_flight_requests import InFlightRequest, InFlightRequests

OLD, NEW = Generation("2.0"), Generation("4.3")


def flights(most: int = 2, generation: Generation = NEW) -> InFlightRequests[str]:
    return InFlightRequests(most, generation)


def request(name: str, sent_ms: int = 0, node: int = 1, timeout_ms: int = 30) -> InFlightRequest[str]:
    return InFlightRequest(name, node, timeout_ms, sent_ms)


def test_another_may_be_sent_once_the_last_is_written_if_there_are_not_too_many() -> None:
    sent = flights()
    assert sent.can_send_more(1)
    for name in ("one", "two"):
        sent.add(request(name))
        assert not sent.can_send_more(1), "it is not written"
        sent.last_sent(1).is_written = True
        assert sent.can_send_more(1) == (name == "one")
    assert sent.can_send_more(2)
    assert sent.complete_next(1).request == "one"
    assert sent.can_send_more(1)
    assert (sent.count(1), sent.count(2), sent.count_all()) == (1, 0, 1)


def test_one_that_nobody_answers_is_over_when_it_is_written() -> None:
    sent = flights()
    sent.add(request("one"))
    sent.add(request("two"))
    assert sent.complete_last_sent(1).request == "two"
    assert sent.complete_next(1).request == "one"
    with pytest.raises(AssertionError):
        sent.complete_next(1)


@pytest.mark.parametrize("generation", [OLD, NEW])
def test_one_times_out_a_millisecond_later_than_it_may_wait(generation: Generation) -> None:
    sent = flights(generation=generation)
    sent.add(request("one", 100))
    sent.add(request("two", 150))
    assert sent.nodes_with_timed_out_requests(130) == []
    assert sent.nodes_with_timed_out_requests(131) == [1]
    assert [one.request for one in sent.clear_all(1)] == ["one", "two"], "the connection ends, and both with it"
    assert sent.clear_all(1) == []
    assert sent.nodes_with_timed_out_requests(1_000) == []


@pytest.mark.parametrize(("generation", "late_ms"), [(OLD, 31), (NEW, 61)])
def test_a_client_that_is_throttled_knows_it_since_kip_219(generation: Generation, late_ms: int) -> None:
    sent = flights(generation=generation)
    sent.add(request("one"))
    sent.increment_throttle_time(1, 10)
    sent.increment_throttle_time(1, 20)
    sent.increment_throttle_time(2, 20)
    assert sent.nodes_with_timed_out_requests(late_ms - 1) == []
    assert sent.nodes_with_timed_out_requests(late_ms) == [1]


def test_any_request_of_a_connection_may_be_the_late_one() -> None:
    sent = flights()
    sent.add(request("slow", timeout_ms=1_000))
    sent.add(request("quick", timeout_ms=10))
    assert sent.nodes_with_timed_out_requests(11) == [1]
