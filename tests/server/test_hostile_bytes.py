"""Arbitrary bytes in arbitrary pieces cause no bug and no hang, and other connections are served.

The cluster runs in virtual time; `Simulation` fails on any InternalError and checks the invariants at every step.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import doses
from support.any_request import frames
from support.requests import Produced, api_versions, metadata, produce
from support.simulation import Simulation

from fakebroker.network.connection import ChannelMuteState

MAX_REQUEST_BYTES = 10_000

telling_bytes = st.sampled_from([0, 1, 2, 3, 9, 15, 16, 127, 128, 255])
changes = st.lists(
    st.tuples(st.integers(0, 400), st.one_of(telling_bytes.map(lambda byte: bytes([byte])), st.binary(max_size=6))),
    max_size=4,
)


def changed(data: bytes, places: list[tuple[int, bytes]]) -> bytes:
    """Return the data with some bytes overwritten, inserted, or cut off at the end."""
    for place, what in places:
        place %= len(data) + 1
        if not what:
            data = data[:place]
        elif len(what) == 1:
            data = data[:place] + what + data[place + 1 :]
        else:
            data = data[:place] + what + data[place:]
    return data


def with_length(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


mutated_frames = st.builds(changed, frames(), changes)
# The length is right, so that what is wrong is inside.
mutated_payloads = st.builds(changed, frames().map(lambda frame: frame[4:]), changes).map(with_length)
streams = st.lists(mutated_frames | mutated_payloads | frames() | st.binary(max_size=40), min_size=1, max_size=6)


def in_pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


def cluster(followers: str) -> Simulation:
    running = Simulation(followers=followers, config={"socket.request.max.bytes": str(MAX_REQUEST_BYTES)})
    running.topic("t", partitions=2)
    return running


def assert_served(running: Simulation) -> None:
    """Check that a new connection is served."""
    other = running.connect()
    running.followers("instant")
    if running.cluster.metadata.topic("t") is None:
        running.topic("t")  # the bytes were a good DeleteTopics
    other.send(produce("t", timeout_ms=100))
    ((_, frame),) = other.answers
    ((code, _),) = Produced(frame).partitions.values()
    assert code == 0


@pytest.mark.slow
@settings(max_examples=doses.count(80, 250))
@given(parts=streams, cuts=st.lists(st.integers(0, 3000), max_size=5), followers=st.sampled_from(["instant", "frozen"]))
def test_no_bytes_hang_or_break_the_broker(parts: list[bytes], cuts: list[int], followers: str) -> None:
    running = cluster(followers)
    stranger = running.connect()
    for piece in in_pieces(b"".join(parts), cuts):
        stranger.send(piece)
        running.advance(7)
    running.advance(5_000)

    connection = stranger.connection
    if stranger.closed is None and connection.state is ChannelMuteState.READY:
        # Nothing whole is left lying, and the broker listens for the rest.
        assert connection.decoder.next_frame() is None
        assert connection.decoder.buffered < MAX_REQUEST_BYTES + 4
        assert not stranger.reading_paused
    assert_served(running)


@settings(max_examples=doses.count(40, 100))
@given(data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=5))
def test_random_bytes_do_not_hang_or_break_the_broker(data: bytes, cuts: list[int]) -> None:
    running = cluster("instant")
    stranger = running.connect()
    for piece in in_pieces(data, cuts):
        stranger.send(piece)

    assert_served(running)


@settings(max_examples=doses.count(20, 60))
@given(parts=st.lists(frames(), min_size=1, max_size=5), cuts=st.lists(st.integers(0, 3000), max_size=8))
def test_how_the_bytes_are_cut_changes_no_answer(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    whole, cut = cluster("instant"), cluster("instant")
    one, other = whole.connect(), cut.connect()
    one.send(data)
    for piece in in_pieces(data, cuts):
        other.send(piece)
    for running in (whole, cut):
        running.advance(10_000)

    assert [frame for _, frame in other.answers] == [frame for _, frame in one.answers]
    assert other.closed == one.closed


@settings(max_examples=doses.count(20, 60))
@given(parts=st.lists(frames(), min_size=1, max_size=4), after_ms=st.integers(0, 1200))
def test_a_client_may_vanish_at_any_time(parts: list[bytes], after_ms: int) -> None:
    running = cluster("frozen")
    stranger = running.connect()
    stranger.send(*parts)
    running.advance(after_ms)
    stranger.disconnect()
    answered = len(stranger.answers)
    running.advance(5_000)

    assert len(stranger.answers) == answered
    assert_served(running)


def test_a_request_behind_a_parked_one_is_read_when_its_turn_comes() -> None:
    running = cluster("frozen")
    client = running.connect()
    client.send(produce("t", timeout_ms=50), api_versions(), metadata(["t"]))

    assert client.answers == []
    running.advance(50)
    assert [at_ms for at_ms, _ in client.answers] == [50, 50, 50]


def test_a_connection_with_a_request_in_hand_is_not_read() -> None:
    running = cluster("frozen")
    client = running.connect()
    client.send(produce("t", timeout_ms=50))
    paused = client.reading_paused
    running.advance(50)

    assert (paused, client.reading_paused) == (True, False)
