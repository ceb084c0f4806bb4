"""The steps of a case that wait for a transaction, or read what its coordinator wrote of it."""

from __future__ import annotations

from typing import Any

from conformance.scenario import AwaitTransaction
from conformance.targets.target import Target, ask
from conformance.targets.wire import Sent, decoded, named
from conformance.transactions.frames import (
    DESCRIBE_TRANSACTIONS,
    FIND_COORDINATOR,
    describe_transactions,
    find_transaction_coordinator,
)
from fakebroker.protocol.error_code import ErrorCode, kafka_name

_POLL_MS, _RARELY_MS = 5, 25
_ANSWER_LIMIT_S = 20.0
_KNOWN = tuple(map(named, (ErrorCode.none, ErrorCode.transactional_id_not_found)))


def await_transaction(target: Target, step: AwaitTransaction) -> None:
    """Raises RuntimeError if it takes too long."""
    limit = target.now_s() + step.within_ms / 1000
    while True:
        is_there, seen = _described(target, step)
        if is_there:
            return
        if target.now_s() > limit:
            raise RuntimeError(f"transaction {step.transactional_id} is not {step.state or 'there'}: {seen}")
        target.pause(_RARELY_MS if step.over else _POLL_MS)


def _described(target: Target, step: AwaitTransaction) -> tuple[bool, str]:
    """Return whether the transaction is as it should be, and how it is."""
    frame = find_transaction_coordinator(step.transactional_id, version=3)
    coordinator = _ask(target, step.broker, FIND_COORDINATOR, 3, frame)
    if coordinator.error_code is not ErrorCode.none:
        return False, kafka_name(coordinator.error_code)
    connection = target.connect(coordinator.node_id)
    try:
        connection.send(describe_transactions(step.transactional_id))
        connection.wait(0, target.now_s() + _ANSWER_LIMIT_S)
        if not connection.arrivals:
            return False, "no answer"
        says = decoded(Sent(DESCRIBE_TRANSACTIONS, 0), connection.arrivals[0].frame)
    finally:
        connection.close()
    [transaction] = says["transaction_states"]
    if transaction["error_code"] not in _KNOWN:
        return False, transaction["error_code"]
    state = transaction["transaction_state"]
    is_ending, is_open = state.startswith("Prepare"), state == "Ongoing"
    waits = (is_ending and (step.settled or step.over)) or (is_open and step.over)
    return step.state in ("", state) and not waits, state


def _ask(target: Target, broker: int, key: int, version: int, frame: bytes) -> Any:
    connection = target.connect(broker)
    try:
        return ask(connection, target, key, version, frame)
    finally:
        connection.close()
