"""Offsets of open transactions, compared with a plain dict."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.coordinator.timeline import SnapshotRegistry
from fakebroker.core.groups.offsets.pending import PendingOffset, PendingOffsets
from fakebroker.protocol.group_records.offset_commit import OffsetCommitKey, OffsetCommitValue
from fakebroker.protocol.slices import finish

KEYS = [OffsetCommitKey(group, "t", partition) for group in ("g", "h") for partition in (0, 1)]


def value(offset: int) -> OffsetCommitValue:
    return OffsetCommitValue(offset, -1, "", 0)


@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "put", "overtake", "drop", "take"]), st.integers(1, 2), st.sampled_from(KEYS))
    )
)
def test_beside_a_plain_dict(steps: list[tuple[str, int, OffsetCommitKey]]) -> None:
    pending = PendingOffsets(SnapshotRegistry())
    model: dict[tuple[int, OffsetCommitKey], PendingOffset] = {}
    written = 0
    for number, (kind, producer_id, key) in enumerate(steps):
        if kind == "put":
            pending.put(producer_id, key, value(number))
            written += 1
            model[producer_id, key] = PendingOffset(value(number), written)
        elif kind == "overtake":
            pending.overtake(key)
            for pair in [pair for pair in model if pair[1] == key]:
                model[pair] = replace(model[pair], is_overtaken=True)
        elif kind == "drop":
            pending.drop(key)
            model = {pair: offset for pair, offset in model.items() if pair[1] != key}
        else:
            taken = dict(finish(pending.take(producer_id)))
            assert taken == {pair[1]: offset for pair, offset in model.items() if pair[0] == producer_id}
            model = {pair: offset for pair, offset in model.items() if pair[0] != producer_id}
        for wanted in KEYS:
            assert pending.has(wanted) == any(known == wanted for _, known in model)
        for group in ("g", "h"):
            assert pending.has_any_of(group) == any(known.group == group for _, known in model)
            assert set(pending.keys_of(group)) == {known for _, known in model if known.group == group}


def test_what_is_committed_first_overtakes_only_what_was_written_before_it() -> None:
    pending = PendingOffsets(SnapshotRegistry())
    for producer_id in (1, 2, 3):
        pending.put(producer_id, KEYS[0], value(producer_id))
    ((_, second),) = finish(pending.take(2))
    pending.overtake(KEYS[0], second.order)
    assert finish(pending.take(1)) == [(KEYS[0], PendingOffset(value(1), 1, True))]
    assert finish(pending.take(3)) == [(KEYS[0], PendingOffset(value(3), 3))]


def test_it_goes_back_to_a_snapshot() -> None:
    registry = SnapshotRegistry()
    pending = PendingOffsets(registry)
    pending.put(1, KEYS[0], value(1))
    registry.create_snapshot(10)
    pending.put(2, KEYS[0], value(2))
    assert [key for key, _ in finish(pending.take(1))] == [KEYS[0]]
    registry.revert_to_snapshot(10)
    assert finish(pending.take(2)) == []
    assert finish(pending.take(1)) == [(KEYS[0], PendingOffset(value(1), 1))]
    assert not pending.has(KEYS[0])
