"""The reaction of a transaction manager to an error code, by request and generation.

Source   the `handleResponse` methods of TransactionManager's handlers of 2.0 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, cast

from fakebroker.producer.generation import Generation
from fakebroker.producer.sending.response_errors import is_retriable
from fakebroker.producer.transactions.requests import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    FindCoordinator,
    InitProducerId,
    TxnOffsetCommit,
    TxnRequest,
)
from fakebroker.protocol.error_code import ErrorCode


class ErrorAction(Enum):
    LOOK_UP = "ask for the coordinator, then again"
    RETRY = "ask again"
    RETRY_SOON = "ask again, sooner if the transaction has just begun"
    FATAL = "the producer cannot go on"
    FATAL_WRAPPED = "the same, with a KafkaException around it"
    FENCED = "the same, as PRODUCER_FENCED whatever the code"
    ABORT = "the transaction is to be aborted"
    ABORT_IF_POSSIBLE = "the same, if the epoch can be bumped then; else FATAL"
    NO_MEMBER = "the same, since the group does not know the member"
    PART = "nothing else; it counts against the whole"
    UNEXPECTED = "the producer cannot go on, and does not know the code here"


_A = ErrorAction
_E = ErrorCode
_LOOK_UP: Final = {_E.coordinator_not_available: _A.LOOK_UP, _E.not_coordinator: _A.LOOK_UP}
_BUSY: Final = {_E.coordinator_load_in_progress: _A.RETRY, _E.concurrent_transactions: _A.RETRY}
_NOT_ALLOWED: Final = {_E.transactional_id_authorization_failed: _A.FATAL}
_GROUP: Final = {_E.group_authorization_failed: _A.ABORT}
_OLD_2_0: Final = {_E.invalid_producer_epoch: _A.FATAL}
_OLD_4_3: Final = {_E.invalid_producer_epoch: _A.FENCED, _E.producer_fenced: _A.FENCED}
_TOLD_TO_ABORT: Final = {_E.transaction_abortable: _A.ABORT}
_LOST: Final = {_E.unknown_producer_id: _A.ABORT_IF_POSSIBLE}
_WRONG_4_3: Final = {_E.invalid_txn_state: _A.FATAL, _E.invalid_producer_id_mapping: _A.FATAL}

_Actions = Mapping[type[TxnRequest], Mapping[ErrorCode, ErrorAction]]
_ACTIONS_2_0: Final[_Actions] = {
    InitProducerId: _LOOK_UP | _BUSY | _NOT_ALLOWED,
    AddPartitionsToTxn: _LOOK_UP
    | _OLD_2_0
    | _NOT_ALLOWED
    | {
        _E.concurrent_transactions: _A.RETRY_SOON,
        _E.coordinator_load_in_progress: _A.RETRY,
        _E.unknown_topic_or_partition: _A.RETRY,
        _E.invalid_producer_id_mapping: _A.FATAL_WRAPPED,
        _E.invalid_txn_state: _A.FATAL_WRAPPED,
    },
    AddOffsetsToTxn: _LOOK_UP | _BUSY | _OLD_2_0 | _NOT_ALLOWED | _GROUP,
    TxnOffsetCommit: _LOOK_UP
    | _OLD_2_0
    | _NOT_ALLOWED
    | _GROUP
    | {
        _E.request_timed_out: _A.LOOK_UP,
        _E.unknown_topic_or_partition: _A.RETRY,
        _E.coordinator_load_in_progress: _A.RETRY,
        _E.unsupported_for_message_format: _A.FATAL,
    },
    EndTxn: _LOOK_UP | _BUSY | _OLD_2_0 | _NOT_ALLOWED | {_E.invalid_txn_state: _A.FATAL},
    FindCoordinator: _NOT_ALLOWED | _GROUP | {_E.coordinator_not_available: _A.RETRY},
}
_ACTIONS_4_3: Final[_Actions] = {
    InitProducerId: _LOOK_UP
    | _OLD_4_3
    | _TOLD_TO_ABORT
    | {_E.transactional_id_authorization_failed: _A.ABORT, _E.cluster_authorization_failed: _A.ABORT},
    AddPartitionsToTxn: _LOOK_UP
    | _OLD_4_3
    | _NOT_ALLOWED
    | _WRONG_4_3
    | _LOST
    | _TOLD_TO_ABORT
    | {_E.concurrent_transactions: _A.RETRY_SOON},
    AddOffsetsToTxn: _LOOK_UP | _OLD_4_3 | _NOT_ALLOWED | _WRONG_4_3 | _LOST | _GROUP | _TOLD_TO_ABORT,
    TxnOffsetCommit: _LOOK_UP
    | _OLD_4_3
    | _NOT_ALLOWED
    | _GROUP
    | _TOLD_TO_ABORT
    | {
        _E.request_timed_out: _A.LOOK_UP,
        _E.fenced_instance_id: _A.ABORT,
        _E.unknown_member_id: _A.NO_MEMBER,
        _E.illegal_generation: _A.NO_MEMBER,
        _E.unsupported_for_message_format: _A.FATAL,
    },
    EndTxn: _LOOK_UP | _OLD_4_3 | _NOT_ALLOWED | _WRONG_4_3 | _LOST | _TOLD_TO_ABORT,
    FindCoordinator: _NOT_ALLOWED | _GROUP | _TOLD_TO_ABORT,
}


def action_for(request: type[TxnRequest], code: int, generation: Generation) -> ErrorAction:
    """Return the action for an error other than NONE. Since 2.1 a retriable code without an entry is retried."""
    is_new = generation.has_delivery_timeout
    action = (_ACTIONS_4_3 if is_new else _ACTIONS_2_0)[request].get(cast(ErrorCode, code))
    if action is not None:
        return action
    if is_new and is_retriable(code, generation):
        return ErrorAction.RETRY
    return ErrorAction.PART if request is AddPartitionsToTxn else ErrorAction.UNEXPECTED
