"""Produce in transactions: which producers may write where, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from conformance.frames import batch, produce, produce_many
from conformance.scenario import Case, Pause, ReadTransactions, Step, placeholder
from conformance.transactions.frames import (
    FIRST,
    add_partitions,
    describe_producers,
    describe_transactions,
    in_transaction,
    init_transactions,
    marker,
    write_markers,
)
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Steps, Txn, ask, begin_another, both


def _not_added(txn: Txn) -> Sequence[Step]:
    """Version 12 and later adds it."""
    return (
        *txn.begin(),
        *ask(*(txn.write(b"v%d" % version, partition=version - 3, version=version) for version in range(3, 13))),
        *ask(describe_transactions(txn.id)),
        *ask(txn.add(0)),
        *ask(*(txn.write(b"v%d" % version, partition=version - 3, version=version) for version in range(3, 13))),
        *ask(describe_transactions(txn.id)),
        *ask(describe_producers(txn.topic, *range(10))),
    )


def _added(txn: Txn) -> Sequence[Step]:
    return (
        *txn.begin(),
        *ask(txn.add(*range(10))),
        *ask(*(txn.write(b"v%d" % version, partition=version - 3, version=version) for version in range(3, 13))),
        *ask(describe_producers(txn.topic, *range(10))),
        *ask(txn.end()),
        txn.done(),
        *ask(describe_producers(txn.topic, *range(10))),
    )


def _topic_ids(txn: Txn) -> Sequence[Step]:
    """v13 names topics by their ids."""
    records = {0: in_transaction(b"a"), 1: in_transaction(b"b")}
    return (
        *txn.begin(),
        *ask(produce(placeholder(txn.topic), records, version=13, transactional_id=txn.id)),
        *ask(describe_transactions(txn.id)),
        *txn.ended(commit=False),
    )


def _two_partitions(txn: Txn) -> Sequence[Step]:
    """Produce to two partitions in one request; one is added, the other is not."""
    both_of: dict[str | UUID, dict[int, bytes | None]] = {txn.topic: {0: in_transaction(b"a"), 1: in_transaction(b"b")}}
    return (
        *txn.begin(),
        *ask(txn.add(1)),
        *ask(produce_many(both_of, 11, transactional_id=txn.id)),
        *ask(produce_many(both_of, 12, transactional_id=txn.id)),
        *ask(txn.end()),
        txn.done(),
        *ask(describe_transactions(txn.id)),
    )


def _sequences(txn: Txn) -> Sequence[Step]:
    """Gaps, repetitions, and one that begins late."""
    return (
        *txn.begin(),
        *txn.written(b"late", sequence=3),
        *txn.written(b"a", b"b"),
        *ask(txn.write(b"a", b"b"), txn.write(b"gap", sequence=5), txn.write(b"a")),
        *ask(txn.write(b"c", sequence=2)),
        *ask(txn.write(b"d", sequence=-1), txn.write(b"e", sequence=2**31 - 1)),
        *txn.ended(),
        *txn.written(b"old", sequence=2),
        *txn.written(b"next", sequence=3, epoch=txn.after(1)),
        *txn.written(b"next", sequence=0, epoch=txn.after(1)),
        *ask(describe_producers(txn.topic)),
        *ask(txn.end(epoch=txn.after(1))),
        txn.done(),
    )


def _strangers(txn: Txn) -> Sequence[Step]:
    """Other ids and epochs in an open transaction."""
    return (
        *txn.begin(),
        *txn.written(b"a"),
        *ask(
            txn.write(b"x", sequence=1, epoch=1),
            txn.write(b"x", sequence=0, epoch=1),
            txn.write(b"x", sequence=0, epoch=-1),
            txn.write(b"x", producer_id=4_000_008),
            txn.write(b"x", producer_id=-1, epoch=-1, sequence=-1),
        ),
        *ask(produce(txn.topic, in_transaction(b"y", sequence=1), version=11, transactional_id=f"{txn.id}-nobody")),
        *ask(produce(txn.topic, in_transaction(b"z", sequence=2), version=12, transactional_id=f"{txn.id}-nobody")),
        *ask(produce(txn.topic, in_transaction(b"z", sequence=2), version=12, transactional_id="")),
        *txn.ended(),
    )


def _plain_inside(txn: Txn) -> Sequence[Step]:
    """A batch of the same producer that is not transactional, in an open transaction and behind it."""
    plain = {"producer_id": FIRST, "producer_epoch": 0}
    return (
        *txn.begin(),
        *txn.written(b"a"),
        *ask(produce(txn.topic, batch(b"plain", base_sequence=1, **plain), version=11)),
        *ask(produce(txn.topic, batch(b"nobody's"))),
        *txn.ended(),
        *ask(produce(txn.topic, batch(b"plain", base_sequence=1, **plain), version=11)),
        *ask(produce(txn.topic, batch(b"plain", base_sequence=2, **plain), version=11, transactional_id=txn.id)),
        *ask(describe_producers(txn.topic)),
    )


def _plain_before(txn: Txn) -> Sequence[Step]:
    """Idempotent, then transactional."""
    plain = {"producer_id": FIRST, "producer_epoch": 0}
    return (
        *txn.begin(),
        *ask(produce(txn.topic, batch(b"plain", base_sequence=0, **plain), version=11)),
        *txn.written(b"a", sequence=1),
        *txn.ended(),
        *ask(describe_producers(txn.topic)),
    )


def _behind(txn: Txn) -> Sequence[Step]:
    """Behind the end, without a word to the coordinator."""
    return (
        *txn.begin(),
        *txn.written(b"a"),
        *txn.ended(),
        *ask(txn.write(b"b", sequence=1)),
        *ask(txn.write(b"b", sequence=1, version=11)),
        *ask(txn.write(b"b", sequence=1, version=9)),
        *ask(txn.write(b"b", epoch=1)),
        *ask(txn.write(b"b", epoch=1, version=11)),
        *ask(txn.write(b"c", epoch=1, sequence=1, version=9)),
        *ask(describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _acks(txn: Txn) -> Sequence[Step]:
    """Write in a transaction with each value of acks."""
    return (
        *txn.begin(),
        *ask(txn.add(0)),
        *(
            step
            for number, acks in enumerate((1, 0, -1))
            for step in ask(
                produce(
                    txn.topic,
                    in_transaction(b"%d" % acks, sequence=number),
                    acks=acks,
                    version=12 if txn.is_v2 else 11,
                    transactional_id=txn.id,
                )
            )
        ),
        *txn.ended(),
    )


def _other_add(txn: Txn, other: Txn) -> bytes:
    """The other's request to add the topic of `txn`."""
    return add_partitions(other.id, {txn.topic: (0,)}, producer_id=producer(2))


