"""Transactions that take too long are aborted, and their late producers are fenced."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.scenario import Case, ReadTransactions, Send, Settle, Step
from conformance.transactions.frames import FIRST, describe_producers, describe_transactions, init_transactions
from conformance.transactions.steps import Txn, ask, both, numbered

_SHORT_MS = 400


def _aborted(txn: Txn) -> Sequence[Step]:
    """Send the requests of a producer after its transaction timed out; then it begins anew like another producer."""
    return (
        *txn.begin(timeout_ms=_SHORT_MS),
        *txn.written(b"late"),
        txn.done(commit=False),
        *ask(describe_transactions(txn.id), describe_producers(txn.topic), txn.read(), txn.last_stable()),
        *ask(txn.write(b"later", sequence=1)),
        *ask(txn.add(0), txn.add(0, version=1)),
        *ask(txn.end(), txn.end(commit=False), txn.end(version=1)),
        *ask(init_transactions(txn.id, producer_id=FIRST, epoch=0)),
        *ask(init_transactions(txn.id)),
        *ask(describe_transactions(txn.id)),
        ReadTransactions(txn.id),
    )


def _goes_on(txn: Txn) -> Sequence[Step]:
    """Initialise without an epoch after the timeout: the producer continues behind the fence."""
    return (
        *txn.begin(timeout_ms=_SHORT_MS),
        *txn.written(b"late"),
        txn.done(commit=False),
        *ask(init_transactions(txn.id)),
        *txn.written(b"again", epoch=2),
        *txn.ended(epoch=2),
        ReadTransactions(txn.id),
    )


def _only_added(txn: Txn) -> Sequence[Step]:
    """Time out a transaction that wrote no record."""
    return (
        *txn.begin(timeout_ms=_SHORT_MS),
        *ask(txn.add(0, 1)),
        txn.done(commit=False),
        *ask(txn.end(), txn.end(commit=False)),
        ReadTransactions(txn.id),
    )


def _wakes(txn: Txn) -> Sequence[Step]:
    """A consumer that waits sees what is behind."""
    waits = txn.read(max_wait_ms=8_000)
    return (
        *txn.begin(timeout_ms=_SHORT_MS),
        *txn.written(b"late"),
        Send(numbered([waits]), "b"),
        txn.done(commit=False),
        Settle("b"),
    )


CASES: list[Case] = [
    *both("timeout-aborted", "a transaction times out: it is aborted, and the producer is fenced", _aborted),
    *both("timeout-goes-on", "a transaction times out: the producer continues after InitProducerId", _goes_on),
    *both("timeout-only-added", "a transaction times out: no record was written", _only_added, partitions=2),
    *both("timeout-wakes", "a transaction times out: a parked Fetch completes", _wakes),
]
