"""Events during an append in slices have the same effect as if the whole append had happened at its end."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from typing import Any

import pytest
from support.batches import TIME_MS, keyed, sequenced
from support.simulation import Simulation

from fakebroker.core.clock import Now
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.replication.delayed_produce import ProducePartitionStatus
from fakebroker.protocol.compression import Codec
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.produce_reader import PartitionProduceData
from fakebroker.protocol.record_batch import is_crc_valid, read_batch_header
from fakebroker.protocol.slices import Slices, finish

LARGE = keyed(*[b"v" * 1_000] * 500, codec=Codec.GZIP)
NONE, UNKNOWN_TOPIC, NOT_LEADER, NOT_ENOUGH, DUPLICATE_OR_ORDER = 0, 3, 6, 19, 45


@dataclass
class Appending:
    simulation: Simulation
    slices: Slices[None]
    answers: list[list[ProducePartitionStatus]]

    def end(self) -> list[tuple[int, int]]:
        """Finish the append; return (error, base offset) of each partition."""
        finish(self.slices)
        self.simulation.cluster.brokers[1].replicas.try_complete_actions(self.simulation.now)
        (answer,) = self.answers
        return [(int(partition.response.error_code), partition.response.base_offset) for partition in answer]


def led_topic(simulation: Simulation, partitions: int, **configs: Any) -> None:
    """Create a topic with all partitions led by broker 1."""
    simulation.topic(partitions=partitions, **configs)
    for index in range(1, partitions):
        simulation.move_leader(1, "t", index)


def begun(
    records: bytes = LARGE, acks: int = 1, followers: str = "instant", partitions: int = 1, **configs: Any
) -> Appending:
    """Begin an append of such a batch for each partition of a topic; the first slice is done."""
    simulation = Simulation(followers=followers)
    led_topic(simulation, partitions, **configs)
    answers: list[list[ProducePartitionStatus]] = []
    entries = {simulation.partition("t", index): PartitionProduceData(index, records) for index in range(partitions)}
    slices = simulation.cluster.brokers[1].replicas.append_records_in_slices(
        500, acks, False, entries, answers.append, lambda: simulation.now
    )
    next(slices)
    assert simulation.partition().leader_log.log_end_offset == 0
    return Appending(simulation, slices, answers)


def append(simulation: Simulation, records: bytes) -> None:
    now = simulation.now
    simulation.partition().append_records_to_leader(records, is_plain(records), 1, Now(now.mono_ms, now.wall_ms))


def test_nothing_is_there_until_all_is() -> None:
    appending = begun()
    assert appending.end() == [(NONE, 0)]
    assert appending.simulation.partition().leader_log.log_end_offset == 500


def test_the_others_have_appended_meanwhile() -> None:
    appending = begun()
    append(appending.simulation, keyed(b"a", b"b"))
    assert appending.end() == [(NONE, 2)]
    appending.simulation.partition().leader_log.check_invariants()


def test_the_topic_is_deleted_meanwhile() -> None:
    appending = begun()
    appending.simulation.delete_topic()
    assert appending.end() == [(UNKNOWN_TOPIC, -1)]


def test_a_topic_of_that_name_is_another_one() -> None:
    appending = begun()
    appending.simulation.delete_topic()
    appending.simulation.topic()
    assert appending.end() == [(UNKNOWN_TOPIC, -1)]
    assert appending.simulation.partition().leader_log.log_end_offset == 0


def test_another_broker_leads_by_then() -> None:
    appending = begun()
    appending.simulation.move_leader(2)
    assert appending.end() == [(NOT_LEADER, -1)]


def test_it_leads_again_by_then() -> None:
    appending = begun()
    appending.simulation.move_leader(2)
    appending.simulation.move_leader(1)
    assert appending.end() == [(NONE, 0)]
    (batch,) = appending.simulation.partition().leader_log.batches
    assert batch.leader_epoch == appending.simulation.partition().leader_epoch == 2


def test_bad_records_of_a_partition_that_is_gone_are_not_told() -> None:
    appending = begun(LARGE, cleanup_policy="delete", message_timestamp_before_max_ms=0)
    appending.simulation.move_leader(2)
    assert appending.end() == [(NOT_LEADER, -1)]


def test_too_few_are_in_sync_by_then() -> None:
    appending = begun(acks=-1, min_insync_replicas=3)
    partition = appending.simulation.partition()
    partition.change_isr([1, 2])
    assert appending.end() == [(NOT_ENOUGH, -1)]


def test_the_settings_are_those_of_the_end() -> None:
    appending = begun()
    partition = appending.simulation.partition()
    partition.configure(TopicConfig(message_timestamp_type="LogAppendTime", compression_type="zstd"))
    assert appending.end() == [(NONE, 0)]
    (batch,) = partition.leader_log.batches
    header = read_batch_header(batch.records)
    assert (header.compression, header.has_log_append_time) == (Codec.ZSTD, True)


def test_settings_that_refuse_it_by_then() -> None:
    appending = begun()
    appending.simulation.partition().configure(TopicConfig(max_message_bytes=100))
    assert appending.end() == [(10, -1)]


@pytest.mark.parametrize("compression_type", ["producer", "lz4"])
def test_log_append_time_is_that_of_the_end(compression_type: str) -> None:
    """Hence the timestamps of a log never go back."""
    appending = begun(message_timestamp_type="LogAppendTime", compression_type=compression_type)
    simulation = appending.simulation
    simulation.elapsed_ms += 7
    append(simulation, keyed())
    simulation.elapsed_ms += 4
    assert appending.end() == [(NONE, 1)]
    batches = simulation.partition().leader_log.batches
    assert [batch.timestamp_ms for batch in batches] == [TIME_MS + 7, TIME_MS + 11]
    for batch in batches:
        assert read_batch_header(batch.records).max_timestamp_ms == batch.timestamp_ms
        assert is_crc_valid(batch.records, 0, len(batch.records))
    assert appending.answers[0][0].response.log_append_time_ms == TIME_MS + 11


def test_in_no_time_it_is_what_it_is_at_once() -> None:
    settings: tuple[dict[str, Any], ...] = (
        {},
        {"message_timestamp_type": "LogAppendTime"},
        {"compression_type": "lz4"},
    )
    for configs in settings:
        appending = begun(**configs)
        appending.end()
        at_once = Simulation()
        at_once.topic(**configs)
        append(at_once, LARGE)
        (one,), (other,) = appending.simulation.partition().leader_log.batches, at_once.partition().leader_log.batches
        assert (one.data, one.timestamp_ms) == (other.data, other.timestamp_ms)


def test_the_sequence_is_looked_at_in_the_end() -> None:
    large = sequenced(7, 0, 0, 100_000, codec=Codec.GZIP)
    appending = begun(large)
    append(appending.simulation, sequenced(7, 0, 0))
    # What came in between has sequence 0 and is not this batch.
    assert appending.end() == [(DUPLICATE_OR_ORDER, -1)]
    assert appending.simulation.partition().leader_log.log_end_offset == 1


def test_a_batch_that_was_sent_again_is_found_in_the_end() -> None:
    large = sequenced(7, 0, 0, 100_000, codec=Codec.GZIP)
    appending = begun(large)
    append(appending.simulation, large)
    assert appending.end() == [(NONE, 0)]
    assert appending.simulation.partition().leader_log.log_end_offset == 100_000


def test_the_timeout_starts_when_all_is_appended() -> None:
    appending = begun(acks=-1, followers="frozen", partitions=2)
    simulation = appending.simulation
    simulation.elapsed_ms += 100
    finish(appending.slices)
    assert not appending.answers
    manager = simulation.cluster.brokers[1].replicas
    assert manager.produce_purgatory.num_delayed() == 1
    simulation.advance(499)
    assert not appending.answers
    simulation.advance(1)
    (answer,) = appending.answers
    assert [int(partition.response.error_code) for partition in answer] == [7, 7]


def test_the_list_of_record_errors_is_shared_by_a_request() -> None:
    """One error for each batch is returned in any case."""
    records = keyed(*[b""] * 6_000, base_timestamp_ms=TIME_MS - 10, codec=Codec.GZIP)
    simulation = Simulation()
    led_topic(simulation, 3, message_timestamp_before_max_ms=1)
    answers: list[list[ProducePartitionStatus]] = []
    entries = {simulation.partition("t", index): PartitionProduceData(index, records) for index in range(3)}
    manager = simulation.cluster.brokers[1].replicas
    finish(manager.append_records_in_slices(500, 1, False, entries, answers.append, lambda: simulation.now))
    (answer,) = answers
    assert [len(partition.response.record_errors) for partition in answer] == [6_000, 4_000, 1]
    assert {int(partition.response.error_code) for partition in answer} == {32}


def test_acks_that_cannot_be() -> None:
    appending = begun()
    finish(appending.slices)
    simulation = appending.simulation
    answers: list[list[ProducePartitionStatus]] = []
    entries = {simulation.partition(): PartitionProduceData(0, LARGE)}
    manager = simulation.cluster.brokers[1].replicas
    finish(manager.append_records_in_slices(500, 2, False, entries, answers.append, lambda: simulation.now))
    assert [int(partition.response.error_code) for partition in answers[0]] == [21]
    assert simulation.partition().leader_log.log_end_offset == 500


def test_very_many_bombs_in_one_request_are_one_after_the_other() -> None:
    """319 KiB with 100 partitions once took 9.6 s. Now each partition is done in slices, in the memory of one."""
    records = keyed(bytes(10_000_000), codec=Codec.ZSTD)
    simulation = Simulation()
    led_topic(simulation, 10)
    answers: list[list[ProducePartitionStatus]] = []
    entries = {simulation.partition("t", index): PartitionProduceData(index, records) for index in range(10)}
    manager = simulation.cluster.brokers[1].replicas
    slices = manager.append_records_in_slices(500, 1, False, entries, answers.append, lambda: simulation.now)
    tracemalloc.start()
    try:
        for _ in range(10 * 10_000_000 // 40_000):
            next(slices)
        finish(slices)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    assert [int(partition.response.error_code) for partition in answers[0]] == [NONE] * 10
