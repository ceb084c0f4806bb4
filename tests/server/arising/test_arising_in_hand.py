"""Faults that arise in a cluster that runs: from any thread, in an event loop, and with a stock client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from support.watchdog import LIMIT_S, wait_until

from fakebroker import AsyncFakeCluster, FakeCluster
from fakebroker.core.journal.events import Answer, Append, LeaderChanged
from fakebroker.core.journal.fault_events import FaultFired

RECORDS = 5


class Sent:
    """A stock producer, and the results of its records in order: errors or None."""

    def __init__(self, kafka: FakeCluster, **settings: Any) -> None:
        common = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, "retry.backoff.ms": 20}
        brisk = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50}
        self.producer = Producer({**common, **brisk, **settings})
        self.errors: list[KafkaError | None] = []

    def send(self, n: int = RECORDS) -> None:
        for number in range(n):
            self.producer.produce("t", b"%d" % number, partition=0, on_delivery=self._told)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        self.errors.append(error)

    def all_are_there(self) -> bool:
        """Return True if all records were acknowledged, once all were sent."""
        assert self.producer.flush(LIMIT_S) == 0
        return set(self.errors) == {None}


def stored(kafka: FakeCluster) -> list[bytes]:
    """Return the records of t-0 that a stock consumer reads."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "log_level": 0})
    try:
        where = TopicPartition("t", 0, 0)
        _, end = consumer.get_watermark_offsets(where, LIMIT_S)
        consumer.assign([where])
        return [message.value() or b"" for message in consumer.consume(end, LIMIT_S)]
    finally:
        consumer.close()


def leader(kafka: FakeCluster) -> int:
    events = [event for event in kafka.journal if isinstance(event, LeaderChanged) and event.topic == "t"]
    return events[-1].leader


NUMBERS = [b"%d" % number for number in range(RECORDS)]


def test_a_partition_keeps_acks_all_waiting_until_it_is_healed() -> None:
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        sent = Sent(kafka, **{"linger.ms": 0})
        with kafka.faults.partition([1], [2, 3]) as cut:
            sent.send()
            assert sent.producer.flush(0.3) == RECORDS
            assert (cut.id, cut.is_done, cut.is_over) == ("a1", True, False)
        assert cut.is_over
        assert sent.all_are_there()
        assert stored(kafka) == NUMBERS


def test_the_side_without_the_controller_loses_its_leaders() -> None:
    with FakeCluster(brokers=3, clock="auto") as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        cut = kafka.faults.partition([1], [2, 3], controller="b")
        sent = Sent(kafka)
        sent.send()
        wait_until(lambda: leader(kafka) == 2, "another leader, of which broker 1 does not know")
        cut.heal()
        assert sent.all_are_there()
        assert stored(kafka) == NUMBERS
        assert leader(kafka) == 2


def test_markers_of_a_transaction_do_not_get_across() -> None:
    ours = {"transaction.state.log.num.partitions": 1, "transaction.state.log.replication.factor": 1}
    with FakeCluster(brokers=2, config={**ours, "transaction.state.log.min.isr": 1}) as kafka:
        for broker_id in (1, 2):
            kafka.create_topic(f"of-{broker_id}", assignments=[[broker_id]])
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0, "transactional.id": "x"})
        settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "log_level": 0}
        consumer = Consumer({**settings, "isolation.level": "read_committed"})

        def stable() -> list[int]:
            """Return the last stable offsets of the two partitions, the lower one first."""
            places = [TopicPartition(f"of-{broker_id}", 0) for broker_id in (1, 2)]
            return sorted(consumer.get_watermark_offsets(place, LIMIT_S)[1] for place in places)

        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        for broker_id in (1, 2):
            producer.produce(f"of-{broker_id}", b"x")
        assert producer.flush(LIMIT_S) == 0
        with kafka.faults.partition([1], [2]):
            producer.commit_transaction(LIMIT_S)
            wait_until(lambda: stable() == [0, 2], "the mark where the coordinator is")
        wait_until(lambda: stable() == [2, 2], "the other mark")
        consumer.close()


def test_one_broker_is_a_side_as_well() -> None:
    with FakeCluster(brokers=3) as kafka, kafka.faults.partition(1, (2, 3)) as cut:
        said = cut.to_json()
        assert (said["preset"], said["a"], said["b"]) == ("partition", [1], [2, 3])


def test_a_pause_is_over_by_itself() -> None:
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        pause = kafka.faults.gc_pause(1, 300)
        assert kafka.brokers[1].state == "paused"
        sent = Sent(kafka)
        sent.send()
        pause.wait()
        assert kafka.brokers[1].state == "running"
        assert sent.all_are_there()
        assert stored(kafka) == NUMBERS


