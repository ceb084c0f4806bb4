"""Why Kafka was not asked for an error of the table: what it would take."""

from __future__ import annotations

from typing import Final

from fakebroker.core.faults.table import TABLE

AUTHORIZER: Final = "needs an authorizer"
BUG: Final = "needs an unforeseen failure"
DISK: Final = "needs a disk that fails"
KNOWN: Final = "of other versions of Kafka: 4.4 has no code for it, clients do"
LOADING: Final = "needs a coordinator in the middle of loading"
MOMENT: Final = "needs two things at the same moment"
OFF: Final = "needs a coordinator that is shutting down"
PASSED_ON: Final = "a broker of KRaft asks the controller again itself"
POLICY: Final = "needs a policy in Java"
SLOW: Final = "needs a controller that does not answer for a minute"
TOKENS: Final = "needs delegation tokens"
SASL: Final = "needs SASL"
UNANSWERED: Final = "no answer of Kafka 4.4 is known that says it"

# By API and error, then by error.
_OF_ONE: Final[dict[tuple[str, str], str]] = {
    ("Produce", "POLICY_VIOLATION"): UNANSWERED,
    ("Produce", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"): MOMENT,
    ("Produce", "CLUSTER_AUTHORIZATION_FAILED"): AUTHORIZER,
    ("Fetch", "CORRUPT_MESSAGE"): DISK,
    ("Fetch", "UNSUPPORTED_COMPRESSION_TYPE"): KNOWN,
    ("Fetch", "OFFSET_NOT_AVAILABLE"): MOMENT,
    ("ListOffsets", "REQUEST_TIMED_OUT"): "needs tiered storage",
    ("Metadata", "INVALID_REPLICATION_FACTOR"): KNOWN,
    ("Metadata", "REBOOTSTRAP_REQUIRED"): "for proxies in front of Kafka",
    ("JoinGroup", "UNSUPPORTED_VERSION"): KNOWN,
    ("JoinGroup", "REBALANCE_IN_PROGRESS"): MOMENT,
    ("CreateTopics", "UNSUPPORTED_VERSION"): KNOWN,
    ("DeleteTopics", "POLICY_VIOLATION"): UNANSWERED,
    ("DeleteTopics", "INVALID_TOPIC_EXCEPTION"): UNANSWERED,
    ("DeleteTopics", "TOPIC_DELETION_DISABLED"): "needs delete.topic.enable=false",
    ("CreatePartitions", "REASSIGNMENT_IN_PROGRESS"): KNOWN,
    ("CreatePartitions", "INVALID_REPLICATION_FACTOR"): "needs all brokers fenced",
    ("CreatePartitions", "INVALID_TOPIC_EXCEPTION"): UNANSWERED,
    ("DeleteRecords", "INVALID_TOPIC_EXCEPTION"): UNANSWERED,
    ("InitProducerId", "REQUEST_TIMED_OUT"): SLOW,
    ("InitProducerId", "TRANSACTION_ABORTABLE"): UNANSWERED,
    ("AddOffsetsToTxn", "TRANSACTION_ABORTABLE"): UNANSWERED,
    ("EndTxn", "TRANSACTION_ABORTABLE"): UNANSWERED,
    ("AddPartitionsToTxn", "INVALID_TXN_STATE"): UNANSWERED,
    ("AddOffsetsToTxn", "INVALID_TXN_STATE"): UNANSWERED,
    ("DescribeConfigs", "INVALID_CONFIG"): UNANSWERED,
    ("DescribeConfigs", "POLICY_VIOLATION"): UNANSWERED,
    ("DescribeAcls", "INVALID_REQUEST"): AUTHORIZER,
    ("CreateAcls", "INVALID_REQUEST"): AUTHORIZER,
    ("DeleteAcls", "INVALID_REQUEST"): AUTHORIZER,
    ("ElectLeaders", "ELIGIBLE_LEADERS_NOT_AVAILABLE"): "needs a partition without a leader",
    ("UpdateFeatures", "INVALID_REQUEST"): UNANSWERED,
    ("UpdateFeatures", "FEATURE_UPDATE_FAILED"): KNOWN,
    ("DescribeQuorum", "NOT_LEADER_OR_FOLLOWER"): PASSED_ON,
    ("DescribeCluster", "INVALID_REQUEST"): UNANSWERED,
    ("DescribeUserScramCredentials", "UNSUPPORTED_SASL_MECHANISM"): UNANSWERED,
    ("ConsumerGroupHeartbeat", "UNSUPPORTED_VERSION"): "needs the protocol switched off",
    ("ConsumerGroupDescribe", "UNSUPPORTED_VERSION"): "needs the protocol switched off",
    ("ConsumerGroupDescribe", "INVALID_REQUEST"): UNANSWERED,
    ("GetTelemetrySubscriptions", "INVALID_REQUEST"): UNANSWERED,
    ("GetTelemetrySubscriptions", "UNSUPPORTED_VERSION"): "needs a broker without a receiver of metrics",
    ("PushTelemetry", "UNSUPPORTED_VERSION"): "needs a broker without a receiver of metrics",
    ("SaslHandshake", "UNSUPPORTED_SASL_MECHANISM"): SASL,
    ("SaslAuthenticate", "SASL_AUTHENTICATION_FAILED"): SASL,
    ("OffsetFetch", "UNKNOWN_TOPIC_OR_PARTITION"): UNANSWERED,
    ("DescribeLogDirs", "LOG_DIR_NOT_FOUND"): UNANSWERED,
    ("AlterReplicaLogDirs", "UNKNOWN_TOPIC_OR_PARTITION"): UNANSWERED,
    ("WriteTxnMarkers", "REQUEST_TIMED_OUT"): MOMENT,
    ("WriteTxnMarkers", "UNKNOWN_TOPIC_OR_PARTITION"): MOMENT,
    ("WriteTxnMarkers", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"): MOMENT,
    ("WriteTxnMarkers", "NOT_ENOUGH_REPLICAS"): UNANSWERED,
    ("WriteTxnMarkers", "NOT_LEADER_OR_FOLLOWER"): UNANSWERED,
    ("WriteTxnMarkers", "CORRUPT_MESSAGE"): DISK,
    ("WriteTxnMarkers", "MESSAGE_TOO_LARGE"): "needs a limit below the size of a mark",
}
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
    "LISTENER_NOT_FOUND": "needs brokers with different listeners",
    "POLICY_VIOLATION": POLICY,
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": KNOWN,
    "DUPLICATE_SEQUENCE_NUMBER": KNOWN,
    "UNKNOWN_PRODUCER_ID": KNOWN,
    "RECORD_LIST_TOO_LARGE": KNOWN,
    "INVALID_COMMIT_OFFSET_SIZE": KNOWN,
    "FENCED_MEMBER_EPOCH": KNOWN,
    "STALE_MEMBER_EPOCH": KNOWN,
    "GROUP_ID_NOT_FOUND": KNOWN,
    "INVALID_GROUP_ID": "of a name that is null, which no request can say",
    "INVALID_PRINCIPAL_TYPE": TOKENS,
}


def reason(api: str, error: str) -> str:
    """In few words, for a pair that no case shows; "" if there is none."""
    if error.endswith("AUTHORIZATION_FAILED") and error != "DELEGATION_TOKEN_AUTHORIZATION_FAILED":
        return AUTHORIZER
    if (api, error) in _OF_ONE:
        return _OF_ONE[api, error]
    if "DELEGATION_TOKEN" in error or (api.endswith("DelegationToken") and error == "INVALID_PRINCIPAL_TYPE"):
        return TOKENS
    return _OF_ALL.get(error, "")


def unused(shown: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs that have a reason of their own and need none: a case shows them, or the table does not have them."""
    rows = {(api, error) for api, rules in TABLE.items() for error in rules.before | rules.after}
    return sorted(pair for pair in _OF_ONE if pair not in rows or (pair in shown and pair not in _ALSO_AFTER))
