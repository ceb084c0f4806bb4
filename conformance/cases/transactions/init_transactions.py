"""InitProducerId with a transactional id: ids, epochs, and which producers are fenced."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.scenario import AwaitTransaction, Case, ReadTransactions, Step
from conformance.transactions.frames import FIRST, describe_transactions, init_transactions
from conformance.transactions.stand_ins import producer
from conformance.transactions.steps import Txn, ask, both


def _versions(txn: Txn) -> Sequence[Step]:
    transactional_ids = (f"{txn.id}-{version}" for version in range(6))
    return (
        AwaitTransaction(txn.id),
        *ask(*(init_transactions(name, version=version) for version, name in enumerate(transactional_ids))),
        *ask(*(init_transactions(f"{txn.id}-{version}", version=version) for version in range(6))),
    )


def _again(txn: Txn) -> Sequence[Step]:
    """Request one id three times, then send its epoch, the one before, and epochs that never existed."""
    return (
        *txn.begin(),
        *ask(*(init_transactions(txn.id) for _ in range(2))),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=2)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=2)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=1)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=9)),
        *ask(init_transactions(txn.id, producer_id=4_000_001, epoch=3)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=3, version=3)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0, version=3)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0, version=4)),
        *ask(describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _times(txn: Txn) -> Sequence[Step]:
    times = (0, -1, 1, 900_000, 900_001, 2**31 - 1)
    return (
        AwaitTransaction(txn.id),
        *ask(*(init_transactions(f"{txn.id}-{ms}", timeout_ms=ms) for ms in times)),
        *ask(describe_transactions(*(f"{txn.id}-{ms}" for ms in times))),
    )


def _other_timeout(txn: Txn) -> Sequence[Step]:
    return (
        *txn.begin(),
        *ask(init_transactions(txn.id, timeout_ms=5_000), describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _unknown(txn: Txn) -> Sequence[Step]:
    """Initialise an unknown transactional id with a producer id and an epoch."""
    return (
        AwaitTransaction(txn.id),
        *ask(init_transactions(txn.id, producer_id=4_000_002, epoch=7)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0)),
        *ask(init_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _halves(txn: Txn) -> Sequence[Step]:
    return (
        *txn.begin(),
        *ask(
            init_transactions(txn.id, producer_id=77),
            init_transactions(txn.id, epoch=7),
            init_transactions(txn.id, producer_id=-2, epoch=-1),
            init_transactions(""),
            init_transactions("", version=1),
        ),
    )


def _while_open(txn: Txn) -> Sequence[Step]:
    """The other one's transaction is aborted, and it is fenced."""
    return (
        *txn.begin(),
        *txn.written(b"lost"),
        *ask(init_transactions(txn.id)),
        txn.done(commit=False),
        *ask(init_transactions(txn.id)),
        *ask(txn.write(b"late", sequence=1), txn.end(), txn.end(commit=False), txn.add(0)),
        *ask(describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _while_mine_is_open(txn: Txn) -> Sequence[Step]:
    """KIP-360: a producer that sends its own epoch aborts its own transaction."""
    return (
        *txn.begin(),
        *txn.written(b"lost"),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=5)),
        txn.done(commit=False),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=1)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=2)),
        ReadTransactions(txn.id),
    )


def _after_end(txn: Txn) -> Sequence[Step]:
    """Behind a commit, with the epoch before and with that of now."""
    return (
        *txn.begin(),
        *txn.written(b"kept"),
        *txn.ended(),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=1)),
        *ask(init_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _two_phase(txn: Txn) -> Sequence[Step]:
    """v6 is KIP-939."""
    return (
        *txn.begin(),
        *ask(init_transactions(txn.id, version=6)),
        *ask(init_transactions(txn.id, version=6, enable2_pc=True), conn="b"),
        *ask(init_transactions(txn.id, version=6, keep_prepared_txn=True), conn="c"),
    )


def _many(txn: Txn) -> Sequence[Step]:
    """Ids of ids: each has its own, whatever it is called."""
    names = ["a", "a" * 300, "mit Leerzeichen", "ünïcode", "\n", "."]
    return (
        AwaitTransaction(txn.id),
        *ask(*(init_transactions(f"{txn.id}{name}") for name in names)),
        *ask(describe_transactions(*(f"{txn.id}{name}" for name in names))),
        *ask(init_transactions(f"{txn.id}a", producer_id=producer(2), epoch=0)),
    )


CASES: list[Case] = [
    *both("init-versions", "a producer id in each version, and again", _versions, partitions=0),
    *both(
        "init-again",
        "the epoch is bumped each time; KIP-360: a request with the current id and epoch succeeds",
        _again,
        partitions=0,
    ),
    *both("init-times", "invalid and too long timeouts: INVALID_TRANSACTION_TIMEOUT", _times, partitions=0),
    *both("init-other-timeout", "the last InitProducerId sets the timeout", _other_timeout, partitions=0),
    *both("init-unknown", "a known producer id with an unknown transactional id", _unknown, partitions=0),
    *both(
        "init-halves",
        "a producer id without an epoch, or the reverse, without a transactional id: INVALID_REQUEST",
        _halves,
        partitions=0,
    ),
    *both(
        "init-while-open",
        "an open transaction is aborted first: CONCURRENT_TRANSACTIONS, then the epoch after the fencing one",
        _while_open,
    ),
    *both("init-while-mine", "an open transaction is aborted by its own producer (KIP-360)", _while_mine_is_open),
    *both("init-after-end", "the epoch after a commit", _after_end),
    *both("init-two-phase", "two-phase commit: InitProducerId v6 (KIP-939)", _two_phase, partitions=0),
    *both("init-names", "any text is a valid transactional id", _many, partitions=0),
]
