"""Which transactional ids a list is to have.

Source   core/.../coordinator/transaction/TransactionStateManager.scala listTransactionStates @ 4.4, which has RE2/J.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.re2j import PatternError, whole_match
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def id_pattern(pattern: str) -> Callable[[str], bool]:
    """Which transactional ids match as a whole; all of them an empty one. Raises INVALID_REGULAR_EXPRESSION."""
    if not pattern:
        return lambda transactional_id: True
    try:
        return whole_match(pattern)
    except PatternError as error:
        raise KafkaError(ErrorCode.invalid_regular_expression, f"`{pattern}` is no pattern: {error}") from None
