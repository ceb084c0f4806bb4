"""AddPartitionsToTxn: what producers say, and what brokers ask."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.scenario import AwaitTransaction, Case, ReadTransactions, Step
from conformance.transactions.frames import (
    FIRST,
    add_partitions,
    add_partitions_batched,
    describe_transactions,
    end_txn,
    init_transactions,
    transaction,
)
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Txn, ask, begin_another, both


def _versions(txn: Txn) -> Sequence[Step]:
    """Add each partition with another version; then send wrong requests with each version."""
    return (
        *txn.begin(),
        *ask(*(txn.add(version, version=version) for version in range(6))),
        *ask(*(txn.add(version, version=version, epoch=3) for version in range(6))),
        *ask(*(txn.add(version, version=version, producer_id=4_000_005) for version in range(6))),
        *ask(*(add_partitions("", {txn.topic: (0,)}, version=version) for version in range(6))),
        *ask(describe_transactions(txn.id)),
        *ask(txn.end(version=3)),
        txn.done(),
        ReadTransactions(txn.id),
    )


def _unknown(txn: Txn) -> Sequence[Step]:
    """One that is not there, and the others are not attempted."""
    named = {f"{txn.topic}-not": (0, 1), txn.topic: (0,)}
    return (
        *txn.begin(),
        *ask(
            *(
                add_partitions(txn.id, partitions, version=version)
                for version in (0, 3, 4, 5)
                for partitions in ({txn.topic: (0, 7)}, named, {"": (0,)}, {f"{txn.topic}-not": ()})
            ),
        ),
        *ask(describe_transactions(txn.id)),
    )


def _nothing(txn: Txn) -> Sequence[Step]:
    """No partitions, and the same twice."""
    return (
        *txn.begin(),
        *ask(add_partitions(txn.id, {}), describe_transactions(txn.id)),
        *ask(txn.add(0, 0), txn.add(0), add_partitions(txn.id, {txn.topic: ()}), describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _never_begun(txn: Txn) -> Sequence[Step]:
    return (
        AwaitTransaction(txn.id),
        *ask(txn.add(0, producer_id=4_000_006)),
        *ask(txn.add(0, producer_id=4_000_006, version=5)),
        *ask(txn.add(0, producer_id=4_000_006, version=5, verify_only=True)),
        *ask(init_transactions(txn.id)),
        *ask(txn.add(0, epoch=-1), txn.add(0, epoch=1), txn.add(0, producer_id=-1)),
        *ask(txn.add(0, epoch=-1, version=1), txn.add(0, epoch=1, version=1)),
    )


def _verify(txn: Txn) -> Sequence[Step]:
    """A broker asks whether partitions belong to the transaction."""
    return (
        *txn.begin(),
        *ask(*(txn.add(0, version=version, verify_only=True) for version in (4, 5))),
        *ask(txn.add(0)),
        *ask(*(txn.add(0, version=version, verify_only=True) for version in (4, 5))),
        *ask(*(txn.add(0, 1, version=version, verify_only=True) for version in (4, 5))),
        *ask(*(txn.add(0, version=version, verify_only=True, epoch=1) for version in (4, 5))),
        *ask(*(txn.add(0, version=version, verify_only=True, producer_id=4_000_007) for version in (4, 5))),
        *ask(*(add_partitions("", {txn.topic: (0,)}, version=version, verify_only=True) for version in (4, 5))),
        *ask(txn.end()),
        txn.done(),
        *ask(*(txn.add(0, version=5, verify_only=True, epoch=txn.after(1)) for version in (4, 5))),
        *ask(describe_transactions(txn.id)),
    )


def _batched(txn: Txn) -> Sequence[Step]:
    """Several transactions in one request of a broker."""
    other = f"{txn.id}-b"
    part, all_parts = {txn.topic: (0,)}, {txn.topic: (0, 1)}
    return (
        *txn.begin(),
        *ask(init_transactions(other)),
        *(
            step
            for version in (4, 5)
            for step in ask(
                add_partitions_batched(
                    transaction(txn.id, part),
                    transaction(other, part, producer(2)),
                    transaction(f"{txn.id}-nobody", part),
                    version=version,
                ),
                add_partitions_batched(
                    transaction(txn.id, all_parts, verify_only=True),
                    transaction(other, {f"{txn.topic}-not": (0,), txn.topic: (0,)}, producer(2)),
                    version=version,
                ),
            )
        ),
        *ask(describe_transactions(txn.id, other)),
        ReadTransactions(txn.id),
    )


def _more(txn: Txn) -> Sequence[Step]:
    """Partitions while the transaction is open, by producer and by broker."""
    return (
        *txn.begin(),
        *ask(txn.add(0), txn.add(1), txn.add(2, version=5), txn.add(0, 1, 2)),
        *ask(txn.end(version=4)),
        txn.done(),
        *ask(txn.add(2), txn.add(1, 0, version=5)),
        *ask(txn.end(version=5, commit=False)),
        txn.done(commit=False),
        *ask(txn.add(2, epoch=0), txn.add(2, epoch=1)),
        ReadTransactions(txn.id),
    )


def _internal(txn: Txn) -> Sequence[Step]:
    """Partitions of topics that are the brokers' own."""
    return (
        *txn.begin(),
        *ask(add_partitions(txn.id, {"__transaction_state": (0,)})),
        *ask(add_partitions(txn.id, {"__cluster_metadata": (0,)})),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0)),
    )


def _too_new(txn: Txn) -> Sequence[Step]:
    """Use version 2 on a cluster with log records that cannot express it: requests of such a client stay pending for
    good."""
    return (
        *txn.begin(),
        *ask(txn.add(0), txn.write(b"a", version=11)),
        *ask(txn.write(b"b", partition=1, version=12)),
        *ask(txn.end(version=5), txn.end(version=4), txn.add(1)),
        *ask(init_transactions(txn.id), describe_transactions(txn.id)),
        *begin_another(f"{txn.id}-other"),
        *ask(add_partitions(f"{txn.id}-other", {txn.topic: (0,)}, producer_id=producer(2), version=5)),
        *ask(end_txn(f"{txn.id}-other", producer_id=producer(2), version=5)),
        *begin_another(f"{txn.id}-third"),
        *ask(end_txn(f"{txn.id}-third", producer_id=producer(3), version=5, commit=False)),
        *ask(init_transactions(f"{txn.id}-third")),
        ReadTransactions(txn.id),
    )


CASES: list[Case] = [
    *both("add-versions", "each version, and its errors", _versions, partitions=6, versions=(1, 2)),
    *both(
        "add-unknown",
        "an unknown partition gets UNKNOWN_TOPIC_OR_PARTITION, the others OPERATION_NOT_ATTEMPTED",
        _unknown,
    ),
    *both("add-nothing", "no partitions, and partitions that are already in the transaction", _nothing),
    *both("add-nobody", "a transactional id without InitProducerId; then wrong epochs and producer ids", _never_begun),
    *both("add-verify", "verifyOnly: partitions are only checked (KIP-890)", _verify, partitions=2),
    *both("add-batched", "several transactions in one request", _batched, partitions=2),
    *both("add-more", "partitions are added to an open transaction", _more, partitions=3, versions=(1, 2)),
    *both(
        "add-too-new",
        "a client of transaction version 2 on a cluster of version 0",
        _too_new,
        partitions=2,
        versions=(0,),
    ),
    *both("add-internal", "internal topics", _internal, partitions=0),
]
