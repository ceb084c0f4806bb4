"""Settings that change while the cluster runs: they apply from the next request on and wake no parked request."""

from __future__ import annotations

import pytest
from support.answers import NONE, NOT_ENOUGH, TIMED_OUT, answers
from support.requests import batch, fetch, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.replication.partition import NO_LEADER
from fakebroker.network.connection import ChannelMuteState
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

TOO_LARGE = ErrorCode.message_too_large
SMALL, LARGE = batch(b"x" * 10), batch(b"x" * 1_000)
HALF_MINUTE_MS, FIVE_MINUTES_MS = 30_000, 300_000


def alter(simulation: Simulation, changes: dict[str, str | None], topic: str = "t") -> None:
    simulation.cluster.admin.alter_topic_configs(topic, changes, simulation.now)
    simulation.settle()


def alter_brokers(simulation: Simulation, **changes: str | None) -> None:
    names = {name.replace("_", "."): text for name, text in changes.items()}
    simulation.cluster.admin.alter_broker_configs(names, simulation.now)
    simulation.settle()


def send(simulation: Simulation, records: bytes = SMALL, topic: str = "t", acks: int = -1) -> int:
    """Return the error of a Produce that is completed at once."""
    client = simulation.connect()
    client.send(produce(topic, acks=acks, records=records))
    ((_, error, _),) = answers(client)
    return error


def told(simulation: Simulation, name: str, topic: str = "t") -> tuple[str, int]:
    """Return (value, source) of a setting, in the form of a CreateTopics response."""
    metadata = simulation.cluster.metadata.topic(topic)
    assert metadata is not None
    ((value, source),) = [(entry.value, entry.source) for entry in metadata.effective_configs if entry.name == name]
    return value, source


# Topics.


def test_a_smaller_limit_counts_from_the_next_batch_on() -> None:
    simulation = Simulation()
    simulation.topic(partitions=2)
    assert send(simulation, LARGE) == NONE
    alter(simulation, {"max.message.bytes": "500"})
    assert send(simulation, LARGE) == TOO_LARGE
    assert send(simulation, SMALL) == NONE
    assert told(simulation, "max.message.bytes") == ("500", 1)
    alter(simulation, {"max.message.bytes": None})
    assert send(simulation, LARGE) == NONE
    assert told(simulation, "max.message.bytes") == ("1048588", 5)


def test_what_is_not_named_stays() -> None:
    simulation = Simulation()
    simulation.topic(max_message_bytes=500, min_insync_replicas=2)
    alter(simulation, {"min.insync.replicas": "3", "retention.ms": None})
    assert send(simulation, LARGE) == TOO_LARGE
    config = simulation.partition().config
    assert (config.min_insync_replicas, config.max_message_bytes) == (3, 500)


def test_more_replicas_than_are_in_sync() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.stop(3)
    assert send(simulation) == NONE
    alter(simulation, {"min.insync.replicas": "3"})
    assert send(simulation) == NOT_ENOUGH
    assert send(simulation, acks=1) == NONE
    alter(simulation, {"min.insync.replicas": "2"})
    assert send(simulation) == NONE


def below_min_isr(simulation: Simulation, timeout_ms: int) -> SimulatedClient:
    """Park a request on broker 1. Follower 3 is frozen and has left the ISR, which is too small since then."""
    simulation.topic(min_insync_replicas=3)
    simulation.followers("frozen", broker=3)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=timeout_ms))
    simulation.advance(2 * HALF_MINUTE_MS)
    partition = simulation.partition()
    assert (partition.isr, partition.high_watermark) == ({1, 2}, 0)
    assert partition.is_under_min_isr
    return client


def test_a_lower_minimum_completes_no_parked_request() -> None:
    """UnifiedLog.updateConfig notifies no partition; the high watermark is checked when a follower has new records."""
    simulation = Simulation()
    client = below_min_isr(simulation, 4 * HALF_MINUTE_MS)
    alter(simulation, {"min.insync.replicas": "2"})
    assert not simulation.partition().is_under_min_isr
    assert answers(client) == []
    simulation.advance(4 * HALF_MINUTE_MS)
    assert answers(client) == [(4 * HALF_MINUTE_MS, TIMED_OUT, 0)]


