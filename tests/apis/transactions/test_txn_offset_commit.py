"""TxnOffsetCommit, every version (apis/transactions/txn_offset_commit.py)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from support.asking import ask, served_versions
from support.offsets import commit, fetch, topic_id
from support.simulation import SimulatedClient, Simulation
from support.transactions import ADD_OFFSETS, TXN_COMMIT, end, init, with_coordinator

UNKNOWN, NOT_COORDINATOR, INVALID_STATE, ABORTABLE, UNSTABLE = 3, 16, 48, 120, 88
ILLEGAL_GENERATION, NO_GROUP, UNKNOWN_TOPIC_ID = 22, 69, 100
VERSIONS = served_versions(TXN_COMMIT)


@pytest.fixture
def simulation() -> Simulation:
    return with_coordinator()


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


def begun(client: SimulatedClient, version: int, adds: bool = True) -> tuple[int, int]:
    _, producer_id, epoch = init(client)
    if version < 5 and adds:
        values = {"transactional_id": "tx", "producer_id": producer_id, "producer_epoch": epoch, "group_id": "g"}
        ask(client, ADD_OFFSETS, 3, **values)
    return producer_id, epoch


def txn_commit(
    simulation: Simulation,
    client: SimulatedClient,
    producer: tuple[int, int],
    version: int,
    offset: int = 7,
    partition: int = 0,
    **values: Any,
) -> int:
    part = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    defaults = {
        "transactional_id": "tx",
        "group_id": "g",
        "producer_id": producer[0],
        "producer_epoch": producer[1],
        "generation_id": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": [{"name": "t", "topic_id": topic_id(simulation, "t"), "partitions": [part]}],
    }
    answer = ask(client, TXN_COMMIT, version, **(defaults | values))
    return int(answer.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("committed", [True, False])
def test_it_counts_when_the_transaction_is_committed(
    simulation: Simulation, client: SimulatedClient, version: int, committed: bool
) -> None:
    commit(simulation, client, "g", {("t", 0): 3})
    producer = begun(client, version)
    assert txn_commit(simulation, client, producer, version) == 0
    assert fetch(simulation, client, {"g": [("t", 0)]}) == {"g": {("t", 0): (3, -1, "")}}
    end(client, producer, committed, 5 if version >= 5 else 4)
    expected = 7 if committed else 3
    assert fetch(simulation, client, {"g": [("t", 0)]}) == {"g": {("t", 0): (expected, -1, "")}}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_later_commit_wins(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    producer = begun(client, version)
    txn_commit(simulation, client, producer, version)
    commit(simulation, client, "g", {("t", 0): 9})
    end(client, producer, True, 5 if version >= 5 else 4)
    assert fetch(simulation, client, {"g": [("t", 0)]}) == {"g": {("t", 0): (9, -1, "")}}


def test_the_transaction_with_the_last_write_decides_the_offset(
    simulation: Simulation, client: SimulatedClient
) -> None:
    """The transaction that ended last does not decide (found by a walk beside Kafka)."""

    def begun_as(name: str) -> tuple[int, int]:
        _, producer_id, epoch = init(client, transactional_id=name)
        return producer_id, epoch

    for partition, first_to_end in ((0, 0), (1, 1)):
        names = [f"{partition}-{number}" for number in range(2)]
        producers = [begun_as(name) for name in names]
        for number, (name, producer) in enumerate(zip(names, producers, strict=True)):
            values: dict[str, Any] = {"transactional_id": name, "offset": 10 + number, "partition": partition}
            assert txn_commit(simulation, client, producer, 5, **values) == 0
        for number in (first_to_end, 1 - first_to_end):
            end(client, producers[number], True, 5, transactional_id=names[number])
        assert fetch(simulation, client, {"g": [("t", partition)]}) == {"g": {("t", partition): (11, -1, "")}}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_group_was_not_added(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    producer = begun(client, version, adds=False)
    expected = {4: ABORTABLE, 5: 0, 6: 0}.get(version, INVALID_STATE)
    assert txn_commit(simulation, client, producer, version) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_there(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    producer = begun(client, version)
    assert txn_commit(simulation, client, producer, version, partition=9) == UNKNOWN


@pytest.mark.parametrize(("version", "error"), [(3, ILLEGAL_GENERATION), (5, ILLEGAL_GENERATION), (6, NO_GROUP)])
def test_a_member_of_no_group(simulation: Simulation, client: SimulatedClient, version: int, error: int) -> None:
    producer = begun(client, version)
    assert txn_commit(simulation, client, producer, version, generation_id=1, member_id="m") == error


def test_a_topic_id_that_is_none(simulation: Simulation, client: SimulatedClient) -> None:
    producer = begun(client, 6)
    part = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    topics = [{"topic_id": UUID(int=9), "partitions": [part]}]
    assert txn_commit(simulation, client, producer, 6, topics=topics) == UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", VERSIONS)
def test_another_broker(version: int) -> None:
    simulation = with_coordinator(3)
    producer = begun(simulation.connect(1), version)
    assert txn_commit(simulation, simulation.connect(2), producer, version) == NOT_COORDINATOR


def test_a_read_of_stable_offsets_waits(simulation: Simulation, client: SimulatedClient) -> None:
    producer = begun(client, 5)
    txn_commit(simulation, client, producer, 5)
    group = {
        "group_id": "g",
        "member_id": None,
        "member_epoch": -1,
        "topics": [{"name": "t", "partition_indexes": [0]}],
    }
    answer = ask(client, 9, 8, groups=[group], require_stable=True)
    assert int(answer.groups[0].topics[0].partitions[0].error_code) == UNSTABLE
    end(client, producer)
    answer = ask(client, 9, 8, groups=[group], require_stable=True)
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 7
