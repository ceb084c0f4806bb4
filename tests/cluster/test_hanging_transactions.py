"""Hanging transactions: how one arises, how an admin finds it, and how the admin aborts it (KIP-664, KIP-890).

`kafka-transactions find-hanging` asks what these tests ask: which producers have a transaction open for longer than any
may be (DescribeProducers), and whether their coordinator knows of it (ListTransactions, DescribeTransactions).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask
from support.simulation import SimulatedClient, Simulation
from support.transacting import fetched, of_transactions, produce, read_committed, recorded
from support.transactions import DESCRIBE_TXN, LIST_TXN, MARKERS, add, end, init, with_coordinator

from fakebroker.core.journal.transaction_events import MarkerWritten, StableOffsetMoved, TransactionBegan

DESCRIBE_PRODUCERS = 61
HOUR_MS = 3_600_000
NOT_ADDED = 120  # TRANSACTION_ABORTABLE


def aborted(client: SimulatedClient) -> tuple[int, int]:
    """Return the producer of an aborted transaction that still has a record in flight."""
    _, producer_id, epoch = init(client)
    assert add(client, (producer_id, epoch), 0) == {0: 0}
    assert end(client, (producer_id, epoch), committed=False, version=4)[0] == 0
    return producer_id, epoch


def active_producer(client: SimulatedClient) -> Any:
    answer = ask(client, DESCRIBE_PRODUCERS, 0, topics=[{"name": "t", "partition_indexes": (0,)}])
    [producer] = answer.topics[0].partitions[0].active_producers
    return producer


def hanging() -> tuple[Simulation, SimulatedClient, tuple[int, int]]:
    """Return a cluster without verification: late records are appended outside of any open transaction, as before Kafka
    3.6."""
    simulation = with_coordinator(transaction_partition_verification_enable="false")
    client = simulation.connect()
    producer = aborted(client)
    assert produce(client, producer, b"late", version=11) == 0
    return simulation, client, producer


def test_late_records_are_refused() -> None:
    client = with_coordinator().connect()
    assert produce(client, aborted(client), b"late", version=11) == NOT_ADDED


def test_it_stays_for_ever() -> None:
    """A read_committed consumer reads nothing beyond its first offset."""
    simulation, client, _ = hanging()
    assert produce(client, init(client, transactional_id="other")[1:], b"next", version=11) in (0, NOT_ADDED)
    simulation.advance(2 * HOUR_MS)
    client = simulation.connect()
    answer = fetched(client)
    assert answer.last_stable_offset == 1  # behind the mark of the abort
    assert answer.high_watermark > 1
    assert read_committed(client) == []


def test_it_is_found() -> None:
    """The transaction shows by its age, and because its coordinator does not have it."""
    simulation, client, (producer_id, epoch) = hanging()
    simulation.advance(2 * HOUR_MS)
    client = simulation.connect()
    producer = active_producer(client)
    assert (producer.producer_id, producer.producer_epoch) == (producer_id, epoch)
    assert producer.current_txn_start_offset == 1
    listed = ask(client, LIST_TXN, 1, state_filters=(), producer_id_filters=(producer_id,), duration_filter=-1)
    [known] = listed.transaction_states
    assert known.transactional_id == "tx"
    [described] = ask(client, DESCRIBE_TXN, 0, transactional_ids=("tx",)).transaction_states
    assert (described.transaction_state, described.topics) == ("CompleteAbort", ())


def test_an_admin_ends_it() -> None:
    simulation, client, (producer_id, epoch) = hanging()
    journal = recorded(simulation)
    producer = active_producer(client)
    marker = {
        "producer_id": producer_id,
        "producer_epoch": epoch,
        "transaction_result": False,
        "topics": [{"name": "t", "partition_indexes": (0,)}],
        "coordinator_epoch": producer.coordinator_epoch,
        "transaction_version": 0,
    }
    answer = ask(client, MARKERS, 1, markers=[marker])
    assert answer.markers[0].topics[0].partitions[0].error_code == 0
    written, moved = of_transactions(journal)
    assert isinstance(written, MarkerWritten)
    assert isinstance(moved, StableOffsetMoved)
    assert (written.result, moved.last_stable_offset, moved.open_transactions) == ("ABORT", 3, 0)
    assert active_producer(client).current_txn_start_offset == -1
    assert read_committed(client) == []


@pytest.mark.parametrize("open_ms", [1_000, 50_000])
def test_one_that_is_only_long_is_none(open_ms: int) -> None:
    """The coordinator has the transaction, and aborts it at its timeout."""
    simulation = with_coordinator()
    journal = recorded(simulation)
    client = simulation.connect()
    _, producer_id, epoch = init(client, transaction_timeout=timedelta(minutes=1))
    assert produce(client, (producer_id, epoch)) == 0
    assert any(isinstance(event, TransactionBegan) for event in of_transactions(journal))
    simulation.advance(open_ms)
    [described] = ask(client, DESCRIBE_TXN, 0, transactional_ids=("tx",)).transaction_states
    assert described.transaction_state == "Ongoing"
    simulation.advance(71_000 - open_ms)
    assert active_producer(client).current_txn_start_offset == -1
