"""Requests in flight: the nodes that may send, their order, and requests that have timed out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_a_request_without_a_response_is_over_when_it_is_written() -> None:
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


def test_the_next_time_out_is_that_of_the_first_to_be_late_and_no_earlier() -> None:
    sent = flights()
    assert sent.time_outs_ms() == []
    sent.add(request("slow", 100, node=1, timeout_ms=1_000))
    sent.add(request("quick", 200, node=2, timeout_ms=30))
    sent.add(request("later", 300, node=2, timeout_ms=30))
    assert min(sent.time_outs_ms()) == 231
    assert sent.nodes_with_timed_out_requests(230) == []
    assert sent.nodes_with_timed_out_requests(231) == [2]
    sent.complete_next(2)
    assert min(sent.time_outs_ms()) == 331
    assert sent.nodes_with_timed_out_requests(330) == []
    assert sent.nodes_with_timed_out_requests(331) == [2]


@given(st.lists(st.tuples(st.sampled_from(["send", "answer", "throttle", "cut", "look"]), st.integers(1, 3))))
def test_late_requests_are_found_at_any_time(steps: list[tuple[str, int]]) -> None:
    """Each request is kept as it was sent, and is checked again each time."""
    sent, now_ms = flights(), 0
    waiting: dict[int, list[list[int]]] = {1: [], 2: [], 3: []}  # node: sent, timeout, throttled
    for number, (what, node) in enumerate(steps):
        now_ms += 7 * (number % 3)
        if what == "send":
            timeout_ms = 10 + 20 * (number % 4)
            sent.add(request("one", now_ms, node, timeout_ms))
            waiting[node].append([now_ms, timeout_ms, 0])
        elif what == "answer" and waiting[node]:
            sent.complete_next(node)
            del waiting[node][0]
        elif what == "throttle":
            sent.increment_throttle_time(node, 15)
            for one in waiting[node]:
                one[2] += 15
        elif what == "cut":
            assert len(sent.clear_all(node)) == len(waiting[node])
            waiting[node].clear()
        late = {
            node for node, all_of in waiting.items() if any(now_ms - at > limit + more for at, limit, more in all_of)
        }
        assert set(sent.nodes_with_timed_out_requests(now_ms)) == late
