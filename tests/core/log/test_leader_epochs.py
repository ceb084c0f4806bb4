"""Leader epoch caches and the truncation that follows from them, row by row (LeaderEpochFileCacheTest, KIP-101/279)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.requests import batch

from fakebroker.core.broker_registry import RegisteredBroker
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.leader_epochs import EpochEntry, LeaderEpochCache
from fakebroker.core.log.log import LoggedBatch
from fakebroker.core.replication.fetch import FetchPartition
from fakebroker.core.replication.partition import Partition
from fakebroker.core.replication.reads import diverging_epoch
from fakebroker.core.replication.replica import Replica
from fakebroker.protocol.topic_partition import TopicPartition

Entries = list[tuple[int, int]]


def cache(entries: Entries) -> LeaderEpochCache:
    made = LeaderEpochCache()
    for epoch, start_offset in entries:
        made.assign(epoch, start_offset)
    made.check_invariants()
    return made


def replica(entries: Entries, end_offset: int) -> Replica:
    """Return a log of one record a batch, written in these epochs; the cache may have an epoch without a record."""
    made = Replica(RegisteredBroker(1))
    for offset in range(end_offset):
        epoch = max((epoch for epoch, start in entries if start <= offset), default=0)
        made.log.append(LoggedBatch(offset, offset, epoch, batch(b"%d in %d" % (offset, epoch))))
    for epoch, start_offset in entries:
        made.leader_epochs.assign(epoch, start_offset)
    return made


@pytest.mark.parametrize(
    ("entries", "asked", "answer"),
    [
        ([], 0, (-1, -1)),
        ([(2, 4)], -1, (-1, -1)),
        ([(2, 4)], 2, (2, 10)),  # the latest epoch ends at the log end
        ([(2, 4)], 1, (1, 4)),  # before the first: nothing but where the first begins
        ([(2, 4)], 3, (-1, -1)),  # an unknown epoch
        ([(0, 0), (2, 5), (4, 9)], 0, (0, 5)),
        ([(0, 0), (2, 5), (4, 9)], 1, (0, 5)),
        ([(0, 0), (2, 5), (4, 9)], 2, (2, 9)),
        ([(0, 0), (2, 5), (4, 9)], 3, (2, 9)),
        ([(0, 0), (2, 5), (4, 9)], 4, (4, 10)),
    ],
)
def test_where_an_epoch_ends(entries: Entries, asked: int, answer: tuple[int, int]) -> None:
    assert cache(entries).end_offset_for(asked, log_end_offset=10) == answer


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ([(1, 3), (1, 7)], [(1, 3)]),  # assigned once
        ([(1, 3), (2, 3)], [(2, 3)]),  # an epoch that never saw a record
        ([(1, 3), (2, 6), (3, 2)], [(3, 2)]),  # offsets went back
        ([(1, 0), (5, 8), (3, 9)], [(1, 0), (3, 9)]),  # epochs went back
        ([(1, 0), (3, 5), (5, 8), (3, 9)], [(1, 0), (3, 9)]),  # to one that was there
    ],
)
def test_entries_rise_in_epoch_and_offset(entries: Entries, left: Entries) -> None:
    assert cache(entries).entries == [EpochEntry(*entry) for entry in left]


@pytest.mark.parametrize(("end", "left"), [(10, 3), (9, 2), (6, 2), (5, 1), (1, 1), (0, 0)])
def test_truncation_forgets_epochs_that_start_at_the_end_or_later(end: int, left: int) -> None:
    made = cache([(0, 0), (2, 5), (4, 9)])
    made.truncate_from_end(end)
    assert len(made.entries) == left


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (0, [(0, 0), (2, 5), (4, 9)]),
        (3, [(0, 3), (2, 5), (4, 9)]),
        (5, [(2, 5), (4, 9)]),
        (8, [(2, 8), (4, 9)]),
        (9, [(4, 9)]),
        (10, [(4, 10)]),
    ],
)
def test_an_epoch_begins_with_the_log_at_the_earliest(start: int, left: Entries) -> None:
    made = cache([(0, 0), (2, 5), (4, 9)])
    made.truncate_from_start(start)
    assert made.entries == [EpochEntry(*entry) for entry in left]


def test_an_epoch_that_begins_later_stays() -> None:
    made = cache([(3, 5)])
    made.truncate_from_start(4)
    assert made.entries == [EpochEntry(3, 5)]


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 20), max_size=6), st.integers(0, 20))
def test_truncation_from_the_start_changes_no_epoch_of_what_is_left(wanted: dict[int, int], start: int) -> None:
    made = cache(sorted(wanted.items()))
    before = [made.epoch_for_offset(offset) for offset in range(start, 25)]
    made.truncate_from_start(start)
    made.check_invariants()
    assert all(entry.start_offset >= start for entry in made.entries)
    assert [made.epoch_for_offset(offset) for offset in range(start, 25)] == before


def test_what_was_deleted_does_not_diverge() -> None:
    leader = replica([(0, 0), (2, 5), (4, 9)], 12)
    leader.log.update_high_watermark(12)
    partition = Partition(TopicPartition("t", 0), [1], TopicConfig(), 30_000, 0)
    read = FetchPartition(partition, 10, 1 << 20, last_fetched_epoch=2)
    assert diverging_epoch(leader, read) == (2, 9)
    assert leader.maybe_increment_log_start_offset(10)
    leader.check_invariants()
    assert diverging_epoch(leader, read) is None
    assert not leader.maybe_increment_log_start_offset(10)


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (4, 0), (5, 2), (8, 2), (9, 4), (100, 4)])
def test_the_epoch_of_an_offset(offset: int, epoch: int) -> None:
    assert cache([(0, 0), (2, 5), (4, 9)]).epoch_for_offset(offset) == epoch


def test_before_the_first_entry_there_is_no_epoch() -> None:
    assert cache([(3, 5)]).epoch_for_offset(4) == -1


@pytest.mark.parametrize(
    ("name", "follower", "follower_end", "leader", "leader_end", "left"),
    [
        ("the same log", [(0, 0)], 5, [(0, 0)], 5, 5),
        ("a follower that is behind keeps all", [(0, 0)], 3, [(0, 0), (1, 3)], 8, 3),
        ("ahead in the same epoch", [(0, 0)], 7, [(0, 0), (1, 5)], 5, 5),
        ("it wrote in an epoch that the leader never had", [(0, 0), (1, 4)], 9, [(0, 0), (2, 4)], 12, 4),
        ("it led, and wrote nothing", [(0, 0), (1, 4)], 4, [(0, 0), (2, 4)], 6, 4),
        ("two steps: its epoch 2 is unknown, its epoch 1 too", [(0, 0), (1, 2), (2, 4)], 6, [(0, 0), (3, 3)], 9, 2),
        ("an old follower", [(0, 0)], 2, [(0, 0), (5, 10)], 20, 2),
        ("nothing in common", [(1, 0)], 4, [(2, 0)], 3, 0),
        ("an empty follower", [], 0, [(0, 0)], 3, 0),
        ("an empty leader after an unclean election", [(0, 0)], 4, [(1, 0)], 0, 0),
        # KIP-279, the scenario of fast leader changes
        ("KIP-279", [(0, 0), (1, 2), (2, 4)], 6, [(0, 0), (1, 2), (3, 3)], 5, 3),
    ],
)
def test_a_follower_drops_what_the_leader_does_not_have(
    name: str, follower: Entries, follower_end: int, leader: Entries, leader_end: int, left: int
) -> None:
    old, new = replica(follower, follower_end), replica(leader, leader_end)
    old.truncate_to_leader(new)
    assert old.log.log_end_offset == left
    old.check_invariants()
    old.copy_from(new, new.log.log_end_offset)
    assert [b.data for b in old.log.batches] == [b.data for b in new.log.batches]


@st.composite
def histories(draw: st.DrawFn) -> tuple[Replica, Replica]:
    """Draw two replicas that led by turns: epochs are unique, and common records were copied."""
    logs = [Replica(RegisteredBroker(1)), Replica(RegisteredBroker(2))]
    for epoch in range(draw(st.integers(1, 8))):
        leader, follower = logs if draw(st.booleans()) else logs[::-1]
        leader.leader_epochs.assign(epoch, leader.log.log_end_offset)
        if draw(st.booleans()):
            follower.truncate_to_leader(leader)
            follower.copy_from(leader, leader.log.log_end_offset)
        for _ in range(draw(st.integers(0, 3))):
            offset = leader.log.log_end_offset
            leader.log.append(LoggedBatch(offset, offset, epoch, batch(b"%d in %d" % (offset, epoch))))
    leader, follower = logs if draw(st.booleans()) else logs[::-1]
    leader.leader_epochs.assign(100, leader.log.log_end_offset)
    return leader, follower


@given(histories())
def test_after_truncation_the_log_is_the_longest_common_beginning(logs: tuple[Replica, Replica]) -> None:
    leader, follower = logs
    common = 0
    for ours, theirs in zip(leader.log.batches, follower.log.batches, strict=False):
        if ours.data != theirs.data:
            break
        common += 1
    follower.truncate_to_leader(leader)
    assert follower.log.log_end_offset == common
    follower.copy_from(leader, leader.log.log_end_offset)
    follower.check_invariants()
    assert [b.data for b in follower.log.batches] == [b.data for b in leader.log.batches]


@given(histories(), st.integers(0, 24), st.booleans())
def test_a_deleted_beginning_does_not_change_where_two_logs_part(
    logs: tuple[Replica, Replica], start: int, follower_too: bool
) -> None:
    """Deleted records are committed: both logs had them, or the follower is behind and has fewer."""
    leader, follower = logs
    pairs = zip(leader.log.batches, follower.log.batches, strict=False)
    common = next((ours.base_offset for ours, theirs in pairs if ours.data != theirs.data), None)
    if common is None:
        common = min(leader.log.log_end_offset, follower.log.log_end_offset)
    leader.maybe_increment_log_start_offset(min(start, common))
    if follower_too:
        follower.maybe_increment_log_start_offset(min(start, common))
    follower.truncate_to_leader(leader)
    assert follower.log.log_end_offset == common
    follower.copy_from(leader, leader.log.log_end_offset)
    follower.check_invariants()
    leader.check_invariants()
    ends = [replica.log.batches_from(leader.log.log_start_offset) for replica in logs]
    assert [b.data for b in ends[0]] == [b.data for b in ends[1]]
