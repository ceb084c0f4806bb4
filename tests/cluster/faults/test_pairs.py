"""Every pair of a point and an error that the table has for Produce, tried: the state after it is the one that Kafka
would be in. The oracle knows nothing of the engine: from the error alone it says what may be in the log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import doses
from support.batches import sequenced
from support.faulty import FaultyCluster
from support.requests import produce

from fakebroker.core.faults.check import can_answer
from fakebroker.core.faults.points import POINTS
from fakebroker.core.faults.table import ACKS_ALL, table
from fakebroker.protocol.error_code import error_from_name

PRODUCE = table()["Produce"]
PAIRS = [
    (at, error)
    for at in POINTS
    for error in sorted(PRODUCE.before | PRODUCE.after)
    if can_answer(PRODUCE, error, at) and at != "request_read"
]


def test_there_are_pairs_at_each_point() -> None:
    assert {at for at, _ in PAIRS} == {"before_work", "after_append", "after_watermark", "before_answer"}


@pytest.mark.parametrize(("at", "error"), PAIRS)
@pytest.mark.parametrize(
    ("acks", "followers"),
    doses.nightly_after(2, [(-1, "lagging:20"), (1, "instant"), (-1, "instant"), (1, "lagging:20")]),
)
def test_the_state_is_what_the_error_says(at: str, error: str, acks: int, followers: str) -> None:
    kafka = FaultyCluster(followers=followers)
    armed = kafka.add({"api": "Produce", "topic": "t", "partition": 0, "at": at}, error)
    client = kafka.connect()
    partitions: dict[int, bytes | None] = dict.fromkeys((0, 1), sequenced(7, 0, 0))
    client.send(produce("t", partitions=partitions, acks=acks, timeout_ms=100))
    kafka.advance(200)
    [results] = client.produced()
    never = (error in ACKS_ALL and acks != -1) or (at == "after_watermark" and acks != -1)
    assert armed.hits == (0 if never else 1)
    is_written = never or at != "before_work"
    code = 0 if never else int(error_from_name(error))
    assert results == {0: (code, 0 if is_written else -1), 1: (0, 0)}
    state = kafka.partition(0).leader_log.producer_state
    assert kafka.log_end(0) == int(is_written)
    assert kafka.partition(0).high_watermark == int(is_written)  # the followers fetch it, whatever the response was
    assert (state.last_entry(7) is not None) == is_written
    assert kafka.log_end(1) == 1
    # An idempotent producer that sends it again is told the truth, and it is there once.
    client.send(produce("t", partitions={0: sequenced(7, 0, 0)}, acks=1))
    assert client.produced()[-1] == {0: (0, 0)}
    assert kafka.log_end(0) == 1


@given(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=5), st.data())
def test_any_of_them_one_after_the_other(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    kafka = FaultyCluster()
    client = kafka.connect()
    expected = 0
    for at, error in pairs:
        kafka.add({"api": "Produce", "partition": 0, "at": at}, error)
        client.send(produce("t", 0))
        kafka.advance(data.draw(st.integers(0, 3)))
        is_written = at != "before_work"
        [results] = client.produced()[-1:]
        assert results[0] == (int(error_from_name(error)), expected if is_written else -1)
        expected += is_written
        assert kafka.log_end() == kafka.partition().high_watermark == expected
    client.send(produce("t", 0))
    assert client.produced()[-1] == {0: (0, expected)}
