"""Events of transactions in the journal (core/journal/transaction_events.py)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support import requests
from support.asking import ask
from support.simulation import Simulation
from support.transacting import names, of_transactions, produce, recorded
from support.transactions import TXN_COMMIT, add, end, init, with_coordinator

from fakebroker.core.journal.events import Append
from fakebroker.core.journal.json_lines import from_json, to_json
from fakebroker.core.journal.transaction_events import (
    MarkersSent,
    MarkerWritten,
    OffsetsPending,
    PartitionsVerified,
    PendingOffsetsEnded,
    ProducerFenced,
    StableOffsetMoved,
    TransactionBegan,
    TransitionCompleted,
    TransitionPrepared,
)


def test_a_transaction_from_its_first_record_to_its_end() -> None:
    """Version 2: the leader adds the partition, and the decision has the next epoch."""
    simulation = with_coordinator()
    journal = recorded(simulation)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    begun = of_transactions(journal)
    assert [event[2:] for event in begun] == [
        ("tx", 1, producer_id, 0, "Empty", "Empty", (), "InitProducerId"),
        ("tx", 1, producer_id, 0, "Empty", ()),
    ]

    assert produce(client, (producer_id, epoch)) == 0
    t0 = (("t", 0),)
    events = of_transactions(journal)
    assert events[0][2:] == ("tx", 1, producer_id, 0, "Empty", "Ongoing", t0, "AddPartitionsToTxn")
    assert events[1][2:] == ("tx", 1, producer_id, 0, "Ongoing", t0)
    assert events[2][2:] == ("tx", 1, producer_id, 0, True, (("t", 0, "NONE"),))
    assert events[3][2:] == (1, "t", 0, producer_id, 0, 0)
    assert names(events)[2:4] == ["PartitionsVerified", "TransactionBegan"]
    assert len(events) == 4  # and the stable offset stays where it was

    assert end(client, (producer_id, epoch))[0] == 0
    events = of_transactions(journal)
    assert names(events) == [
        "TransitionPrepared",
        "TransitionCompleted",
        "MarkersSent",
        "MarkerWritten",
        "StableOffsetMoved",
        "TransitionPrepared",
        "TransitionCompleted",
    ]
    assert events[0][2:] == ("tx", 1, producer_id, 1, "Ongoing", "PrepareCommit", t0, "EndTxn")
    assert events[2][2:] == ("tx", 1, 1, producer_id, 1, "COMMIT", t0)
    assert events[3][2:] == (1, "t", 0, producer_id, 1, 0, "COMMIT", 1)
    assert events[4][2:] == ("t", 0, 0, 2, -1, 0)
    assert events[5][2:] == (
        "tx", 1, producer_id, 1, "PrepareCommit", "CompleteCommit", (), "all markers are written",
    )  # fmt: skip


def test_a_partition_that_was_not_added() -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    journal = recorded(simulation)
    assert produce(client, (producer_id, epoch), version=11) == 120
    [verified] = of_transactions(journal)
    assert isinstance(verified, PartitionsVerified)
    assert verified[2:] == ("tx", 1, producer_id, 0, False, (("t", 0, "TRANSACTION_ABORTABLE"),))


def test_a_second_producer_with_the_same_id_fences_the_first() -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    add(client, (producer_id, epoch), 0)
    journal = recorded(simulation)
    assert init(client)[0] == 51
    events = of_transactions(journal)
    prepared = [event for event in events if isinstance(event, TransitionPrepared)]
    assert [(event.state, event.next_state, event.reason) for event in prepared] == [
        ("Ongoing", "PrepareEpochFence", "another producer begins with the same id"),
        ("Ongoing", "PrepareAbort", "the producer was fenced"),
        ("PrepareAbort", "CompleteAbort", "all markers are written"),
    ]
    [sent] = [event for event in events if isinstance(event, MarkersSent)]
    assert sent.result == "ABORT"

    journal.clear()
    assert add(client, (producer_id, epoch), 0) == {0: 90}
    [fenced] = of_transactions(journal)
    assert isinstance(fenced, ProducerFenced)
    assert fenced[2:] == ("tx", 1, producer_id, 0, sent.producer_epoch, "AddPartitionsToTxn")


def test_a_transaction_that_takes_too_long() -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, producer_id, epoch = init(client, transaction_timeout=timedelta(seconds=60))
    add(client, (producer_id, epoch), 0)
    journal = recorded(simulation)
    simulation.advance(70_000)
    prepared = [event for event in of_transactions(journal) if isinstance(event, TransitionPrepared)]
    assert [(event.next_state, event.reason) for event in prepared][:2] == [
        ("PrepareEpochFence", "transaction.timeout.ms is over"),
        ("PrepareAbort", "the producer was fenced"),
    ]
    assert prepared[-1].next_state == "CompleteAbort"


def test_an_unused_transactional_id() -> None:
    simulation = with_coordinator(transactional_id_expiration_ms="3600000")
    client = simulation.connect()
    init(client)
    journal = recorded(simulation)
    simulation.advance(2 * 3_600_000)
    prepared, completed = of_transactions(journal)
    assert isinstance(prepared, TransitionPrepared)
    assert isinstance(completed, TransitionCompleted)
    assert prepared[6:] == ("Empty", "Dead", (), "transactional.id.expiration.ms is over")
    assert completed.state == "Dead"


@pytest.mark.parametrize("committed", [True, False])
def test_offsets(committed: bool) -> None:
    simulation = with_coordinator()
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    journal = recorded(simulation)
    part = {
        "partition_index": 1,
        "committed_offset": 7,
        "committed_leader_epoch": -1,
        "committed_metadata": "",
    }
    ask(
        client,
        TXN_COMMIT,
        5,
        transactional_id="tx",
        group_id="g",
        producer_id=producer_id,
        producer_epoch=epoch,
        generation_id=-1,
        member_id="",
        group_instance_id=None,
        topics=[{"name": "t", "partitions": [part]}],
    )
    [pending] = [event for event in of_transactions(journal) if isinstance(event, OffsetsPending)]
    assert pending[2:] == ("g", "", -1, producer_id, 0, (("t", 1, 7),))
    assert end(client, (producer_id, epoch), committed)[0] == 0
    [ended] = [event for event in of_transactions(journal) if isinstance(event, PendingOffsetsEnded)]
    assert ended[2:] == (producer_id, 1, "COMMIT" if committed else "ABORT", (("g", "t", 1, 7),))


def test_a_new_leader_begins_with_a_stable_offset() -> None:
    """The transactions that it loads from its log make no events again."""
    simulation = with_coordinator(brokers=3)
    client = simulation.connect(simulation.partition("t", 0).leader_id)
    _, producer_id, epoch = init(simulation.connect(simulation.partition("__transaction_state").leader_id))
    assert produce(client, (producer_id, epoch)) == 0
    journal = recorded(simulation)
    simulation.move_leader(3, "t")
    [moved] = of_transactions(journal)
    assert isinstance(moved, StableOffsetMoved)
    assert moved[2:] == ("t", 0, 1, 0, 0, 1)


def test_a_topic_without_transactions_tells_nothing_of_them() -> None:
    simulation = Simulation()
    simulation.topic("t")
    journal = recorded(simulation)

    simulation.connect().send(requests.produce("t"))
    assert [event for event in journal if isinstance(event, Append)]
    assert of_transactions(journal) == []


def test_every_event_comes_back_from_its_line() -> None:
    simulation = with_coordinator()
    journal = recorded(simulation)
    client = simulation.connect()
    _, producer_id, epoch = init(client)
    produce(client, (producer_id, epoch))
    end(client, (producer_id, epoch))
    events = list(journal)
    assert {TransactionBegan, MarkerWritten, StableOffsetMoved} <= {type(event) for event in events}
    assert [from_json(to_json(event)) for event in events] == events
