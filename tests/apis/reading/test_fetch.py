"""Fetch, every version, for a consumer (apis/reading/fetch.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from support import doses
from support.apis import with_parts
from support.asking import served_versions
from support.messages import decode_response
from support.requests import FETCH, Produced, batch, produce, request
from support.simulation import SimulatedClient, Simulation

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, read_batch_header

VERSIONS = served_versions(FETCH)
BY_NAME = [version for version in VERSIONS if version < 13]
BY_ID = served_versions(FETCH, 13)

UNKNOWN_SERVER_ERROR = -1
OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER = 1, 3, 6
FETCH_SESSION_ID_NOT_FOUND, UNKNOWN_TOPIC_ID = 70, 100

BATCH = batch(b"a", b"b")
BATCH_BYTES = len(BATCH)


class Read(NamedTuple):
    """The response for a partition: its error, high watermark, and (first, last) offset of each batch."""

    error: int
    high_watermark: int
    batches: list[tuple[int, int]]


NOTHING = Read(0, 0, [])


def wanted(partition: int = 0, offset: int = 0, max_bytes: int = 1 << 20) -> dict[str, Any]:
    return {
        "partition": partition,
        "fetch_offset": offset,
        "partition_max_bytes": max_bytes,
    }


class Consumer:
    """A consumer that fetches on a separate connection, in one version, by name or by id as the version has it."""

    def __init__(self, simulation: Simulation, version: int, broker_id: int = 1) -> None:
        self._simulation = simulation
        self.version = version
        self.client: SimulatedClient = simulation.connect(broker_id)

    def send(self, *partitions: dict[str, Any], topic: str | UUID = "t", **values: Any) -> None:
        known = None if isinstance(topic, UUID) else self._simulation.cluster.metadata.topic(topic)
        topic_id = topic if isinstance(topic, UUID) else known.topic_id if known else UUID(int=7)
        defaults = {
            "max_wait": timedelta(0),
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "topics": [{"topic": str(topic), "topic_id": topic_id, "partitions": partitions or [wanted()]}],
        }
        self.client.send(request(FETCH, self.version, defaults | values))

    @property
    def answers(self) -> list[tuple[int, Any]]:
        """(milliseconds since the start, message)."""
        assert self.client.closed is None
        return [(at_ms, decode_response(FETCH, self.version, frame)[1]) for at_ms, frame in self.client.answers]

    def ask(self, *partitions: dict[str, Any], **values: Any) -> Any:
        before = len(self.answers)
        self.send(*partitions, **values)
        ((_, answer),) = self.answers[before:]
        return answer

    def read(self, *partitions: dict[str, Any], **values: Any) -> list[Read]:
        return [read_of(p) for topic in self.ask(*partitions, **values).responses for p in topic.partitions]


def read_of(partition: Any) -> Read:
    batches = []
    records = partition.records or b""
    while len(records) >= RECORD_BATCH_OVERHEAD:
        header = read_batch_header(records)
        if header.size_in_bytes > len(records):
            break  # cut short
        batches.append((header.base_offset, header.last_offset))
        records = records[header.size_in_bytes :]
    return Read(int(partition.error_code), partition.high_watermark, batches)


@pytest.mark.parametrize("version", [BY_NAME[0], BY_NAME[-1], BY_ID[0], BY_ID[-1]])
def test_very_many_partitions_are_answered_in_their_order(version: int) -> None:
    simulation = Simulation(brokers=1)
    simulation.topic("t", partitions=150, replicas=1)
    simulation.connect().send(produce("t", 149, records=BATCH))
    indexes = [151, *reversed(range(150))]
    (topic,) = Consumer(simulation, version).ask(*map(wanted, indexes)).responses
    assert {p.partition_index: read_of(p) for p in topic.partitions if read_of(p) != NOTHING} == {
        149: Read(0, 2, [(0, 1)]),
        151: Read(UNKNOWN_TOPIC_OR_PARTITION, -1, []),
    }
    assert [p.partition_index for p in topic.partitions] == [*indexes[1:], 151]  # what is not there comes last


def waits_ms(ms: int) -> dict[str, Any]:
    return {"max_wait": timedelta(milliseconds=ms)}


@pytest.fixture
def simulation() -> Simulation:
    """Topic t; partition 0 is led by broker 1, partition 1 by broker 2."""
    running = Simulation()
    running.topic("t", partitions=2)
    return running


def append(simulation: Simulation, times: int = 1, topic: str = "t", acks: int = 1, timeout_ms: int = 100) -> None:
    """Append BATCH: two records each time."""
    client = simulation.connect()
    for _ in range(times):
        client.send(produce(topic, acks=acks, timeout_ms=timeout_ms, records=BATCH))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_appended_is_read(simulation: Simulation, version: int) -> None:
    append(simulation, 2)

    assert Consumer(simulation, version).read() == [Read(0, 4, [(0, 1), (2, 3)])]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_names_what_was_asked_for(simulation: Simulation, version: int) -> None:
    (topic,) = Consumer(simulation, version).ask().responses

    known = simulation.cluster.metadata.topic("t")
    assert known is not None
    assert (topic.topic if version < 13 else topic.topic_id) == ("t" if version < 13 else known.topic_id)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_other_fields_say_that_there_is_nothing_more(simulation: Simulation, version: int) -> None:
    append(simulation)
    answer = Consumer(simulation, version).ask()
    partition = answer.responses[0].partitions[0]

    assert partition.partition_index == 0
    assert partition.last_stable_offset == 2
    assert partition.aborted_transactions is None
    assert getattr(partition, "log_start_offset", 0) == 0
    assert getattr(partition, "preferred_read_replica", -1) == -1
    assert getattr(answer, "session_id", 0) == 0
    assert getattr(answer, "error_code", 0) == 0


@pytest.mark.parametrize(("offset", "batches"), [(0, [(0, 1), (2, 3)]), (1, [(0, 1), (2, 3)]), (2, [(2, 3)]), (4, [])])
def test_reading_starts_with_the_batch_that_holds_the_offset(
    simulation: Simulation, offset: int, batches: list[tuple[int, int]]
) -> None:
    append(simulation, 2)

    assert Consumer(simulation, 11).read(wanted(offset=offset)) == [Read(0, 4, batches)]


# The high watermark.


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_replicated_is_not_read(simulation: Simulation, version: int) -> None:
    append(simulation)
    simulation.followers("frozen")
    append(simulation)

    assert Consumer(simulation, version).read() == [Read(0, 2, [(0, 1)])]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_record_that_timed_out_is_read_once_it_is_replicated(simulation: Simulation, version: int) -> None:
    simulation.followers("frozen")
    append(simulation, acks=-1, timeout_ms=50)
    simulation.advance(50)
    consumer = Consumer(simulation, version)
    before = consumer.read()
    simulation.followers(None)

    assert (before, consumer.read()) == ([NOTHING], [Read(0, 2, [(0, 1)])])


def test_an_offset_between_watermark_and_log_end_reads_nothing(simulation: Simulation) -> None:
    simulation.followers("frozen")
    append(simulation)

    assert Consumer(simulation, 11).read(wanted(offset=2)) == [NOTHING]


# Waiting.


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_read_waits_its_time(simulation: Simulation, version: int) -> None:
    consumer = Consumer(simulation, version)
    consumer.send(**waits_ms(300))
    simulation.advance(299)
    too_early = consumer.answers
    simulation.advance(1)

    ((at_ms, answer),) = consumer.answers
    assert too_early == []
    assert (at_ms, read_of(answer.responses[0].partitions[0])) == (300, NOTHING)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_waiting_read_is_woken_by_a_record(simulation: Simulation, version: int) -> None:
    consumer = Consumer(simulation, version)
    consumer.send(**waits_ms(300))
    simulation.advance(100)
    append(simulation)

    ((at_ms, answer),) = consumer.answers
    assert (at_ms, read_of(answer.responses[0].partitions[0])) == (100, Read(0, 2, [(0, 1)]))


def test_a_waiting_read_is_not_woken_before_the_record_is_replicated(simulation: Simulation) -> None:
    simulation.followers("lagging:70")
    consumer = Consumer(simulation, 11)
    consumer.send(**waits_ms(300))
    append(simulation)
    simulation.advance(200)

    ((at_ms, answer),) = consumer.answers
    assert (at_ms, read_of(answer.responses[0].partitions[0])) == (70, Read(0, 2, [(0, 1)]))


def test_a_waiting_read_is_not_woken_by_too_few_bytes(simulation: Simulation) -> None:
    consumer = Consumer(simulation, 11)
    consumer.send(min_bytes=2 * BATCH_BYTES, **waits_ms(300))
    simulation.advance(10)
    append(simulation)
    too_few = consumer.answers
    simulation.advance(10)
    append(simulation)

    ((at_ms, answer),) = consumer.answers
    assert too_few == []
    assert (at_ms, read_of(answer.responses[0].partitions[0])) == (20, Read(0, 4, [(0, 1), (2, 3)]))


def test_too_few_bytes_are_answered_when_the_time_is_over(simulation: Simulation) -> None:
    append(simulation)
    consumer = Consumer(simulation, 11)
    consumer.send(min_bytes=2 * BATCH_BYTES, **waits_ms(300))
    simulation.advance(300)

    ((at_ms, answer),) = consumer.answers
    assert (at_ms, read_of(answer.responses[0].partitions[0])) == (300, Read(0, 2, [(0, 1)]))


@pytest.mark.parametrize("values", [{"min_bytes": 0} | waits_ms(300), waits_ms(0)], ids=["min_bytes=0", "max_wait=0"])
def test_a_fetch_without_a_wait_time_is_not_parked(simulation: Simulation, values: dict[str, Any]) -> None:
    assert Consumer(simulation, 11).read(**values) == [NOTHING]


def test_a_waiting_read_holds_up_the_next_request_of_its_connection(simulation: Simulation) -> None:
    consumer = Consumer(simulation, 11)
    consumer.send(**waits_ms(300))
    consumer.send()
    simulation.advance(300)

    assert [at_ms for at_ms, _ in consumer.answers] == [300, 300]


def test_a_partition_that_is_named_twice_waits_and_is_woken(simulation: Simulation) -> None:
    consumer = Consumer(simulation, 11)
    consumer.send(wanted(), wanted(), **waits_ms(300))
    append(simulation)

    assert len(consumer.answers) == 1


def test_a_consumer_that_vanished_leaves_its_read_to_time_out(simulation: Simulation) -> None:
    consumer = Consumer(simulation, 11)
    consumer.send(**waits_ms(300))
    consumer.client.disconnect()
    append(simulation)
    simulation.advance(300)

    assert consumer.answers == []


# Errors.


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [-1, 3, 2**62])
def test_an_offset_outside_of_the_log_is_told(simulation: Simulation, version: int, offset: int) -> None:
    append(simulation)

    assert Consumer(simulation, version).read(wanted(offset=offset)) == [Read(OFFSET_OUT_OF_RANGE, -1, [])]


@pytest.mark.parametrize("version", BY_NAME)
def test_an_unknown_topic_is_told(simulation: Simulation, version: int) -> None:
    read = Consumer(simulation, version).read(topic="nobody")

    assert read == [Read(UNKNOWN_TOPIC_OR_PARTITION, -1, [])]


@pytest.mark.parametrize("version", BY_ID)
def test_an_unknown_topic_id_is_told(simulation: Simulation, version: int) -> None:
    answer = Consumer(simulation, version).ask(topic=UUID(int=7))

    (topic,) = answer.responses
    assert topic.topic_id == UUID(int=7)
    assert [read_of(partition) for partition in topic.partitions] == [Read(UNKNOWN_TOPIC_ID, -1, [])]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partition", [2, -1])
def test_an_unknown_partition_is_told(simulation: Simulation, version: int, partition: int) -> None:
    read = Consumer(simulation, version).read(wanted(partition))

    assert read == [Read(UNKNOWN_TOPIC_OR_PARTITION, -1, [])]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_that_is_not_there_has_no_aborted_transactions_where_others_do_not_know(
    simulation: Simulation, version: int
) -> None:
    # FetchResponse.partitionResponse leaves the list empty; what was read, or refused by the log, has null.
    consumer = Consumer(simulation, version)
    read, refused, nowhere = (
        consumer.ask(requested).responses[0].partitions[0] for requested in (wanted(), wanted(offset=9), wanted(2))
    )

    assert (read.aborted_transactions, refused.aborted_transactions) == (None, None)
    assert nowhere.aborted_transactions == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_before_v11_a_follower_refuses_the_fetch_of_a_consumer(simulation: Simulation, version: int) -> None:
    # From v11 on any replica may be read (KIP-392), up to the watermark that it knows.
    expected = Read(NOT_LEADER, -1, []) if version < 11 else NOTHING
    assert Consumer(simulation, version, broker_id=2).read() == [expected]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_is_not_waited_with(simulation: Simulation, version: int) -> None:
    read = Consumer(simulation, version).read(wanted(0), wanted(1, offset=9), **waits_ms(300))

    # Broker 2 leads partition 1: it is asked first whether it may be read here, then where.
    assert read == [NOTHING, Read(NOT_LEADER if version < 11 else OFFSET_OUT_OF_RANGE, -1, [])]


@pytest.mark.parametrize("version", BY_ID)
def test_an_unknown_topic_id_is_not_waited_with(simulation: Simulation, version: int) -> None:
    assert len(Consumer(simulation, version).read(topic=UUID(int=7), **waits_ms(300))) == 1


@pytest.mark.parametrize("version", [7, BY_NAME[-1], BY_ID[0], BY_ID[-1]])
def test_a_session_may_forget_a_partition(simulation: Simulation, version: int) -> None:
    consumer = Consumer(simulation, version)
    begun = consumer.ask(session_epoch=0)
    topic = simulation.cluster.controller.existing("t")
    forgotten = [{"topic": "t", "topic_id": topic.topic_id, "partitions": [0]}]
    append(simulation)
    for epoch, gone, answered in ((1, [], [0]), (2, forgotten, [])):
        answer = consumer.ask(session_id=begun.session_id, session_epoch=epoch, topics=[], forgotten_topics_data=gone)
        assert [
            partition.partition_index for response in answer.responses for partition in response.partitions
        ] == answered


@pytest.mark.parametrize("version", served_versions(FETCH, 7))
def test_there_are_no_sessions(simulation: Simulation, version: int) -> None:
    answer = Consumer(simulation, version).ask(session_id=5, session_epoch=1)

    assert (int(answer.error_code), answer.responses) == (FETCH_SESSION_ID_NOT_FOUND, ())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_follower_over_the_wire_is_turned_away(simulation: Simulation, version: int) -> None:
    append(simulation)
    state = {"replica_id": 2, "replica_epoch": 1}
    (read,) = Consumer(simulation, version).read(replica_id=2, replica_state=state)

    assert read == Read(NOT_LEADER, -1, [])


# Limits: at least one whole batch.


@pytest.mark.parametrize("version", doses.nightly_but(VERSIONS[::6], VERSIONS))
@pytest.mark.parametrize(
    ("limit", "count"),
    [(0, 1), (1, 1), (BATCH_BYTES, 1), (2 * BATCH_BYTES - 1, 1), (2 * BATCH_BYTES, 2), (9 * BATCH_BYTES, 3)],
)
@pytest.mark.parametrize("of", ["partition", "request"])
def test_a_limit_is_kept_but_for_the_first_batch(
    simulation: Simulation, version: int, limit: int, count: int, of: str
) -> None:
    append(simulation, 3)
    consumer = Consumer(simulation, version)
    (read,) = consumer.read(wanted(max_bytes=limit)) if of == "partition" else consumer.read(max_bytes=limit)

    assert len(read.batches) == count


@pytest.mark.parametrize("more", [0, 1, BATCH_BYTES // 2, BATCH_BYTES - 1, BATCH_BYTES])
@pytest.mark.parametrize("of", ["partition", "request"])
def test_the_last_batch_is_cut_at_the_limit(simulation: Simulation, more: int, of: str) -> None:
    """LogSegment.read returns a part of the file, wherever its end is."""
    append(simulation, 3)
    consumer = Consumer(simulation, 11)
    whole = consumer.ask().responses[0].partitions[0].records
    limit = BATCH_BYTES + more
    answer = consumer.ask(wanted(max_bytes=limit)) if of == "partition" else consumer.ask(max_bytes=limit)

    assert answer.responses[0].partitions[0].records == whole[:limit]


def test_a_batch_that_does_not_fit_behind_another_partition_is_left_out() -> None:
    running = Simulation(brokers=1)
    running.topic("t", partitions=2, replicas=1)
    client = running.connect()
    for partition in range(2):
        client.send(produce("t", partition, records=BATCH))
    answer = Consumer(running, 11).ask(wanted(0), wanted(1), max_bytes=2 * BATCH_BYTES - 1)

    assert [len(p.records or b"") for p in answer.responses[0].partitions] == [BATCH_BYTES, 0]


@pytest.mark.parametrize("of", ["partition", "request"])
@pytest.mark.parametrize(("offset", "error"), [(0, UNKNOWN_SERVER_ERROR), (2, 0)])
def test_a_negative_limit_is_an_error_where_there_is_something_to_read(
    simulation: Simulation, of: str, offset: int, error: int
) -> None:
    append(simulation)
    consumer = Consumer(simulation, 11)
    if of == "partition":
        (read,) = consumer.read(wanted(offset=offset, max_bytes=-1))
    else:
        (read,) = consumer.read(wanted(offset=offset), max_bytes=-1)

    assert (read.error, read.batches) == (error, [])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_last_entry_of_a_partition_that_is_named_twice_counts(simulation: Simulation, version: int) -> None:
    append(simulation, 2)
    reads = Consumer(simulation, version).read(wanted(offset=0), wanted(1), wanted(offset=2), wanted(9), wanted(9))

    assert reads[0] == Read(0, 4, [(2, 3)])
    assert [read.error for read in reads] == [0, NOT_LEADER if version < 11 else 0, UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_of_a_topic_that_follow_each_other_are_told_together(simulation: Simulation, version: int) -> None:
    """FetchResponse.toMessage puts unknown partitions last."""
    append(simulation)
    answer = Consumer(simulation, version).ask(wanted(9), wanted(0), wanted(8))

    assert [[p.partition_index for p in topic.partitions] for topic in answer.responses] == [[0, 9, 8]]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_isolation_level_fails_the_request(simulation: Simulation, version: int) -> None:
    """IsolationLevel.forId."""
    append(simulation)
    answer = Consumer(simulation, version).ask(isolation_level=2)

    errors = [int(p.error_code) for topic in answer.responses for p in topic.partitions]
    assert errors == ([UNKNOWN_SERVER_ERROR] if version < 13 else [])
    assert version < 7 or int(answer.error_code) == UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("version", VERSIONS)
def test_aborted_transactions_are_none_or_not_told(simulation: Simulation, version: int) -> None:
    """The field is null where the broker does not collect them: below read_committed, and where the log was not
    read."""
    append(simulation)
    consumer = Consumer(simulation, version)

    def told(*partitions: dict[str, Any], **values: Any) -> list[object]:
        return [p.aborted_transactions for t in consumer.ask(*partitions, **values).responses for p in t.partitions]

    assert told(wanted(), isolation_level=0) == [None]
    assert told(wanted(), isolation_level=1) == [()]
    assert told(wanted(offset=99), isolation_level=1) == [None]
    assert told(wanted(9), isolation_level=0) == [()]


def test_the_limit_of_the_request_holds_for_all_partitions_together() -> None:
    running = Simulation(brokers=1)
    running.topic("t", partitions=3, replicas=1)
    client = running.connect()
    for partition in range(3):
        client.send(produce("t", partition, records=BATCH))
    reads = Consumer(running, 11).read(*(wanted(p) for p in range(3)), max_bytes=2 * BATCH_BYTES)

    assert [len(read.batches) for read in reads] == [1, 1, 0]


def test_a_partition_that_is_empty_does_not_use_up_the_first_batch() -> None:
    running = Simulation(brokers=1)
    running.topic("t", partitions=2, replicas=1)
    running.connect().send(produce("t", 1, records=BATCH))
    reads = Consumer(running, 11).read(wanted(0), wanted(1), max_bytes=1)

    assert [len(read.batches) for read in reads] == [0, 1]


def test_what_is_read_is_what_was_sent_with_its_place_in_the_log(simulation: Simulation) -> None:
    append(simulation, 2)
    records = Consumer(simulation, 11).ask(wanted(offset=2)).responses[0].partitions[0].records

    # Base offset and leader epoch are written by the broker; they lie outside of the CRC.
    assert records[16:] == BATCH[16:]
    assert (int.from_bytes(records[:8], "big"), int.from_bytes(records[12:16], "big")) == (2, 0)


def test_reading_does_not_disturb_producing(simulation: Simulation) -> None:
    append(simulation)
    Consumer(simulation, 11).read()
    client = simulation.connect()
    client.send(produce("t"))

    assert Produced(client.answers[0][1]).partitions == {0: (0, 2)}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_that_fails_as_a_whole_is_told_for_each_partition_up_to_v12(version: int) -> None:
    """FetchRequest.getErrorResponse: an error for each partition up to v12, and for the whole response from v7 on."""
    simulation = Simulation()
    simulation.topic("t", partitions=2)

    def fails(*_: object) -> None:
        raise KafkaError(ErrorCode.kafka_storage_error, "on purpose")

    apis = simulation.cluster._dispatcher._apis
    apis[FETCH] = with_parts(apis[FETCH], handle=fails)
    consumer = Consumer(simulation, version)
    consumer.send(wanted(0), wanted(1))
    ((_, frame),) = consumer.client.answers
    response: Any = decode_response(FETCH, version, frame)[1]

    errors = {p.partition_index: p.error_code for topic in response.responses for p in topic.partitions}
    assert errors == (dict.fromkeys((0, 1), ErrorCode.kafka_storage_error) if version < 13 else {})
    if version >= 7:
        assert response.error_code == ErrorCode.kafka_storage_error


@pytest.mark.parametrize("epoch", [-2, -(2**31)])
@pytest.mark.parametrize("field", ["current_leader_epoch", "last_fetched_epoch"])
def test_every_negative_epoch_is_none(simulation: Simulation, field: str, epoch: int) -> None:
    append(simulation)

    assert Consumer(simulation, 12).read(wanted() | {field: epoch}) == [Read(0, 2, [(0, 1)])]


@pytest.mark.parametrize("version", BY_ID)
@pytest.mark.parametrize(("ids", "code"), [([0], 0), ([7, 0], 0), ([0, 7], -1), ([0, 0], -1), ([7, 7], 0)], ids=str)
def test_kafka_trips_over_what_comes_behind_an_id_of_zeros(
    simulation: Simulation, version: int, ids: list[int], code: int
) -> None:
    topics = [{"topic": None, "topic_id": UUID(int=id_), "partitions": [wanted(i)]} for i, id_ in enumerate(ids)]
    consumer = Consumer(simulation, version)
    answer = consumer.ask(topics=topics)

    assert answer.error_code == code
    errors = [int(p.error_code) for topic in answer.responses for p in topic.partitions]
    assert errors == ([] if code else [UNKNOWN_TOPIC_ID] * len(ids))


@pytest.mark.parametrize("version", BY_ID)
def test_an_unknown_partition_is_answered_once(simulation: Simulation, version: int) -> None:
    (topic,) = Consumer(simulation, version).ask(wanted(), wanted(), topic=UUID(int=7)).responses

    assert [int(p.error_code) for p in topic.partitions] == [UNKNOWN_TOPIC_ID]
