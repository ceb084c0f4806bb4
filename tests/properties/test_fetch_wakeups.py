"""Parked fetches, compared with a sum: each gets one response, from the append that gives it enough or from its
timeout. It has all that may be read at that moment, and nothing above the high watermark."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from support.messages import decode_response
from support.requests import FETCH, batch, fetch, produce
from support.simulation import Simulation

BATCH = batch(b"a" * 20)
SIZE = len(BATCH)
END_MS = 500


class Reader(NamedTuple):
    start_ms: int
    offset: int
    min_bytes: int
    wait_ms: int
    version: int


readers = st.builds(
    Reader,
    st.integers(0, 100),
    st.sampled_from([0, 0, 0, 1, 2, 3]),
    st.sampled_from([SIZE, 2 * SIZE, 1, SIZE + 1, SIZE - 1, 3 * SIZE, 3 * SIZE + 1, 0]),
    st.sampled_from([120, 200, 50, 1, 0]),
    st.sampled_from([4, 7, 11, 12]),
)


class World(NamedTuple):
    """The times of appends, one at a time, and the times between which the followers are frozen."""

    appends: list[int]
    frozen_ms: int
    thawed_ms: int

    def high_watermark(self, at_ms: int) -> int:
        """Return it as an offset; a batch has one. Appends come before readers and thawing at the same millisecond."""
        is_frozen = self.frozen_ms <= at_ms < self.thawed_ms
        return sum(1 for append in self.appends if append <= at_ms and (not is_frozen or append < self.frozen_ms))

    def log_end(self, at_ms: int) -> int:
        return sum(1 for append in self.appends if append <= at_ms)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    frozen_ms = draw(st.integers(0, 200))
    thawed_ms = frozen_ms + draw(st.sampled_from([0, 0, 20, 100]))
    appends = draw(st.sets(st.integers(0, 200), min_size=2, max_size=6))
    return World(sorted(appends - {thawed_ms}), frozen_ms, thawed_ms)


def expected(world: World, reader: Reader) -> tuple[int, int, int]:
    """Return when the reader gets its response, with which error, and how many batches. A reader beyond the readable
    records is not parked:
    DelayedFetch takes that for a leader that was truncated (case F)."""
    at_ms = reader.start_ms
    if reader.offset > world.log_end(at_ms):
        return at_ms, 1, 0
    if reader.offset > world.high_watermark(at_ms):
        return at_ms, 0, 0
    last_ms = reader.start_ms + reader.wait_ms
    while True:
        readable = world.high_watermark(at_ms) - reader.offset
        if readable * SIZE >= reader.min_bytes or at_ms >= last_ms:
            return at_ms, 0, readable
        at_ms += 1
        if at_ms == last_ms:  # its time is over before anything else happens
            return at_ms, 0, world.high_watermark(at_ms - 1) - reader.offset


@given(world=worlds(), asked=st.lists(readers, min_size=1, max_size=5))
def test_each_reader_is_answered_once_and_in_time(world: World, asked: list[Reader]) -> None:
    simulation = Simulation(config={"log.retention.ms": "-1", "replica.lag.time.max.ms": "100000"})
    simulation.topic("t")
    writer = simulation.connect()
    clients = [simulation.connect() for _ in asked]
    times = {*world.appends, world.frozen_ms, world.thawed_ms, *(reader.start_ms for reader in asked), END_MS}
    for at_ms in sorted(times):
        simulation.advance(at_ms - simulation.elapsed_ms)
        if at_ms == world.frozen_ms:
            simulation.followers("frozen")
        if at_ms == world.thawed_ms:
            simulation.followers(None)
        for _ in range(world.appends.count(at_ms)):
            writer.send(produce("t", acks=1, records=BATCH))
        for reader, client in zip(asked, clients, strict=True):
            if reader.start_ms == at_ms:
                client.send(
                    fetch("t", 0, reader.offset, max_wait_ms=reader.wait_ms, min_bytes=reader.min_bytes,
                          version=reader.version)
                )  # fmt: skip
    for reader, client in zip(asked, clients, strict=True):
        [(at_ms, frame)] = client.answers
        [part] = decode_response(FETCH, reader.version, frame)[1].responses[0].partitions
        assert (at_ms, int(part.error_code), len(part.records or b"") // SIZE) == expected(world, reader)
