"""A batch that grows is equal to a batch that is made at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.coordinator.batch_builder import BatchBuilder
from fakebroker.protocol.record_batch import Record, encode_batch

data = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), data), max_size=2).map(tuple)
records = st.builds(Record, data, data, headers, st.integers(0, 2**41), st.none())


@given(st.lists(records, min_size=1, max_size=5), st.sampled_from([0, 1 << 4]), st.integers(-1, 2**40))
def test_it_is_the_batch_that_is_made_at_once(records: list[Record], attributes: int, producer_id: int) -> None:
    builder = BatchBuilder()
    for number, record in enumerate(records):
        assert len(builder) == number
        builder.append(record)
    first_ms = records[0].timestamp_ms
    assert first_ms is not None
    assert builder.build(attributes, producer_id, 3) == encode_batch(
        records, base_timestamp_ms=first_ms, producer_id=producer_id, producer_epoch=3, attributes=attributes
    )