def _two_producers(txn: Txn) -> Sequence[Step]:
    """Two open transactions in one partition: each has its marker."""
    other = Txn(f"{txn.what}-b", txn.version)
    write = produce(
        txn.topic,
        in_transaction(b"b", producer_id=producer(2)),
        version=12 if txn.is_v2 else 11,
        transactional_id=other.id,
    )
    added = () if txn.is_v2 else (_other_add(txn, other),)
    return (
        *txn.begin(),
        *begin_another(other.id),
        *txn.written(b"a"),
        *ask(*added, write),
        *ask(txn.write(b"a2", sequence=1)),
        *ask(describe_producers(txn.topic)),
        *ask(txn.last_stable(), txn.read()),
        *txn.ended(commit=False),
        *ask(txn.last_stable(), txn.read()),
        *ask(other.end(producer_id=producer(2))),
        other.done(),
        *ask(txn.last_stable(), txn.read(), txn.read(1), txn.read(2)),
    )


def _hangs(txn: Txn) -> Sequence[Step]:
    """Leave records open that no transaction knows, until an admin writes a marker."""
    marked = marker({txn.topic: (0,)}, commit=False)
    return (
        *txn.begin(),
        *ask(*(txn.write(b"%d" % number, sequence=number, version=11) for number in range(2))),
        *ask(describe_transactions(txn.id), describe_producers(txn.topic, 0, 1), txn.last_stable()),
        *ask(txn.add(1), txn.write(b"known", partition=1)),
        *txn.ended(),
        *ask(txn.read(), txn.last_stable(), txn.read(partition=1), describe_producers(txn.topic, 0, 1)),
        *ask(write_markers(marked)),
        *ask(txn.read(), txn.last_stable(), describe_producers(txn.topic)),
        ReadTransactions(txn.id),
    )


def _never_ends(txn: Txn) -> Sequence[Step]:
    """Write an epoch that no producer was given: the leader takes it and then refuses the marker for good."""
    return (
        *txn.begin(),
        *ask(txn.add(0), txn.write(b"a", version=11), txn.write(b"x", epoch=7, version=11)),
        *ask(describe_producers(txn.topic)),
        *ask(txn.end()),
        Pause(500),
        *ask(describe_transactions(txn.id), describe_producers(txn.topic), txn.last_stable()),
        *ask(init_transactions(txn.id)),
    )


def _unverified(what: str, why: str, steps: Steps, partitions: int = 1) -> list[Case]:
    """Return the cases without the guard of transaction.partition.verification.enable."""
    box = "transactions-unverified"
    return list(both(f"unverified-{what}", why, steps, partitions=partitions, box=box, versions=(1, 2)))


CASES: list[Case] = [
    *both(
        "produce-not-added",
        "partitions that were not added: verified, or added by the broker",
        _not_added,
        partitions=10,
    ),
    *both("produce-added", "partitions that were added, in each version", _added, partitions=10),
    *both("produce-topic-ids", "Produce v13, with topic ids", _topic_ids, partitions=2, versions=(1, 2)),
    *both("produce-two", "two partitions, and one of them was added", _two_partitions, partitions=2, versions=(1, 2)),
    *both("produce-sequences", "sequences in a transaction and in the next", _sequences),
    *both("produce-strangers", "producer ids and epochs of other producers", _strangers),
    *both("produce-plain-inside", "non-transactional batches in a transaction", _plain_inside),
    *both("produce-plain-before", "non-transactional batches before a transaction", _plain_before),
    *both("produce-behind", "transactional batches after the end of the transaction", _behind),
    *both("produce-acks", "all values of acks", _acks),
    *both("produce-two-producers", "two open transactions in one partition", _two_producers),
    *_unverified("hangs", "verification is disabled: records without a transaction hang", _hangs, partitions=2),
    *_unverified("never-ends", "verification is disabled: an unknown epoch", _never_ends),
]
