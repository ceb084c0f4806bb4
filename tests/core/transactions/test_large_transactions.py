"""Requests that name very many partitions are handled in slices, with the same result as small ones."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import doses
from support.messages import decode_response
from support.requests import Produced, batch, produce, request
from support.simulation import SimulatedClient, Simulation
from support.transactions import (
    ADD_PARTITIONS,
    DESCRIBE_TXN,
    END,
    MARKERS,
    TRANSACTIONAL,
    TXN_COMMIT,
    end,
    init,
    with_coordinator,
)

from fakebroker.core.journal.events import Event
from fakebroker.core.journal.transaction_events import MarkerWritten, TransitionCompleted
from fakebroker.protocol.record_batch import decode_records
from fakebroker.protocol.topic_partition import TopicPartition
from fakebroker.protocol.transaction_records.control_records import COMMIT, decode_marker

NONE, CONCURRENT, UNKNOWN_PARTITION, NOT_ATTEMPTED = 0, 51, 3, 55
NOT_COORDINATOR, INVALID_TXN_STATE = 16, 48
OFFSET_FETCH = 9
MANY = 700
few_to_many = st.sampled_from([1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 300, MANY])


class Order:
    """The events of transactions, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def hear(self, event: Event, subject: object) -> None:
        match event:
            case TransitionCompleted():
                self.told.append((event.state, len(event.partitions)))
            case MarkerWritten():
                self.told.append(("marker", TopicPartition(event.topic, event.partition)))


def ask(client: SimulatedClient, api_key: int, version: int, **values: Any) -> Any:
    """Return the response, after all work of the same millisecond."""
    frame = answered(client, request(api_key, version, values, correlation_id=77))
    return decode_response(api_key, version, frame)[1]


def answered(client: SimulatedClient, frame: bytes) -> bytes:
    client._simulation.advance(0)
    before = len(client.answers)
    client.send(frame)
    client._simulation.advance(0)
    [(_, answer)] = client.answers[before:]
    return answer


def add_many(client: SimulatedClient, producer: tuple[int, int], version: int, *partitions: int) -> list[int]:
    topics = [{"name": "big", "partitions": partitions}]
    addition = {
        "transactional_id": "tx",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "topics": topics,
    }
    values = {f"v3_and_below_{name}": value for name, value in addition.items()} | {"transactions": [addition]}
    answer = ask(client, ADD_PARTITIONS, version, **values)
    results = answer.results_by_topic_v3_and_below if version < 4 else answer.results_by_transaction[0].topic_results
    [topic] = results
    assert [partition.partition_index for partition in topic.results_by_partition] == list(partitions)
    return [int(partition.partition_error_code) for partition in topic.results_by_partition]


def write_many(client: SimulatedClient, producer: tuple[int, int], count: int, version: int) -> list[int]:
    header = {"producer_id": producer[0], "producer_epoch": producer[1], "base_sequence": 0}
    records = batch(**header, attributes=TRANSACTIONAL)
    produce_request = produce(
        "big", version=version, transactional_id="tx", partitions=dict.fromkeys(range(count), records)
    )
    return [error for error, _ in Produced(answered(client, produce_request), version).partitions.values()]


def state(client: SimulatedClient) -> tuple[str, list[int]]:
    [description] = ask(client, DESCRIBE_TXN, 0, transactional_ids=["tx"]).transaction_states
    return description.transaction_state, [index for topic in description.topics for index in topic.partitions]


def markers(simulation: Simulation, index: int) -> list[int]:
    log = simulation.partition("big", index).leader_log
    assert log.last_stable_offset == log.high_watermark == log.log_end_offset
    batches = list(log.batches_from(0))
    markers = [
        decode_marker(log_batch.records)
        for log_batch in batches
        if log_batch.producer is not None and log_batch.producer.marker
    ]
    return [marker.control_type for marker in markers if marker is not None]


