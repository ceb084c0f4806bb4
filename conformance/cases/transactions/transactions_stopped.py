"""Brokers stop while a transaction is open or being ended: the coordinator, a partition's leader, the only one that has
a partition, followers of the transaction log."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.frames import create_topics, list_offsets, produce
from conformance.scenario import (
    AwaitIsr,
    AwaitTransaction,
    Case,
    MoveLeader,
    ReadLog,
    ReadTransactions,
    Send,
    Settle,
    StartBroker,
    Step,
    StopBroker,
)
from conformance.shared_steps import warm
from conformance.transactions.frames import (
    FIRST,
    add_partitions,
    describe_producers,
    describe_transactions,
    in_transaction,
    init_transactions,
)
from conformance.transactions.steps import READ_COMMITTED, Steps, Txn, ask, both
from fakebroker.protocol.topic_name import TRANSACTION_STATE_TOPIC_NAME as LOG

BOX = "transactions-three"
_ALL = (1, 2, 3)


def _coordinated(txn: Txn, broker: int) -> tuple[Step, ...]:
    """Make a broker the coordinator and wait until it has read its log; next after broker 2 is broker 1."""
    moves = (3, 1, 2) if broker == 2 else (broker,)
    return (
        AwaitTransaction(txn.id),
        *(MoveLeader(LOG, leader) for leader in moves),
        AwaitTransaction(txn.id, broker=broker),
    )


def _back(txn: Txn, *brokers: int) -> tuple[Step, ...]:
    """Start the brokers again and wait until they are in sync and the first broker leads everything."""
    return (
        *(StartBroker(broker) for broker in brokers),
        AwaitIsr(LOG, _ALL),
        AwaitIsr(txn.topic, _ALL),
        MoveLeader(txn.topic, 1),
        *_coordinated(txn, 1),
    )


def _described(txn: Txn, broker: int = 1, conn: str = "a") -> tuple[Step, ...]:
    return ask(describe_transactions(txn.id), conn=conn, broker=broker)


def _coordinator(txn: Txn) -> Sequence[Step]:
    """Broker 1 goes on with the open transaction."""
    return (
        *_coordinated(txn, 2),
        *warm(txn.topic),
        *ask(init_transactions(txn.id), conn="b", broker=2),
        *(() if txn.is_v2 else ask(txn.add(0), conn="b", broker=2)),
        *ask(txn.write(b"a")),
        StopBroker(2),
        AwaitIsr(LOG, (1, 3)),
        AwaitTransaction(txn.id),
        *_described(txn),
        *ask(txn.write(b"b", sequence=1)),
        *ask(txn.end()),
        txn.done(),
        *ask(txn.end(), init_transactions(txn.id, producer_id=FIRST, epoch=txn.after(1))),
        *ask(txn.read(), describe_producers(txn.topic)),
        *_back(txn, 2),
        *_described(txn),
        ReadTransactions(txn.id),
    )


def _coordinator_between(txn: Txn) -> Sequence[Step]:
    """Behind a commit: what the next coordinator does not know is the epoch before."""
    return (
        *_coordinated(txn, 2),
        *ask(init_transactions(txn.id), conn="b", broker=2),
        *(() if txn.is_v2 else ask(txn.add(0), conn="b", broker=2)),
        *ask(txn.write(b"a")),
        *ask(txn.end(), conn="b", broker=2),
        txn.done(),
        StopBroker(2),
        AwaitIsr(LOG, (1, 3)),
        AwaitTransaction(txn.id),
        *_described(txn),
        *ask(txn.end()),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0)),
        *_back(txn, 2),
        ReadTransactions(txn.id),
    )


def _leader(txn: Txn) -> Sequence[Step]:
    """Stop the leader of a partition with records: the next leader knows of the transaction and gets the marker."""
    return (
        *_coordinated(txn, 1),
        MoveLeader(txn.topic, 2),
        *txn.begin(),
        *(() if txn.is_v2 else ask(txn.add(0))),
        *ask(txn.write(b"a"), conn="b", broker=2),
        StopBroker(2),
        AwaitIsr(txn.topic, (1, 3)),
        *ask(describe_producers(txn.topic), txn.last_stable()),
        *ask(txn.write(b"b", sequence=1)),
        *txn.ended(commit=False),
        *ask(txn.read(), describe_producers(txn.topic)),
        *_back(txn, 2),
        *ask(txn.read(), describe_producers(txn.topic)),
        ReadTransactions(txn.id),
    )


def _alone(txn: Txn) -> Sequence[Step]:
    """Leave a partition without a leader. Kafka treats it as deleted: the transaction is complete without its marker,
    and hangs there."""
    alone = f"{txn.topic}-alone"
    made = {"name": alone, "assignments": [{"partition_index": 0, "broker_ids": [2]}]}
    record = in_transaction(b"hangs")
    return (
        *ask(create_topics([made], version=4)),
        MoveLeader(alone, 2),
        *_coordinated(txn, 1),
        *txn.begin(),
        *ask(add_partitions(txn.id, {alone: (0,), txn.topic: (0,)})),
        *ask(txn.write(b"a")),
        *ask(produce(alone, record, version=11, transactional_id=txn.id), conn="b", broker=2),
        StopBroker(2),
        AwaitIsr(txn.topic, (1, 3)),
        *ask(txn.end()),
        txn.done(),
        *_described(txn),
        *ask(txn.read()),
        *_back(txn, 2),
        MoveLeader(alone, 2),
        ReadLog(alone, broker=2),
        *ask(describe_producers(alone), list_offsets(alone, -1, isolation_level=READ_COMMITTED), conn="back", broker=2),
        ReadTransactions(txn.id),
    )


def _open_with_one_in_sync(txn: Txn) -> Sequence[Step]:
    """A transaction with a record; then two of three replicas of the log of transactions have gone."""
    return (
        *_coordinated(txn, 1),
        *warm(txn.topic),
        *txn.begin(),
        *txn.written(b"a"),
        StopBroker(2),
        AwaitIsr(LOG, (1, 3)),
        StopBroker(3),
        AwaitIsr(LOG, (1,)),
    )


def _too_few(txn: Txn) -> Sequence[Step]:
    """transaction.state.log.min.isr is 2: nothing can be decided, begun or added, and the marker of before stands."""
    return (
        *_open_with_one_in_sync(txn),
        *ask(txn.end()),
        *_described(txn),
        *ask(txn.add(0)),
        *ask(txn.add(0, version=5, verify_only=True), txn.write(b"b", sequence=1)),
        *ask(init_transactions(f"{txn.id}-other")),
        *ask(init_transactions(f"{txn.id}-other")),
        *ask(txn.end(commit=False)),
        *_described(txn),
        *_back(txn, 2, 3),
        *_described(txn),
        *ask(txn.end(commit=False)),
        txn.done(commit=False),
        *ask(txn.read()),
        ReadTransactions(txn.id),
    )


def _too_few_fence(txn: Txn) -> Sequence[Step]:
    """The fence of an open transaction cannot be written; it is not bumped twice."""
    return (
        *_open_with_one_in_sync(txn),
        *ask(init_transactions(txn.id)),
        *ask(init_transactions(txn.id)),
        *_described(txn),
        *ask(txn.end(), txn.end(epoch=1)),
        *_back(txn, 2, 3),
        *_described(txn),
        *ask(init_transactions(txn.id)),
        txn.done(commit=False),
        *ask(init_transactions(txn.id)),
        *ask(txn.read(), describe_producers(txn.topic)),
        ReadTransactions(txn.id),
    )


def _parked(txn: Txn) -> Sequence[Step]:
    """A read of what is committed waits at a leader that stops."""
    return (
        *_coordinated(txn, 1),
        MoveLeader(txn.topic, 2),
        *txn.begin(),
        *(() if txn.is_v2 else ask(txn.add(0))),
        *ask(txn.write(b"a"), conn="b", broker=2),
        Send((txn.read(max_wait_ms=20_000, correlation_id=1),), "c", 2),
        StopBroker(2),
        Settle("c"),
        AwaitIsr(txn.topic, (1, 3)),
        *txn.ended(),
        *ask(txn.read()),
        *_back(txn, 2),
    )


def _three(what: str, why: str, steps: Steps) -> list[Case]:
    return list(both(what, why, steps, box=BOX, replicas=3, versions=(1, 2)))


CASES: list[Case] = [
    *_three("stop-coordinator", "the coordinator stops during an open transaction", _coordinator),
    *_three("stop-between", "the coordinator stops after a commit", _coordinator_between),
    *_three("stop-leader", "a partition's leader stops during an open transaction", _leader),
    *_three("stop-alone", "a partition without a leader gets no transaction marker", _alone),
    *_three("stop-too-few", "a transaction log with too few in-sync replicas", _too_few),
    *_three("stop-too-few-fence", "the fencing epoch cannot be written", _too_few_fence),
    *_three("stop-parked", "a Fetch is parked at a leader that stops", _parked),
]