def test_after_a_lower_minimum_the_next_record_moves_the_high_watermark() -> None:
    simulation = Simulation()
    client = below_min_isr(simulation, 4 * HALF_MINUTE_MS)
    alter(simulation, {"min.insync.replicas": "2"})
    assert send(simulation) == NONE
    assert answers(client) == [(2 * HALF_MINUTE_MS, NONE, 0)]


def test_a_minimum_that_rises_while_a_request_waits_lets_it_time_out() -> None:
    """The high watermark does not move, so the error is 7, and never 20 (KAFKA-15583)."""
    simulation = Simulation()
    simulation.topic()
    simulation.stop(3)
    simulation.followers("frozen", broker=2)
    client = simulation.connect()
    client.send(produce("t", timeout_ms=1_000))
    alter(simulation, {"min.insync.replicas": "3"})
    simulation.followers("instant", broker=2)
    simulation.advance(1_000)
    assert answers(client) == [(1_000, TIMED_OUT, 0)]
    assert simulation.partition().high_watermark == 0


def test_retention_bytes_counts_from_the_next_append_on() -> None:
    simulation = Simulation()
    simulation.topic()
    for _ in range(10):
        send(simulation)
    alter(simulation, {"retention.bytes": str(3 * len(SMALL))})
    assert simulation.partition().leader_log.log_start_offset == 0
    send(simulation)
    assert simulation.partition().leader_log.log_start_offset == 8
    alter(simulation, {"retention.bytes": None})
    send(simulation)
    assert simulation.partition().leader_log.log_start_offset == 8


def test_retention_ms_counts_when_old_records_are_looked_for() -> None:
    simulation = Simulation()
    simulation.topic()
    send(simulation, batch(b"v", timestamp_ms=simulation.now.wall_ms))
    simulation.advance(HALF_MINUTE_MS)
    alter(simulation, {"retention.ms": "1000"})
    log = simulation.partition().leader_log
    assert log.log_start_offset == 0
    simulation.advance(FIVE_MINUTES_MS)
    assert (log.log_start_offset, log.log_end_offset) == (1, 1)


def test_a_leaderless_partition_is_led_once_that_is_allowed() -> None:
    """ReplicationControlManager.maybeElectUncleanLeaders, every unclean.leader.election.interval.ms."""
    simulation = Simulation()
    simulation.topic(replicas=2)
    simulation.stop(2)
    send(simulation)
    simulation.stop(1)
    simulation.start(2)
    partition = simulation.partition()
    simulation.advance(2 * FIVE_MINUTES_MS)
    assert partition.leader_id == NO_LEADER
    alter(simulation, {"unclean.leader.election.enable": "true"})
    assert partition.leader_id == NO_LEADER
    simulation.advance(FIVE_MINUTES_MS)
    assert (partition.leader_id, partition.isr) == (2, {2})
    assert partition.leader_log.log_end_offset == 0  # what was acknowledged is lost


