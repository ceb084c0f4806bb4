"""A call that has not received its result (producer/transactions/pending_state_transition.py)."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.transactions.pending_state_transition import PendingStateTransition
from fakebroker.producer.transactions.requests import TransactionalRequestResult
from fakebroker.producer.transactions.txn_state import State

COMMIT = State.COMMITTING_TRANSACTION, "commitTransaction"
ABORT = State.ABORTING_TRANSACTION, "abortTransaction"


def test_until_it_is_received_only_the_same_call_is_allowed_and_gets_the_same_result() -> None:
    pending = PendingStateTransition()
    assert pending.cached(*COMMIT) is None
    result = pending.remember(TransactionalRequestResult("EndTxn"), *COMMIT)
    assert pending.cached(*COMMIT) is result
    with pytest.raises(IllegalProducerStateError, match="abortTransaction comes after commitTransaction"):
        pending.cached(*ABORT)
    with pytest.raises(IllegalProducerStateError, match="send comes after commitTransaction"):
        pending.throw_if_pending("send")
    result.done()
    result.acknowledge()
    assert pending.cached(*COMMIT) is None


def test_the_call_that_is_pending_fails_with_the_producer() -> None:
    pending = PendingStateTransition()
    pending.fail(ProducerError("nothing is pending"))
    result = pending.remember(TransactionalRequestResult("EndTxn"), *COMMIT)
    error = ProducerError("fatal")
    pending.fail(error)
    assert result.is_completed
    assert result.error is error
