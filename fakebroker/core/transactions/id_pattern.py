"""The pattern of transactional ids in ListTransactions.

Source   core/.../coordinator/transaction/TransactionStateManager.scala listTransactionStates @ 4.4, which has RE2/J.
"""

from __future__ import annotations

from typing import final

from fakebroker.core.re2j import Pattern, PatternError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


@final
class IdPattern:
    """A pattern that matches whole transactional ids. An empty pattern matches all of them."""

    __slots__ = ("_pattern", "_text")

    def __init__(self, text: str) -> None:
        """Compile the pattern. Raise INVALID_REGULAR_EXPRESSION."""
        self._text = text
        try:
            self._pattern = Pattern(text) if text else None
        except PatternError as error:
            raise self._refused(error) from None

    def matches(self, transactional_id: str) -> bool:
        """Return True if the id matches. Raise INVALID_REGULAR_EXPRESSION if the pattern takes too long for this id."""
        try:
            return self._pattern is None or self._pattern.matches(transactional_id)
        except PatternError as error:
            raise self._refused(error) from None

    def work(self, transactional_id: str) -> int:
        """Return the work of `matches` (`Pattern.work`)."""
        return 0 if self._pattern is None else self._pattern.work(transactional_id)

    def _refused(self, error: PatternError) -> KafkaError:
        return KafkaError(ErrorCode.invalid_regular_expression, f"`{self._text}` is no pattern: {error}")