@pytest.mark.parametrize(
    ("topic", "changes", "code", "sentence"),
    [
        ("no", {}, 3, "The topic 'no' does not exist."),
        ("t", {"no.such": "1"}, 40, "Unknown topic config name: no.such"),
        ("t", {"no.such": None}, 40, "Unknown topic config name: no.such"),
        ("t", {"retention.ms": "x"}, 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
        (
            "t",
            {"retention.ms": "5", "min.insync.replicas": "0"},
            40,
            "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
        ),
        (
            "t",
            {"max.compaction.lag.ms": "4"},
            40,
            "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)",
        ),
    ],
)
def test_what_is_refused_changes_nothing(topic: str, changes: dict[str, str | None], code: int, sentence: str) -> None:
    simulation = Simulation()
    simulation.topic(min_compaction_lag_ms=5)
    before = simulation.partition().config
    with pytest.raises(KafkaError) as raised:
        alter(simulation, changes, topic)
    assert (raised.value.code, raised.value.message) == (code, sentence)
    assert simulation.partition().config is before
    assert told(simulation, "retention.ms") == ("604800000", 5)


# Brokers.


def test_topics_have_what_the_brokers_have_unless_they_set_it() -> None:
    simulation = Simulation(config={"message.max.bytes": "2000"})
    simulation.topic()
    simulation.topic("own", max_message_bytes=900)
    alter_brokers(simulation, message_max_bytes="500", min_insync_replicas="3")
    simulation.topic("later")
    assert send(simulation, LARGE) == send(simulation, LARGE, "later") == TOO_LARGE
    assert send(simulation, SMALL) == send(simulation, SMALL, "own") == NONE
    assert told(simulation, "max.message.bytes") == told(simulation, "max.message.bytes", "later") == ("500", 3)
    assert told(simulation, "max.message.bytes", "own") == ("900", 1)
    simulation.stop(3)
    assert send(simulation, SMALL, "own") == NOT_ENOUGH
    alter_brokers(simulation, message_max_bytes=None)  # as at the start, not as Kafka has it
    assert told(simulation, "max.message.bytes") == ("2000", 4)
    assert send(simulation, LARGE, acks=1) == NONE
    assert simulation.cluster.members.config.min_insync_replicas == 3


def test_retention_of_the_brokers_in_any_unit() -> None:
    simulation = Simulation(config={"log.retention.hours": "1"})
    simulation.topic()
    assert told(simulation, "retention.ms") == ("3600000", 4)
    alter_brokers(simulation, log_retention_ms="1000")
    assert simulation.partition().config.retention_ms == 1000
    assert told(simulation, "retention.ms") == ("1000", 3)


def test_a_higher_limit_admits_waiting_connections_and_a_lower_one_closes_none() -> None:
    simulation = Simulation(config={"max.connections": "1"})
    simulation.topic()
    clients = [simulation.connect() for _ in range(4)]
    states = [client.connection.state for client in clients]
    assert states == [
        ChannelMuteState.READY,
        ChannelMuteState.WAITING,
        ChannelMuteState.WAITING,
        ChannelMuteState.WAITING,
    ]
    clients[1].send(produce("t", acks=1))
    alter_brokers(simulation, max_connections="3")
    assert [client.connection.state for client in clients] == [
        ChannelMuteState.READY,
        ChannelMuteState.READY,
        ChannelMuteState.READY,
        ChannelMuteState.WAITING,
    ]
    assert answers(clients[1]) == [(0, NONE, 0)]
    alter_brokers(simulation, max_connections="1")
    assert [client.connection.state for client in clients[:3]] == [ChannelMuteState.READY] * 3
    clients[0].disconnect()
    clients[1].disconnect()
    assert clients[3].connection.state is ChannelMuteState.WAITING
    clients[2].disconnect()
    assert clients[3].connection.state is ChannelMuteState.READY


def test_connections_of_one_address() -> None:
    simulation = Simulation()
    first = simulation.connect()
    alter_brokers(simulation, max_connections_per_ip="1", max_connections_per_ip_overrides="10.0.0.2:2")
    assert simulation.connect().closed is not None
    assert [simulation.connect(address="10.0.0.2").closed is None for _ in range(3)] == [True, True, False]
    assert first.closed is None


def test_memory_of_the_logs() -> None:
    simulation = Simulation()
    simulation.topic()
    for _ in range(10):
        send(simulation)
    log = simulation.partition().leader_log
    alter_brokers(simulation, log_memory_bytes="1000")
    send(simulation)
    assert log.contents.bytes_in_memory < log.size_in_bytes == 11 * len(SMALL)
    alter_brokers(simulation, log_memory_full="delete")
    send(simulation)
    send(simulation)
    assert log.size_in_bytes <= 4 * len(SMALL)


def test_producers_that_are_forgotten_sooner() -> None:
    simulation = Simulation()
    simulation.topic()
    send(simulation, batch(b"v", producer_id=5, producer_epoch=0, base_sequence=0))
    producers = simulation.partition().leader_log.producer_state
    alter_brokers(simulation, producer_id_expiration_ms="1000")
    assert producers.producer_ids == [5]
    simulation.advance(2 * FIVE_MINUTES_MS)
    assert producers.producer_ids == []


def test_what_a_request_counts() -> None:
    simulation = Simulation()
    simulation.topic()
    simulation.cluster.members.client_quotas.alter(QuotaEntity(None, "test"), {"request_percentage": 5})
    alter_brokers(simulation, fakebroker_request_handler_time_us="525000")
    client = simulation.connect()
    client.send(produce("t", acks=1))
    assert client.connection.state is ChannelMuteState.THROTTLED


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"num.partitions": "2"}, "Cannot update these configs dynamically: [num.partitions]"),
        ({"num.partitions": None}, "Cannot update these configs dynamically: [num.partitions]"),
        (
            {"message.max.bytes": "x", "num.partitions": "x", "fetch.max.bytes": "1"},
            "Cannot update these configs dynamically: [num.partitions, fetch.max.bytes]",
        ),
        (
            {"message.max.bytes": "x", "listeners": "PLAINTEXT://:1"},
            "Invalid value x for configuration message.max.bytes: Not a number of type INT",
        ),
        (
            {"message.max.bytes": "5", "listeners": "PLAINTEXT://:1", "ssl.client.auth": "none"},
            "Cannot update these configs at default cluster level, broker id must be specified: "
            "[listeners, ssl.client.auth]",
        ),
        ({"message.max.byte": "5"}, "Unknown configuration 'message.max.byte'. Near to it: message.max.bytes"),
        (
            {"max.connections.per.ip": "0"},
            "requirement failed: max.connections.per.ip can be 0 only if max.connections.per.ip.overrides is set",
        ),
        (
            {"log.retention.ms": "0"},
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ),
        (
            {"num.io.threads": "17"},
            "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation "
            "failed for num.io.threads=17, value should not be greater than double the current value 8",
        ),
        (
            {"num.io.threads": "3"},
            "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation "
            "failed for num.io.threads=3, value should be at least half the current value 8",
        ),
        (
            {"log.cleaner.threads": "3"},
            "Invalid value org.apache.kafka.common.config.ConfigException: Log cleaner threads cannot be increased to",
        ),
    ],
)
def test_what_kafka_does_not_alter(changes: dict[str, str | None], sentence: str) -> None:
    simulation = Simulation()
    simulation.topic()
    before = simulation.cluster.members.config
    with pytest.raises(KafkaError) as raised:
        simulation.cluster.admin.alter_broker_configs(changes, simulation.now)
    assert raised.value.code == ErrorCode.invalid_request
    assert raised.value.message.startswith(sentence)
    assert simulation.cluster.members.config is before
    assert send(simulation, LARGE) == NONE