def prepared(count: int, brokers: int) -> tuple[Simulation, Order]:
    simulation = with_coordinator(brokers=brokers)
    simulation.topic("big", count, brokers)
    if brokers > 1:
        for index in range(count):
            simulation.cluster.admin.move_leader("big", index, 1, simulation.now)
    simulation.settle()
    order = Order()
    simulation.cluster.probe.listen(order.hear)
    return simulation, order


@given(few_to_many, st.sampled_from([1, 2]), st.booleans())
def test_a_transaction_of_many_partitions(count: int, version: int, commits: bool) -> None:
    simulation, order = prepared(count, 1)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    producer = producer_id, epoch
    if version == 1:
        assert set(add_many(client, producer, 3, *range(count))) == {NONE}
        assert set(write_many(client, producer, count, 11)) == {NONE}
    else:
        assert write_many(client, producer, count, 12) == [NONE] * count
    assert state(client) == ("Ongoing", list(range(count)))
    order.told.clear()
    assert end(client, producer, commits, 4 if version == 1 else 5)[0] == NONE
    name = "Commit" if commits else "Abort"
    assert state(client) == (f"Complete{name}", [])
    assert order.told[0] == (f"Prepare{name}", count)
    assert order.told[-1] == (f"Complete{name}", 0)
    assert order.told[1:-1] == [("marker", TopicPartition("big", index)) for index in range(count)]
    for index in range(count):
        assert markers(simulation, index) == [COMMIT if commits else 1 - COMMIT]


@given(few_to_many, st.sampled_from([0, 3, 4, 5]))
def test_one_that_is_not_there_and_none_is_added(count: int, version: int) -> None:
    simulation, _ = prepared(count, 1)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    errors = add_many(client, (producer_id, epoch), version, *range(count), count)
    assert errors == [NOT_ATTEMPTED] * count + [UNKNOWN_PARTITION]
    entry = simulation.cluster.brokers[1].transactions.states.find("tx")
    assert entry is not None
    assert entry.transaction.now.state.value == "Empty"


@given(few_to_many, st.sampled_from([1, 2]))
def test_markers_that_a_client_requests(count: int, version: int) -> None:
    simulation, _ = prepared(count, 1)
    client = simulation.connect()
    marker = {
        "producer_id": 5,
        "producer_epoch": 1,
        "transaction_result": True,
        "coordinator_epoch": 0,
        "transaction_version": 1,
        "topics": [{"name": "big", "partition_indexes": [*range(count), count]}],
    }
    answer = ask(client, MARKERS, version, markers=[marker])
    [topic] = answer.markers[0].topics
    codes = {partition.partition_index: int(partition.error_code) for partition in topic.partitions}
    assert codes == dict.fromkeys(range(count), NONE) | {count: UNKNOWN_PARTITION}
    assert all(markers(simulation, index) == [COMMIT] for index in range(count))


@given(few_to_many)
def test_another_producer_with_the_same_id(count: int) -> None:
    simulation, order = prepared(count, 1)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    write_many(client, (producer_id, epoch), count, 12)
    order.told.clear()
    assert init(client)[0] == CONCURRENT
    simulation.advance(0)
    assert [what for what, _ in order.told] == ["PrepareAbort", *["marker"] * count, "CompleteAbort"]
    assert init(client)[0] == NONE


def test_the_next_request_of_the_same_connection_is_handled() -> None:
    """The response comes after turns of other connections."""
    simulation, _ = prepared(MANY, 1)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    for _ in range(3):
        assert set(add_many(client, (producer_id, epoch), 3, *range(MANY))) == {NONE}
        assert state(client)[0] == "Ongoing"


