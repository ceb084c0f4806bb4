"""Compaction of compacted topics: the records that are kept, the time, and the replicas that compact
(core/replication/compaction.py)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.compacting import Pair, compacted, pairs_of, stored, write
from support.requests import produce
from support.simulation import Simulation

from fakebroker.core.log.compaction.record_filter import DELETE_HORIZON_FLAG
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import Record, decode_records, encode_batch, read_batch_header

DAY_MS = 86_400_000
ROLL_MS = 1_000


def compact(simulation: Simulation) -> int:
    cleaned = simulation.cluster.admin.compact("t", simulation.now)
    simulation.cluster.check_invariants()
    return cleaned


def test_the_last_of_each_key_is_kept_at_its_offset() -> None:
    simulation = compacted()
    write(simulation, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    write(simulation, (b"b", b"2"))
    write(simulation, (b"c", b"1"))
    assert compact(simulation) == 1
    assert stored(simulation) == [[(2, b"a", b"2")], [(3, b"b", b"2")], [(4, b"c", b"1")]]
    partition = simulation.partition()
    assert (partition.leader_log.log_start_offset, partition.leader_log.log_end_offset) == (0, 5)


def test_a_batch_of_which_nothing_is_left_goes_and_leaves_a_gap() -> None:
    simulation = compacted()
    for value in (b"1", b"2", b"3"):
        write(simulation, (b"a", value), (b"b", value))
    compact(simulation)
    assert pairs_of(simulation) == [(4, b"a", b"3"), (5, b"b", b"3")]
    log = simulation.partition().leader_log
    assert [log.batch_at(offset).base_offset for offset in range(6)] == [4] * 6
    assert log.size_in_bytes == log.read(0, 6, 1 << 20).size


def test_the_last_batch_is_kept_whatever_is_in_it() -> None:
    simulation = compacted(delete_retention_ms=0)
    write(simulation, (b"a", b"1"))
    write(simulation, (b"a", None))
    compact(simulation)
    assert pairs_of(simulation) == [(1, b"a", None)]
    simulation.advance(1)
    compact(simulation)
    assert stored(simulation) == [[]]
    assert simulation.partition().leader_log.log_end_offset == 2
    write(simulation, (b"b", b"1"))
    assert pairs_of(simulation) == [(2, b"b", b"1")]


def test_the_tombstone_of_a_deleted_key_goes_a_while_after_it_was_compacted() -> None:
    simulation = compacted(delete_retention_ms=DAY_MS)
    write(simulation, (b"a", b"1"))
    write(simulation, (b"a", None), (b"b", b"1"))
    write(simulation, (b"c", b"1"))
    compact(simulation)
    marked = simulation.partition().leader_log.batches[0]
    header = read_batch_header(marked.data)
    assert header.attributes & DELETE_HORIZON_FLAG
    assert header.base_timestamp_ms == simulation.now.wall_ms + DAY_MS
    assert [record.timestamp_ms for record in decode_records(marked.data)] == [simulation.now.wall_ms] * 2
    simulation.advance(DAY_MS - 1)
    compact(simulation)
    assert pairs_of(simulation) == [(1, b"a", None), (2, b"b", b"1"), (3, b"c", b"1")]
    simulation.advance(1)
    compact(simulation)
    assert pairs_of(simulation) == [(2, b"b", b"1"), (3, b"c", b"1")]


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_compressed_batches_stay_compressed(codec: int) -> None:
    simulation = compacted()
    write(simulation, (b"a", b"1"), (b"b", b"1" * 100), codec=codec)
    write(simulation, (b"a", b"2"), codec=codec)
    compact(simulation)
    assert stored(simulation) == [[(1, b"b", b"1" * 100)], [(2, b"a", b"2")]]
    assert [read_batch_header(b.data).compression for b in simulation.partition().leader_log.batches] == [codec] * 2


def test_the_last_batch_of_a_producer_is_kept_for_its_sequence() -> None:
    simulation = compacted()
    for sequence, producer_id in ((0, 7), (1, 7), (0, 8)):
        write(simulation, (b"a", b"v"), producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    write(simulation, (b"a", b"end"))
    compact(simulation)
    assert stored(simulation) == [[], [], [(3, b"a", b"end")]]
    batches = simulation.partition().leader_log.batches
    assert [batch.producer.base_sequence for batch in batches if batch.producer is not None] == [1, 0]
    headers = [read_batch_header(batch.data) for batch in batches]
    assert [(header.producer_id, header.base_sequence) for header in headers] == [(7, 1), (8, 0), (-1, -1)]
    write(simulation, (b"a", b"next"), producer_id=7, producer_epoch=0, base_sequence=2)
    assert pairs_of(simulation)[-1] == (4, b"a", b"next")
    write(simulation, (b"a", b"gap"), producer_id=8, producer_epoch=0, base_sequence=5)
    assert pairs_of(simulation)[-1] == (4, b"a", b"next")


def test_what_is_not_committed_is_not_compacted() -> None:
    simulation = compacted(3)
    write(simulation, (b"a", b"1"))
    write(simulation, (b"a", b"2"))
    simulation.followers("frozen")
    write(simulation, (b"a", b"3"))
    compact(simulation)
    assert pairs_of(simulation) == [(1, b"a", b"2"), (2, b"a", b"3")]


def test_what_is_young_is_not_compacted() -> None:
    simulation = compacted(min_compaction_lag_ms=1_000)
    write(simulation, (b"a", b"1"))
    write(simulation, (b"a", b"2"))
    assert compact(simulation) == 0
    simulation.advance(1_000)
    write(simulation, (b"a", b"3"))
    simulation.advance(1)
    compact(simulation)
    assert [value for _, _, value in pairs_of(simulation)] in ([b"2", b"3"], [b"1", b"2", b"3"])


def test_compact_refuses_a_topic_without_compaction() -> None:
    simulation = compacted(cleanup_policy="delete")
    with pytest.raises(KafkaError, match=r"not compacted") as refused:
        compact(simulation)
    assert refused.value.code == ErrorCode.policy_violation
    with pytest.raises(KafkaError, match=r"does not exist"):
        simulation.cluster.admin.compact("nobody", simulation.now)


# On its own.


def test_the_active_segment_is_left_alone_and_others_are_cleaned_in_time() -> None:
    simulation = compacted(segment_ms=ROLL_MS)
    for value in (b"1", b"2"):
        write(simulation, (b"a", value))
    simulation.advance(60_000)
    assert len(pairs_of(simulation)) == 2  # there is only the active segment
    write(simulation, (b"a", b"3"))
    simulation.advance(15_000)
    assert pairs_of(simulation) == [(1, b"a", b"2"), (2, b"a", b"3")]
    simulation.cluster.check_invariants()


def test_a_log_that_is_hardly_dirty_waits() -> None:
    simulation = compacted(segment_ms=ROLL_MS, min_cleanable_dirty_ratio=0.5)
    for key in range(10):
        write(simulation, (b"%d" % key, b"v"))
    simulation.advance(60_000)
    write(simulation, (b"0", b"w"))
    simulation.advance(60_000)  # ten are clean now, the eleventh is active
    write(simulation, (b"0", b"x"))
    simulation.advance(60_000)
    assert len(pairs_of(simulation)) == 12  # one in eleven is dirty
    for _ in range(12):
        simulation.advance(2 * ROLL_MS)
        write(simulation, (b"0", b"y"))
    simulation.advance(60_000)
    assert len(pairs_of(simulation)) == 9 + 2
    simulation.cluster.check_invariants()


def test_what_waits_for_too_long_is_compacted_all_the_same() -> None:
    simulation = compacted(segment_ms=ROLL_MS, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=100_000)
    for value in (b"1", b"2"):
        write(simulation, (b"a", value))
    simulation.advance(2 * ROLL_MS)
    write(simulation, (b"b", b"1"))
    simulation.advance(60_000)
    assert len(pairs_of(simulation)) == 3
    simulation.advance(60_000)
    assert pairs_of(simulation) == [(1, b"a", b"2"), (2, b"b", b"1")]


def test_the_cleaner_can_be_off() -> None:
    simulation = compacted(config={"log.cleaner.enable": "false"}, segment_ms=ROLL_MS)
    for value in (b"1", b"2"):
        write(simulation, (b"a", value))
        simulation.advance(60_000)
    write(simulation, (b"a", b"3"))
    simulation.advance(60_000)
    assert len(pairs_of(simulation)) == 3


# Replicas.


def test_replicas_go_on_sharing_what_is_left() -> None:
    simulation = compacted(3)
    for value in (b"1", b"2", b"3"):
        write(simulation, (b"a", value))
    compact(simulation)
    logs = [replica.log for replica in simulation.partition().replicas.values()]
    assert [log.batches for log in logs] == [logs[0].batches] * 3
    assert simulation.cluster.controller.log_memory.used_bytes < 1_000


def test_a_follower_that_is_behind_takes_over_what_was_left() -> None:
    simulation = compacted(3)
    write(simulation, (b"a", b"1"), (b"b", b"1"))
    simulation.followers("frozen", broker=3)
    write(simulation, (b"a", b"2"))
    simulation.advance(60_000)  # it has left the ISR
    write(simulation, (b"c", b"1"))
    compact(simulation)
    assert pairs_of(simulation, 3) == [(0, b"a", b"1"), (1, b"b", b"1")]
    write(simulation, (b"c", b"2"))
    simulation.followers("instant")
    assert pairs_of(simulation, 3) == pairs_of(simulation, 1)
    assert pairs_of(simulation, 1) == [(1, b"b", b"1"), (2, b"a", b"2"), (3, b"c", b"1"), (4, b"c", b"2")]
    simulation.cluster.check_invariants()


def test_a_replica_that_is_added_copies_a_compacted_log() -> None:
    simulation = Simulation(brokers=2)
    simulation.topic("t", replicas=1, cleanup_policy="compact")
    for value in (b"1", b"2", b"3"):
        write(simulation, (b"a", value))
    compact(simulation)
    write(simulation, (b"b", b"1"))
    simulation.cluster.admin.reassign("t", 0, [2], simulation.now)
    simulation.advance(1)
    assert pairs_of(simulation, 2) == [(2, b"a", b"3"), (3, b"b", b"1")]
    simulation.cluster.check_invariants()


def test_a_topic_that_goes_while_it_is_cleaned() -> None:
    simulation = compacted()
    for value in range(100):
        write(simulation, (b"a", b"x" * 1_000 + b"%d" % value))
    cleaning = simulation.cluster.members.log_cleaner.clean(simulation.partition(), simulation.now, roll_first=True)
    next(cleaning)
    simulation.delete_topic()
    assert list(cleaning)[-1:] in ([], [None])
    simulation.cluster.check_invariants()


def test_records_that_are_deleted_while_a_log_is_cleaned() -> None:
    simulation = compacted(cleanup_policy="compact,delete")
    for value in range(100):
        write(simulation, (b"a", b"x" * 1_000 + b"%d" % value))
    partition = simulation.partition()
    cleaning = simulation.cluster.members.log_cleaner.clean(partition, simulation.now, roll_first=True)
    next(cleaning)
    partition.delete_records_before(50)
    for _ in cleaning:
        pass
    assert len(pairs_of(simulation)) == 50  # nothing came of it
    simulation.cluster.check_invariants()


Step = tuple[str, Any]
KEYS = st.sampled_from([b"a", b"b", b"c"])
VALUES = st.one_of(st.none(), st.binary(max_size=40))
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)),
        st.tuples(st.just("compact"), st.none()),
        st.tuples(st.just("freeze"), st.sampled_from([2, 3])),
        st.tuples(st.just("thaw"), st.none()),
        st.tuples(st.just("advance"), st.sampled_from([1, 1_000, 60_000])),
        st.tuples(st.just("move"), st.sampled_from([1, 2, 3])),
        st.tuples(st.just("delete"), st.integers(0, 20)),
    ),
    max_size=25,
)


@given(STEPS, st.sampled_from(["-1", "1500", "700"]))
def test_whatever_happens_the_last_value_of_each_key_is_there(steps: list[Step], memory: str) -> None:
    """The rule covers committed records that DeleteRecords has not deleted, in the logs of the leader and of in-sync
    replicas."""
    simulation = compacted(
        3, config={"log.memory.bytes": memory}, cleanup_policy="compact,delete", delete_retention_ms=0
    )
    partition = simulation.partition()
    written: dict[int, Pair] = {}
    for what, value in steps:
        leader = partition.leader_id
        match what:
            case "write":
                offset = partition.leader_log.log_end_offset
                batch = encode_batch([Record(*pair) for pair in value], base_timestamp_ms=simulation.now.wall_ms)
                simulation.connect(leader).send(produce("t", acks=1, records=batch))
                written |= {offset + number: pair for number, pair in enumerate(value)}
            case "compact":
                compact(simulation)
            case "freeze":
                simulation.followers("frozen", broker=value)
            case "thaw":
                simulation.followers("instant")
            case "advance":
                simulation.advance(value)
            case "move":
                if value in partition.isr:
                    before = partition.leader_log.log_end_offset
                    simulation.move_leader(value)
                    end = partition.leader_log.log_end_offset
                    written = (
                        {offset: pair for offset, pair in written.items() if offset < end} if end < before else written
                    )
            case "delete":
                partition.delete_records_before(value)
        simulation.cluster.check_invariants()
        for broker in partition.isr:
            log = partition.replicas[broker].log
            committed = {offset: pair for offset, pair in written.items() if offset < partition.high_watermark}
            last = {key: (offset, value) for offset, (key, value) in committed.items()}
            values = {(offset, key): value for offset, key, value in pairs_of(simulation, broker)}
            for key, (offset, expected) in last.items():
                if offset >= log.log_start_offset and expected is not None:
                    assert values[offset, key] == expected
            assert all(written[offset] == (key, there) for (offset, key), there in values.items())