def test_too_long_a_pause_and_others_lead() -> None:
    with FakeCluster(brokers=3, clock="manual") as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        sent = Sent(kafka)
        sent.send()
        assert sent.all_are_there()
        pause = kafka.faults.gc_pause(1, 10_000)
        sent.send()
        kafka.clock.advance(9_999)
        assert leader(kafka) == 2
        assert not pause.is_done
        kafka.clock.advance(1)
        pause.wait()
        kafka.clock.advance(15)  # until then it does not know that others lead
        assert sent.all_are_there()
        assert stored(kafka) == NUMBERS * 2


def test_a_rolling_restart_loses_nothing() -> None:
    with FakeCluster(brokers=3) as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        sent = Sent(kafka)
        restart = kafka.faults.rolling_restart(down_ms=50)
        sent.send()
        restart.wait()
        assert (restart.hits, restart.is_over) == (3, True)
        sent.send()
        assert sent.all_are_there()
        assert stored(kafka) == NUMBERS * 2
        kinds = [type(event).__name__ for event in kafka.journal]
        assert [kinds.count(name) for name in ("BrokerStopping", "BrokerStopped", "BrokerStarted")] == [3, 3, 3]


def test_a_broker_that_crashes_is_back_with_its_log() -> None:
    with FakeCluster(brokers=1, clock="auto") as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=1)
        sent = Sent(kafka)
        sent.send()
        assert sent.all_are_there()
        kafka.faults.unclean_shutdown(1).wait()
        assert kafka.brokers[1].state == "running"
        sent.send()
        assert sent.all_are_there()
        assert stored(kafka) == NUMBERS * 2


def test_a_full_disk_kills_the_leader_and_nothing_is_lost() -> None:
    with FakeCluster(brokers=3, clock="auto") as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        full = kafka.faults.full_disk(1)
        sent = Sent(kafka, **{"enable.idempotence": True})
        sent.send()
        full.wait()
        assert kafka.brokers[1].state == "killed"
        assert sent.all_are_there()
        assert stored(kafka) == NUMBERS
        errors = {part.error for event in kafka.journal if isinstance(event, Answer) for part in event.partitions}
        assert "KAFKA_STORAGE_ERROR" in errors


def test_a_slow_disk_takes_its_time() -> None:
    with FakeCluster(brokers=3, clock="auto") as kafka:
        kafka.create_topic("t", partitions=1, replication_factor=3)
        sent = Sent(kafka)
        with kafka.faults.slow_disk(1, 2_000):
            sent.send(1)
            assert sent.all_are_there()
        events = list(kafka.journal)
        begun = [event.mono_ms for event in events if isinstance(event, FaultFired)]
        appended = [event.mono_ms for event in events if isinstance(event, Append) and event.topic == "t"]
        assert appended[0] - begun[0] >= 2_000


def test_in_an_event_loop_only_wait_is_awaited() -> None:
    async def run() -> None:
        async with AsyncFakeCluster(brokers=3) as kafka:
            kafka.create_topic("t")
            await kafka.faults.rolling_restart(0).wait()
            with kafka.faults.partition([1], [2]) as cut:
                assert not cut.is_over
            pause = kafka.faults.gc_pause(2, 60_000)
            with pytest.raises(TimeoutError, match=r"a3 \(gc_pause broker=2 ms=60000\) did not end within 0.01 s"):
                await pause.wait(0.01)
            kafka.faults.clear()
            await pause.wait()
            assert [(arisen.id, arisen.is_over) for arisen in kafka.faults.arisen()] == [
                ("a1", True), ("a2", True), ("a3", True),
            ]  # fmt: skip
            assert kafka.brokers[2].state == "running"
            await kafka.reset()
            assert kafka.faults.arisen() == []
            with pytest.raises(ValueError, match="there is no broker 9"):
                kafka.faults.gc_pause(9, 1)

    asyncio.run(run())


def test_a_handle_says_what_it_is() -> None:
    with FakeCluster(brokers=2) as kafka:
        pause = kafka.faults.arise({"preset": "gc_pause", "broker": 2, "ms": 60_000})
        assert repr(pause) == "<fault a1: gc_pause broker=2 ms=60000; 1 hits>"
        said = {"id": "a1", "preset": "gc_pause", "broker": 2, "ms": 60_000, "hits": 1, "matches": 0, "held": 0}
        assert pause.to_json() == said | {"installed": True, "done": False}
        pause.heal()
        pause.remove()
        assert [arisen.to_json()["installed"] for arisen in kafka.faults.arisen()] == [False]
    assert kafka.faults.list() == []


def test_a_fault_is_refused_by_a_stopped_cluster() -> None:
    kafka = FakeCluster(brokers=1)
    with pytest.raises(RuntimeError, match="not running"):
        kafka.faults.gc_pause(1, 10)
