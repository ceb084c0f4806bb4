"""Compaction of very many keys and of batches with very many records: in slices, with the same result."""

from __future__ import annotations

from functools import partial

import pytest
from support.compacting import compacted, pairs_of, write
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from fakebroker.core.log.compaction.offset_map import OffsetMap
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.protocol.slices import finish


def written(records: int, codec: int) -> Simulation:
    """Return a cluster with a log of two batches with the same keys; the second deletes every third key."""
    simulation = compacted()
    keys = [b"k%d" % number for number in range(records)]
    write(simulation, *((key, b"old") for key in keys[::2]), codec=codec)
    write(simulation, *((key, None if number % 3 == 0 else b"new") for number, key in enumerate(keys)), codec=codec)
    return simulation


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_large_batch_is_filtered_as_a_small_one(codec: Codec) -> None:
    simulation = written(300, codec)
    assert finish(simulation.cluster.admin.compact_in_slices("t", simulation.now)) == 1
    keys = [b"k%d" % number for number in range(300)]
    expected = [(150 + n, key, None if n % 3 == 0 else b"new") for n, key in enumerate(keys)]
    assert pairs_of(simulation) == expected
    simulation.advance(2 * 86_400_000)
    assert finish(simulation.cluster.admin.compact_in_slices("t", simulation.now)) == 1
    assert pairs_of(simulation) == [record for record in expected if record[2] is not None]


@pytest.mark.interpreted
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_no_slice_grows_with_the_records_of_a_batch(codec: Codec) -> None:
    calls = []
    for records in (300, 300, 1_200):
        simulation = written(records, codec)
        compact = partial(simulation.cluster.admin.compact_in_slices, "t", simulation.now)
        calls.append(most_calls_of_a_slice(compact))
    # A generator over the records looks for a tombstone: a call for each, up to the first one.
    assert calls[2] < 1.5 * calls[1]


def test_the_map_of_keys_is_made_of_small_parts_and_dropped_one_by_one() -> None:
    latest = OffsetMap()
    for number in range(20_000):
        latest.put(b"k%d" % number, number)
        latest.put(b"k%d" % number, number + 1)
    assert [latest.get(b"k%d" % number) for number in (0, 1, 19_999)] == [1, 2, 20_000]
    assert latest.get(b"none") == -1
    assert max(map(len, latest._parts)) < 200
    assert sum(1 for _ in latest.drop()) > 400
    assert latest.get(b"k1") == -1


def of_many_batches() -> Simulation:
    """Return a cluster with 1,200 batches of 1,100 keys: more than are replaced at once."""
    simulation = compacted(brokers=3)
    partition, now = simulation.partition(), simulation.now
    for number in range(1_200):
        batch = encode_batch([Record(b"k%d" % (number % 1_100), b"v")], base_timestamp_ms=now.wall_ms)
        partition.append_records_to_leader(batch, False, -1, now)
        simulation.cluster.followers.on_leader_append(partition, now)
    return simulation


def test_very_many_batches_are_put_in_place_log_by_log() -> None:
    """A follower that copies on before its turn takes them over from the leader."""
    simulation = of_many_batches()
    slices = simulation.cluster.admin.compact_in_slices("t", simulation.now)
    logs = [replica.log for replica in simulation.partition().replicas.values()]
    while logs[0].rewriting == 0:
        next(slices)
    assert [log.rewriting for log in logs] == [1, 0, 0]
    write(simulation, (b"new", b"v"))
    assert finish(slices) == 1
    assert [log.rewriting for log in logs] == [1, 1, 1]
    assert len(pairs_of(simulation)) == 1_101
    assert pairs_of(simulation, 2) == pairs_of(simulation, 3) == pairs_of(simulation)
    simulation.cluster.check_invariants()


@pytest.mark.parametrize("then", ["stop", "no leader", "delete"])
def test_a_leader_that_goes_before_the_cleaned_batches_are_ready_changes_no_log(then: str) -> None:
    simulation = compacted(brokers=3)
    for value in (b"old", b"new"):
        write(simulation, (b"k", value))
    partition = simulation.partition()
    log = partition.leader_log
    slices = simulation.cluster.admin.compact_in_slices("t", simulation.now)
    next(slices)
    assert log.rewriting == 0, "the first slice has not put the batches in place"
    if then == "delete":
        simulation.delete_topic("t")
    else:
        for broker_id in [1] if then == "stop" else [3, 2, 1]:
            simulation.stop(broker_id)
    assert finish(slices) == 0
    assert [replica.log.rewriting for replica in partition.replicas.values()] == [0, 0, 0]
    assert len(log.batches) == (0 if then == "delete" else 2)


@pytest.mark.parametrize("then", ["stop", "delete"])
def test_a_leader_that_goes_meanwhile_leaves_the_other_logs_as_they_are(then: str) -> None:
    simulation = of_many_batches()
    slices = simulation.cluster.admin.compact_in_slices("t", simulation.now)
    partition = simulation.partition()
    while partition.leader_log.rewriting == 0:
        next(slices)
    if then == "stop":
        simulation.stop(partition.leader_id)
    else:
        simulation.delete_topic("t")
    finish(slices)
    assert [replica.log.rewriting for replica in partition.replicas.values()] == [1, 0, 0]
    simulation.cluster.check_invariants()
    if then == "stop":
        simulation.start(1)
        write(simulation, (b"new", b"v"))
        assert pairs_of(simulation, 1) == pairs_of(simulation, 2) == pairs_of(simulation, 3)