def test_what_conflicts_with_a_topics_own_settings_is_refused_there_only() -> None:
    """The brokers' default is valid by itself: the topic keeps its old setting."""
    simulation = Simulation()
    simulation.topic(min_compaction_lag_ms=5)
    simulation.topic("other")
    alter_brokers(simulation, log_cleaner_max_compaction_lag_ms="4", message_max_bytes="500")
    assert simulation.cluster.members.config.message_max_bytes == 500
    assert send(simulation, LARGE, "other") == TOO_LARGE


def test_a_setting_without_effect_is_kept_and_told() -> None:
    simulation = Simulation(config={"num.io.threads": "3", "log.flush.interval.ms": "5", "num.partitions": "2"})
    simulation.settle()
    assert simulation.warnings == ["kept and shown only, without effect here: log.flush.interval.ms, num.io.threads"]
    assert simulation.cluster.members.config.log_flush_interval_ms == 5
    alter_brokers(simulation, num_io_threads="4")
    assert simulation.cluster.members.config.num_io_threads == 4
    assert simulation.cluster.members.config.static["num_io_threads"] == 3


def test_a_consumer_reads_on_whatever_is_altered() -> None:
    simulation = Simulation()
    simulation.topic()
    reader = simulation.connect()
    reader.send(fetch("t", max_wait_ms=1_000))
    alter(simulation, {"max.message.bytes": "500", "message.timestamp.type": "LogAppendTime"})
    send(simulation)
    assert len(reader.answers) == 1


def test_a_brokers_own_setting_counts_where_it_leads() -> None:
    simulation = Simulation(brokers=3)
    simulation.topic(partitions=2)
    simulation.cluster.members.broker_configs.alter({"message.max.bytes": "500"}, broker_id=2)
    assert send(simulation, LARGE) == NONE
    simulation.move_leader(2)
    client = simulation.connect(2)
    client.send(produce("t", records=LARGE))
    assert [error for _, error, _ in answers(client)] == [TOO_LARGE]
    simulation.topic("made-later")
    simulation.cluster.members.broker_configs.alter({"message.max.bytes": None}, broker_id=2)
    client.send(produce("t", records=LARGE))
    assert [error for _, error, _ in answers(client)][1:] == [NONE]


def test_a_brokers_own_setting_counts_for_topics_made_later() -> None:
    simulation = Simulation(brokers=1)
    simulation.cluster.members.broker_configs.alter({"message.max.bytes": "500"}, broker_id=1)
    simulation.topic(replicas=1)
    assert send(simulation, LARGE) == TOO_LARGE