def test_others_are_served_between_the_markers() -> None:
    simulation, order = prepared(MANY, 1)
    client, other = simulation.connect(), simulation.connect()
    _, producer_id, epoch = init(client)
    write_many(client, (producer_id, epoch), MANY, 12)
    order.told.clear()
    values = {"transactional_id": "tx", "producer_id": producer_id, "producer_epoch": epoch, "committed": True}
    cluster = simulation.cluster
    cluster.receive(client.connection, request(END, 5, values), simulation.now)
    assert order.told[0][0] == "PrepareCommit"
    turns = 0
    while order.told[-1][0] != "CompleteCommit":
        before = len(order.told)
        cluster.receive(other.connection, produce("t", acks=1), simulation.now)
        cluster.advance_to(simulation.now)
        assert len(order.told) - before <= 200
        turns += 1
    assert turns > 3
    simulation.settle()
    assert len(other.answers) == turns
    assert state(client) == ("CompleteCommit", [])


@pytest.mark.parametrize("stopped", [1, 2])
def test_a_broker_that_stops_between_the_markers(stopped: int) -> None:
    """Broker 1 is the coordinator and leads half of the partitions, broker 2 leads the others. In the end each
    partition has its marker, written by its current leader for the current coordinator."""
    count = 100
    simulation, order = prepared(count, 3)
    for index in range(0, count, 2):
        simulation.cluster.admin.move_leader("big", index, 2, simulation.now)
    simulation.settle()
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    assert set(add_many(client, (producer_id, epoch), 3, *range(count))) == {NONE}
    order.told.clear()
    values = {"transactional_id": "tx", "producer_id": producer_id, "producer_epoch": epoch, "committed": True}
    simulation.cluster.receive(client.connection, request(END, 3, values), simulation.now)
    done = sum(what == "marker" for what, _ in order.told)
    assert 0 < done < count
    simulation.stop(stopped)
    simulation.advance(1_000)
    assert order.told[-1][0] == "CompleteCommit"
    for index in range(count):
        assert set(markers(simulation, index)) == {COMMIT}


def test_a_coordinator_that_takes_over_reads_only_what_was_written_last() -> None:
    simulation, _ = prepared(100, 3)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    for index in range(100):
        assert add_many(client, (producer_id, epoch), 3, index) == [NONE]
    simulation.stop(1)
    simulation.advance(100)
    leader = simulation.partition("__transaction_state").leader_id
    assert state(simulation.connect(leader)) == ("Ongoing", list(range(100)))


def offsets_of_many(producer: tuple[int, int], count: int) -> dict[str, Any]:
    offset = {"committed_leader_epoch": -1, "committed_metadata": ""}
    partitions = [{"partition_index": index, "committed_offset": index} | offset for index in range(count)]
    return {
        "transactional_id": "tx",
        "group_id": "g",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "generation_id": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": "big", "partitions": partitions}],
    }


def committed(client: SimulatedClient, count: int) -> list[int]:
    """Return the offsets of the group, -1 where there is none."""
    group = {"group_id": "g", "member_id": None, "member_epoch": -1}
    offsets_of_group = group | {"topics": [{"name": "big", "partition_indexes": range(count)}]}
    [group_] = ask(client, OFFSET_FETCH, 8, groups=[offsets_of_group], require_stable=True).groups
    assert int(group_.error_code) == NONE
    return [partition.committed_offset for partition in group_.topics[0].partitions]


@given(st.sampled_from([1, 64, 255, 257, MANY]), st.booleans())
def test_offsets_of_many_partitions(count: int, commits: bool) -> None:
    simulation, order = prepared(count, 1)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    answer = ask(client, TXN_COMMIT, 5, **offsets_of_many((producer_id, epoch), count))
    assert [int(partition.error_code) for partition in answer.topics[0].partitions] == [NONE] * count
    assert end(client, (producer_id, epoch), commits)[0] == NONE
    simulation.advance(0)
    log = simulation.partition("__consumer_offsets").leader_log
    first, marker = log.batches_from(0)  # one append, however many there are
    assert len(decode_records(first.records)) == count
    assert decode_marker(marker.records) is not None
    assert order.told[-1][0] == ("CompleteCommit" if commits else "CompleteAbort")
    assert committed(client, count) == (list(range(count)) if commits else [-1] * count)


