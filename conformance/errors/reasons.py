"""Reasons why an error was not observed on Kafka: what it would take. Here for all APIs; `unseen` of an API has its
own."""

from __future__ import annotations

from typing import Final

from fakebroker.apis.errors import DISK, KNOWN, MOMENT, PASSED_ON, SLOW
from fakebroker.core.faults.table import table

BUG: Final = "needs an unforeseen failure"
LOADING: Final = "needs a coordinator in the middle of loading"
OFF: Final = "needs a coordinator that is shutting down"
POLICY: Final = "needs a policy in Java"
TOKENS: Final = "needs delegation tokens"

_ALSO_AFTER: Final = frozenset({("WriteTxnMarkers", "UNKNOWN_TOPIC_OR_PARTITION")})  # seen before the work alone
_OF_ALL: Final[dict[str, str]] = {
    "UNKNOWN_SERVER_ERROR": BUG,
    "KAFKA_STORAGE_ERROR": DISK,
    "COORDINATOR_LOAD_IN_PROGRESS": LOADING,
    "COORDINATOR_NOT_AVAILABLE": OFF,
    "NOT_COORDINATOR": MOMENT,
    "NOT_CONTROLLER": PASSED_ON,
    "REQUEST_TIMED_OUT": SLOW,
    "BROKER_NOT_AVAILABLE": KNOWN,
    "REPLICA_NOT_AVAILABLE": KNOWN,
    "POLICY_VIOLATION": POLICY,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": KNOWN,
    "DUPLICATE_SEQUENCE_NUMBER": KNOWN,
    "UNKNOWN_PRODUCER_ID": KNOWN,
    "RECORD_LIST_TOO_LARGE": KNOWN,
    "INVALID_COMMIT_OFFSET_SIZE": KNOWN,
    "FENCED_MEMBER_EPOCH": KNOWN,
    "STALE_MEMBER_EPOCH": KNOWN,
    "GROUP_ID_NOT_FOUND": KNOWN,
    "INVALID_GROUP_ID": "needs a group id that is null, which no request can have",
    "INVALID_PRINCIPAL_TYPE": TOKENS,
    "CLUSTER_AUTHORIZATION_FAILED": KNOWN,
    "GROUP_AUTHORIZATION_FAILED": KNOWN,
    "TOPIC_AUTHORIZATION_FAILED": KNOWN,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": KNOWN,
}


def reason(api: str, error: str) -> str:
    """Return a short reason for a pair that no case shows; "" if there is none."""
    if error in table()[api].unseen:
        return table()[api].unseen[error]
    if "DELEGATION_TOKEN" in error or (api.endswith("DelegationToken") and error == "INVALID_PRINCIPAL_TYPE"):
        return TOKENS
    return _OF_ALL.get(error, "")


def unused(shown: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs that have a reason of their own and need none: a case shows them, or the table does not have them."""
    return sorted(
        (api, error)
        for api, its in table().items()
        for error in its.unseen
        if error not in its.before | its.after or ((api, error) in shown and (api, error) not in _ALSO_AFTER)
    )
