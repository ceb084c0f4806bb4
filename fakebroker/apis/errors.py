"""The declaration of an API's errors: `errors=` of `registry.api`, and the groups of errors that several APIs share.

Theory   An error implies a state: NOT_ENOUGH_REPLICAS that nothing was appended, REQUEST_TIMED_OUT that it was. So each
         has its place: `before` the work, when nothing is done, or `after` it. Faults return it at its place only.
         An API reads, changes, or appends: then it writes to a log, its own or the coordinator's, and waits for the
         in-sync replicas. `unseen` has a reason for each error that no conformance case makes Kafka return, unless
         conformance/errors/reasons.py has one for all APIs. `not_parts` are arrays of the messages that the walk of
         faults (cluster/faults/tree.py) would take for parts of the request, and that are not.
Source   clients/.../common/requests/*Response.java ("possible error codes"), core/.../server/KafkaApis.scala @ 4.0;
         group-coordinator/.../GroupCoordinatorService.java, CoordinatorOperationExceptionHelper.java;
         TransactionStateManager.scala appendTransactionToLog; DelayedProduce.scala @ 4.4: the errors of a failed
         append.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fakebroker.core.faults.table import ANYWHERE, Errors

# Parts of a request, by which a fault selects it.
PARTITION = "topic partition"
PARTITION_BY_ID = "topic topic_id partition"

# Errors. Their names are Kafka's, separated by spaces.
COORDINATOR = "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR"
GROUP = f"{COORDINATOR} GROUP_AUTHORIZATION_FAILED INVALID_GROUP_ID"
MEMBER = f"{GROUP} UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID"
GENERATION = f"{MEMBER} ILLEGAL_GENERATION"
LOST_WRITE = "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR"  # the errors of a write that was not confirmed
TAKEN_BACK = "NOT_COORDINATOR"  # a late write, COORDINATOR_NOT_AVAILABLE, is undone without a trace
TRANSACTION = (
    f"{COORDINATOR} TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_EPOCH "
    "PRODUCER_FENCED INVALID_TXN_STATE CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE"
)
LEADER = (
    "NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION KAFKA_STORAGE_ERROR "
    "TOPIC_AUTHORIZATION_FAILED"
)
EPOCH = "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH"
CONTROLLER = "NOT_CONTROLLER CLUSTER_AUTHORIZATION_FAILED REQUEST_TIMED_OUT"
CHANGED = "REQUEST_TIMED_OUT NOT_CONTROLLER"  # the controller wrote the change, and stopped before the response
TOPIC_ADMIN = (
    f"{CONTROLLER} TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION INVALID_REQUEST THROTTLING_QUOTA_EXCEEDED "
    "POLICY_VIOLATION"
)
CONFIGS = (
    f"{CONTROLLER} TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED INVALID_CONFIG INVALID_REQUEST "
    "POLICY_VIOLATION UNKNOWN_TOPIC_OR_PARTITION INVALID_TOPIC_EXCEPTION BROKER_NOT_AVAILABLE"
)
ACLS = f"{CONTROLLER} SECURITY_DISABLED INVALID_REQUEST"
TOKEN = (
    f"{CONTROLLER} DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_REQUEST_NOT_ALLOWED INVALID_PRINCIPAL_TYPE "
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH "
    "DELEGATION_TOKEN_EXPIRED"
)

# Why Kafka was not seen to return an error (docs/errors.md).
DISK = "Kafka returns it when a disk fails"
KNOWN = "only other versions of Kafka return it; clients of 4.4 still know it"
MOMENT = "Kafka returns it only if two events happen at the same moment"
PASSED_ON = "a KRaft broker repeats its own request to the controller"
SLOW = "Kafka returns it if the controller does not respond for a minute"
UNANSWERED = "no response of Kafka 4.4 with it is known"

_NONE: Final[Mapping[str, str]] = {}


def reads(selectors: str, errors: str, *, not_parts: str = "", unseen: Mapping[str, str] = _NONE) -> Errors:
    """Declare an API that changes nothing: it has any of its errors at either place."""
    return Errors(
        _words(selectors), _with_anywhere(errors), _with_anywhere(errors), False, True, _words(not_parts), unseen
    )


def changes(
    selectors: str, *, before: str, after: str = "", not_parts: str = "", unseen: Mapping[str, str] = _NONE
) -> Errors:
    """Declare an API that changes something, and appends to no log."""
    return Errors(
        _words(selectors), _with_anywhere(before), _with_anywhere(after), False, False, _words(not_parts), unseen
    )


def appends(
    selectors: str, *, before: str, after: str = LOST_WRITE, not_parts: str = "", unseen: Mapping[str, str] = _NONE
) -> Errors:
    """Declare an API that appends to a log, and waits for the in-sync replicas."""
    return Errors(
        _words(selectors), _with_anywhere(before), _with_anywhere(after), True, False, _words(not_parts), unseen
    )


def because(**reasons: str) -> Mapping[str, str]:
    """Return reasons by error, for `unseen`. A dict that a module of an API writes down is one of a response."""
    return reasons


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _with_anywhere(errors: str) -> frozenset[str]:
    return frozenset([*errors.split(), ANYWHERE])