def test_other_requests_are_served_between_the_offsets_and_requests_to_the_group_wait() -> None:
    simulation, _ = prepared(MANY, 1)
    client, other, reader = (simulation.connect() for _ in range(3))
    _, producer_id, epoch = init(client)
    ask(client, TXN_COMMIT, 5, **offsets_of_many((producer_id, epoch), 1))
    assert end(client, (producer_id, epoch))[0] == NONE
    epoch += 1
    cluster, log = simulation.cluster, simulation.partition("__consumer_offsets").leader_log
    for step in ("written", "committed"):
        if step == "written":
            frame = request(TXN_COMMIT, 5, offsets_of_many((producer_id, epoch), MANY))
        else:
            values = {"transactional_id": "tx", "producer_id": producer_id, "producer_epoch": epoch}
            frame = request(END, 5, values | {"committed": True})
        end_before, answered_before = log.log_end_offset, len(client.answers)
        cluster.receive(client.connection, frame, simulation.now)
        turns = 0
        while cluster.next_deadline_ms() == simulation.now.mono_ms or cluster.has_work:
            cluster.receive(other.connection, produce("t", acks=1), simulation.now)
            cluster.advance_to(simulation.now)
            turns += 1
        assert turns > 1, step
        simulation.settle()
        assert len(client.answers) == answered_before + 1
        assert log.log_end_offset == end_before + (MANY if step == "written" else 1)
    assert committed(reader, MANY) == list(range(MANY))


@pytest.mark.parametrize(
    ("what", "turns"),
    doses.nightly_but(
        [("moves", 0), ("moves", 5), ("moves", 9), ("stops", 5), ("is killed", 5)],
        [(what, turns) for what in ("moves", "stops", "is killed") for turns in (0, 1, 3, 5, 6, 7, 9)],
    ),
)
def test_a_coordinator_of_groups_that_goes_between_the_offsets(what: str, turns: int) -> None:
    """All offsets are written, or none: the transaction continues either way, and the next coordinator loads them."""
    simulation, _ = prepared(MANY, 3)
    simulation.move_leader(2, "__transaction_state")
    client, keeper = simulation.connect(1), simulation.connect(2)
    _, producer_id, epoch = init(keeper)
    simulation.advance(0)
    cluster = simulation.cluster
    frame = request(TXN_COMMIT, 5, offsets_of_many((producer_id, epoch), MANY), correlation_id=77)
    cluster.receive(client.connection, frame, simulation.now)
    for _ in range(turns):
        cluster.advance_to(simulation.now)
    if what == "moves":
        simulation.move_leader(3, "__consumer_offsets")
        simulation.advance(0)
        [(_, answer)] = client.answers
        codes = {
            int(partition.error_code) for partition in decode_response(TXN_COMMIT, 5, answer)[1].topics[0].partitions
        }
        assert codes <= {NONE, NOT_COORDINATOR}
    elif what == "stops":
        simulation.stop(1)
    else:
        simulation.kill(1)
        simulation.advance(10_000)
    simulation.advance(100)
    log = simulation.partition("__consumer_offsets").leader_log
    counts = [len(decode_records(log_batch.records)) for log_batch in log.batches_from(0)]
    assert counts in ([], [MANY])
    # The partition may be in the transaction, and nothing in the partition.
    assert end(keeper, (producer_id, epoch))[0] in ([NONE] if counts else [NONE, INVALID_TXN_STATE])
    simulation.advance(100)
    reader = simulation.connect(simulation.partition("__consumer_offsets").leader_id)
    assert committed(reader, MANY) == (list(range(MANY)) if counts else [-1] * MANY)


def test_the_timeout_of_a_large_one() -> None:
    simulation, order = prepared(MANY, 1)
    client = simulation.connect()
    _, producer_id, epoch = init(client, transaction_timeout=timedelta(seconds=1))
    write_many(client, (producer_id, epoch), MANY, 12)
    order.told.clear()
    simulation.advance(11_000)
    assert [what for what, _ in order.told] == ["PrepareAbort", *["marker"] * MANY, "CompleteAbort"]
