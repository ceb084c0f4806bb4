"""The last call of a transactional producer of 4.3; the application may not have received its result yet.

Theory   Until the result is received (`TransactionalRequestResult.is_acked`), the call blocks all other calls, and the
         same call returns the same result again.
Source   TransactionManager.{PendingStateTransition,handleCachedTransactionRequestResult,throwIfPendingState} of 4.3.
"""

from __future__ import annotations

from typing import final

from fakebroker.producer.errors import IllegalProducerStateError, ProducerError
from fakebroker.producer.transactions.requests import TransactionalRequestResult
from fakebroker.producer.transactions.txn_state import State


@final
class PendingStateTransition:
    """The call that is pending, if any, with the state that it moves the producer to."""

    def __init__(self) -> None:
        self._result: TransactionalRequestResult | None = None
        self._state = State.UNINITIALIZED
        self._operation = ""

    def cached(self, state: State, operation: str) -> TransactionalRequestResult | None:
        """Return the result of the same call if it was not received yet. Raises if that of another call was not."""
        result = self._result
        if result is not None and not result.is_acked and self._state is state:
            return result
        self.throw_if_pending(operation)
        return None

    def remember(self, result: TransactionalRequestResult, state: State, operation: str) -> TransactionalRequestResult:
        self._result = result
        self._state = state
        self._operation = operation
        return result

    def throw_if_pending(self, operation: str) -> None:
        """Raise if the result of a call was not received, otherwise forget that call."""
        if self._result is None:
            return
        if not self._result.is_acked:
            raise IllegalProducerStateError(f"{operation} comes after {self._operation}, which is to be called again.")
        self._result = None

    def fail(self, error: ProducerError) -> None:
        if self._result is not None:
            self._result.fail(error)
