"""AddPartitionsToTxn, every version (apis/transactions/add_partitions_to_txn.py)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.transactions import ADD_PARTITIONS, add, end, init, with_coordinator

UNKNOWN, NOT_ATTEMPTED, MAPPING, FENCED_EPOCH, FENCED, ABORTABLE, INVALID_STATE = 3, 55, 49, 47, 90, 120, 48
VERSIONS = served_versions(ADD_PARTITIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_they_are_marked_in_the_end(version: int) -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, *producer = init(client)
    assert add(client, (producer[0], producer[1]), 0, 1, version=version) == {0: 0, 1: 0}
    end(client, (producer[0], producer[1]), version=5 if version >= 4 else 4)
    assert [simulation.partition("t", index).leader_log.log_end_offset for index in (0, 1)] == [1, 1]


@pytest.mark.parametrize("version", VERSIONS)
def test_all_or_none(version: int) -> None:
    client = with_coordinator().connect()
    _, producer_id, epoch = init(client)
    assert add(client, (producer_id, epoch), 0, 7, version=version) == {0: NOT_ATTEMPTED, 7: UNKNOWN}


@pytest.mark.parametrize("version", VERSIONS)
def test_add_partitions_refuses_another_producer_id_or_epoch(version: int) -> None:
    client = with_coordinator().connect()
    _, producer_id, epoch = init(client)
    assert add(client, (producer_id + 1, epoch), 0, version=version) == {0: MAPPING}
    assert add(client, (producer_id, epoch + 1), 0, version=version) == {0: FENCED_EPOCH if version < 2 else FENCED}


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_ask_for_many(version: int) -> None:
    client = with_coordinator().connect()
    _, producer_id, epoch = init(client)
    add(client, (producer_id, epoch), 0)

    def asked(transactional_id: str, verify_only: bool, partition: int) -> dict[str, Any]:
        return {
            "transactional_id": transactional_id,
            "producer_id": producer_id,
            "producer_epoch": epoch,
            "verify_only": verify_only,
            "topics": [{"name": "t", "partitions": [partition]}],
        }

    transactions = [asked("tx", True, 0), asked("tx", True, 1), asked("other", False, 1)]
    answer = ask(client, ADD_PARTITIONS, version, transactions=transactions)
    results = [
        (result.transactional_id, int(result.topic_results[0].results_by_partition[0].partition_error_code))
        for result in answer.results_by_transaction
    ]
    assert results == [("tx", 0), ("tx", ABORTABLE), ("other", MAPPING)]


@pytest.mark.parametrize("version", [4, 5])
def test_what_is_verified_is_told_in_the_order_in_which_it_was_asked(version: int) -> None:
    """The order is not that of a set, which differs between processes (PYTHONHASHSEED)."""
    simulation = with_coordinator()
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    simulation.topic("many", 20, 1)
    topics = [
        {"name": "many", "partitions": [*range(19, 0, -2), *range(0, 20, 2), 3]},
        {"name": "t", "partitions": [1, 0]},
    ]
    transaction = {
        "transactional_id": "tx",
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "verify_only": True,
        "topics": topics,
    }
    answer = ask(client, ADD_PARTITIONS, version, transactions=[transaction])
    (result,) = answer.results_by_transaction
    results = [
        (topic.name, [partition.partition_index for partition in topic.results_by_partition])
        for topic in result.topic_results
    ]
    assert results == [("many", [*range(19, 0, -2), *range(0, 20, 2)]), ("t", [1, 0])]


@pytest.mark.parametrize("version", [4, 5])
def test_none(version: int) -> None:
    client = with_coordinator().connect()
    assert ask(client, ADD_PARTITIONS, version, transactions=[]).results_by_transaction == ()
