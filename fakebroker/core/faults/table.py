"""The errors of each API, and the work that is done before them; docs/errors.md has the origin of each.

Theory   An error implies a state: NOT_ENOUGH_REPLICAS that nothing was appended, REQUEST_TIMED_OUT that it was. So each
         has its place: `before` the work, when nothing is done, or `after` it. A read changes nothing, and has any of
         its errors at either place. `selectors` are those of the parts of a request. `appends`: it writes to a log, its
         own or the coordinator's, and waits for the in-sync replicas. Every API can have UNKNOWN_SERVER_ERROR anywhere:
         it leaves open how much was done.
Source   clients/.../common/requests/*Response.java ("possible error codes"), core/.../server/KafkaApis.scala @ 4.0;
         group-coordinator/.../GroupCoordinatorService.java, CoordinatorOperationExceptionHelper.java;
         TransactionStateManager.scala appendTransactionToLog; DelayedProduce.scala @ 4.4: the errors of a failed
         append.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Rules(NamedTuple):
    """The rules of one API. Errors have Kafka's names."""

    key: int
    selectors: tuple[str, ...]
    before: frozenset[str]
    after: frozenset[str]
    appends: bool
    only_reads: bool


ANYWHERE: Final = "UNKNOWN_SERVER_ERROR"
ACKS_ALL: Final = frozenset(
    {"REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}
)  # for a Produce with acks=-1 only
WATERMARK: Final = frozenset({"NOT_ENOUGH_REPLICAS_AFTER_APPEND"})  # it implies that the watermark passed

_PARTITION = "topic partition"
_PARTITION_BY_ID = "topic topic_id partition"
_COORDINATOR = "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR"
_GROUP = f"{_COORDINATOR} GROUP_AUTHORIZATION_FAILED INVALID_GROUP_ID"
_MEMBER = f"{_GROUP} UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID"
_GENERATION = f"{_MEMBER} ILLEGAL_GENERATION"
_HEARTBEAT = _GENERATION.replace("COORDINATOR_LOAD_IN_PROGRESS ", "")  # during loading the response is NONE
_LOST_WRITE = "COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR"  # the errors of a write that was not confirmed
_TAKEN_BACK = "NOT_COORDINATOR"  # a late write, COORDINATOR_NOT_AVAILABLE, is undone without a trace
_TRANSACTION = (
    f"{_COORDINATOR} TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_EPOCH "
    "PRODUCER_FENCED INVALID_TXN_STATE CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE"
)
_LEADER = (
    "NOT_LEADER_OR_FOLLOWER REPLICA_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION KAFKA_STORAGE_ERROR "
    "TOPIC_AUTHORIZATION_FAILED"
)
_EPOCH = "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH"
_CONTROLLER = "NOT_CONTROLLER CLUSTER_AUTHORIZATION_FAILED REQUEST_TIMED_OUT"
_CHANGED = "REQUEST_TIMED_OUT NOT_CONTROLLER"  # the controller wrote the change, and stopped before the response
_TOPIC_ADMIN = (
    f"{_CONTROLLER} TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION INVALID_REQUEST THROTTLING_QUOTA_EXCEEDED "
    "POLICY_VIOLATION"
)
_CONFIGS = (
    f"{_CONTROLLER} TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED INVALID_CONFIG INVALID_REQUEST "
    "POLICY_VIOLATION UNKNOWN_TOPIC_OR_PARTITION INVALID_TOPIC_EXCEPTION BROKER_NOT_AVAILABLE"
)
_ACLS = f"{_CONTROLLER} SECURITY_DISABLED INVALID_REQUEST"
_TOKEN = (
    f"{_CONTROLLER} DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_REQUEST_NOT_ALLOWED INVALID_PRINCIPAL_TYPE "
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH "
    "DELEGATION_TOKEN_EXPIRED"
)


def _changes(key: int, selectors: str, before: str, after: str = "") -> Rules:
    return _rules(key, selectors, before, after, False, False)


def _appends(key: int, selectors: str, before: str, after: str = _LOST_WRITE) -> Rules:
    return _rules(key, selectors, before, after, True, False)


def _reads(key: int, selectors: str, errors: str) -> Rules:
    return _rules(key, selectors, errors, errors, False, True)


def _rules(key: int, selectors: str, before: str, after: str, appends: bool, only_reads: bool) -> Rules:
    errors = frozenset([*before.split(), ANYWHERE]), frozenset([*after.split(), ANYWHERE])
    return Rules(key, tuple(selectors.split()), *errors, appends, only_reads)


TABLE: Final[dict[str, Rules]] = {
    "Produce": _appends(
        0,
        f"{_PARTITION_BY_ID} transactional_id",
        "NOT_ENOUGH_REPLICAS NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID "
        "TOPIC_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED "
        "INVALID_TOPIC_EXCEPTION INVALID_REQUIRED_ACKS CORRUPT_MESSAGE MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE "
        "INVALID_RECORD INVALID_TIMESTAMP UNSUPPORTED_FOR_MESSAGE_FORMAT UNSUPPORTED_COMPRESSION_TYPE "
        "OUT_OF_ORDER_SEQUENCE_NUMBER DUPLICATE_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID INVALID_PRODUCER_EPOCH "
        "INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE "
        "KAFKA_STORAGE_ERROR POLICY_VIOLATION UNSUPPORTED_VERSION",
        "REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION "
        "KAFKA_STORAGE_ERROR",
    ),
    "Fetch": _reads(
        1,
        _PARTITION_BY_ID,
        f"{_LEADER} {_EPOCH} OFFSET_OUT_OF_RANGE UNKNOWN_TOPIC_ID INCONSISTENT_TOPIC_ID FETCH_SESSION_ID_NOT_FOUND "
        "INVALID_FETCH_SESSION_EPOCH FETCH_SESSION_TOPIC_ID_ERROR CORRUPT_MESSAGE UNSUPPORTED_COMPRESSION_TYPE "
        "OFFSET_NOT_AVAILABLE",
    ),
    "ListOffsets": _reads(
        2,
        _PARTITION,
        f"{_LEADER} {_EPOCH} OFFSET_NOT_AVAILABLE LEADER_NOT_AVAILABLE UNSUPPORTED_FOR_MESSAGE_FORMAT "
        "UNSUPPORTED_VERSION INVALID_REQUEST REQUEST_TIMED_OUT",
    ),
    "Metadata": _reads(
        3,
        "topic topic_id",
        "LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID INVALID_TOPIC_EXCEPTION "
        "TOPIC_AUTHORIZATION_FAILED LISTENER_NOT_FOUND INVALID_REPLICATION_FACTOR REBOOTSTRAP_REQUIRED "
        "REPLICA_NOT_AVAILABLE INVALID_REQUEST",
    ),
    "OffsetCommit": _appends(
        8,
        f"group member {_PARTITION_BY_ID}",
        f"{_GENERATION} GROUP_ID_NOT_FOUND STALE_MEMBER_EPOCH FENCED_MEMBER_EPOCH REBALANCE_IN_PROGRESS "
        "OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID "
        "TOPIC_AUTHORIZATION_FAILED UNSUPPORTED_VERSION",
    ),
    "OffsetFetch": _reads(
        9,
        f"group {_PARTITION_BY_ID}",
        f"{_GROUP} GROUP_ID_NOT_FOUND UNKNOWN_MEMBER_ID STALE_MEMBER_EPOCH UNSTABLE_OFFSET_COMMIT "
        "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID TOPIC_AUTHORIZATION_FAILED",
    ),
    "FindCoordinator": _reads(
        10,
        "group transactional_id",
        "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE GROUP_AUTHORIZATION_FAILED INVALID_REQUEST "
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    ),
    "JoinGroup": _appends(
        11,
        "group member",
        f"{_MEMBER} INVALID_SESSION_TIMEOUT INCONSISTENT_GROUP_PROTOCOL GROUP_MAX_SIZE_REACHED UNSUPPORTED_VERSION",
        f"{_LOST_WRITE} UNKNOWN_MEMBER_ID REBALANCE_IN_PROGRESS",
    ),
    "Heartbeat": _changes(12, "group member", _HEARTBEAT, "REBALANCE_IN_PROGRESS"),
    "LeaveGroup": _appends(13, "group member", _MEMBER),
    "SyncGroup": _appends(
        14,
        "group member",
        f"{_GENERATION} REBALANCE_IN_PROGRESS INCONSISTENT_GROUP_PROTOCOL",
        f"{_TAKEN_BACK} REBALANCE_IN_PROGRESS",
    ),
    "DescribeGroups": _reads(15, "group", f"{_GROUP} GROUP_ID_NOT_FOUND"),
    "ListGroups": _reads(16, "", f"{_COORDINATOR} CLUSTER_AUTHORIZATION_FAILED"),
    "SaslHandshake": _changes(17, "", "UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE"),
    "ApiVersions": _reads(
        18, "", "UNSUPPORTED_VERSION INVALID_REQUEST REBOOTSTRAP_REQUIRED CLUSTER_AUTHORIZATION_FAILED"
    ),
    "CreateTopics": _changes(
        19,
        "topic",
        f"{_TOPIC_ADMIN} TOPIC_ALREADY_EXISTS INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_CONFIG "
        "INVALID_REPLICA_ASSIGNMENT UNSUPPORTED_VERSION",
        _CHANGED,
    ),
    "DeleteTopics": _changes(
        20,
        "topic topic_id",
        f"{_TOPIC_ADMIN} TOPIC_DELETION_DISABLED UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID",
        _CHANGED,
    ),
    "DeleteRecords": _changes(
        21,
        _PARTITION,
        "NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION OFFSET_OUT_OF_RANGE POLICY_VIOLATION KAFKA_STORAGE_ERROR "
        "TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION",
        "REQUEST_TIMED_OUT",
    ),
    "InitProducerId": _appends(
        22,
        "transactional_id",
        f"{_COORDINATOR} CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_REQUEST "
        "INVALID_PRODUCER_EPOCH PRODUCER_FENCED CONCURRENT_TRANSACTIONS INVALID_TRANSACTION_TIMEOUT REQUEST_TIMED_OUT "
        "TRANSACTION_ABORTABLE",
        _TAKEN_BACK,
    ),
    "OffsetForLeaderEpoch": _reads(23, _PARTITION, f"{_LEADER} {_EPOCH}"),
    "AddPartitionsToTxn": _appends(
        24,
        f"transactional_id {_PARTITION}",
        f"{_TRANSACTION} TOPIC_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION OPERATION_NOT_ATTEMPTED "
        "CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST UNSUPPORTED_VERSION",
        _TAKEN_BACK,
    ),
    "AddOffsetsToTxn": _appends(
        25, "transactional_id group", f"{_TRANSACTION} GROUP_AUTHORIZATION_FAILED INVALID_REQUEST", _TAKEN_BACK
    ),
    "EndTxn": _appends(26, "transactional_id", f"{_TRANSACTION} INVALID_REQUEST UNSUPPORTED_VERSION", _TAKEN_BACK),
    "WriteTxnMarkers": _appends(
        27,
        _PARTITION,
        "CLUSTER_AUTHORIZATION_FAILED CORRUPT_MESSAGE MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_PRODUCER_EPOCH "
        "NOT_ENOUGH_REPLICAS NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION TRANSACTION_COORDINATOR_FENCED "
        "UNSUPPORTED_FOR_MESSAGE_FORMAT COORDINATOR_LOAD_IN_PROGRESS",
        "REQUEST_TIMED_OUT NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION",
    ),
    "TxnOffsetCommit": _appends(
        28,
        f"transactional_id group member {_PARTITION_BY_ID}",
        f"{_GENERATION} TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_PRODUCER_EPOCH INVALID_TXN_STATE "
        "INVALID_PRODUCER_ID_MAPPING OFFSET_METADATA_TOO_LARGE INVALID_COMMIT_OFFSET_SIZE UNKNOWN_TOPIC_OR_PARTITION "
        "UNKNOWN_TOPIC_ID TOPIC_AUTHORIZATION_FAILED TRANSACTION_ABORTABLE CONCURRENT_TRANSACTIONS "
        "STALE_MEMBER_EPOCH FENCED_MEMBER_EPOCH GROUP_ID_NOT_FOUND",
    ),
    "DescribeAcls": _reads(29, "", "CLUSTER_AUTHORIZATION_FAILED SECURITY_DISABLED INVALID_REQUEST"),
    "CreateAcls": _changes(30, "", _ACLS, _CHANGED),
    "DeleteAcls": _changes(31, "", _ACLS, _CHANGED),
    "DescribeConfigs": _reads(32, "resource", _CONFIGS),
    "AlterConfigs": _changes(33, "resource", _CONFIGS, _CHANGED),
    "AlterReplicaLogDirs": _changes(
        34,
        _PARTITION,
        "CLUSTER_AUTHORIZATION_FAILED LOG_DIR_NOT_FOUND KAFKA_STORAGE_ERROR UNKNOWN_TOPIC_OR_PARTITION "
        "REPLICA_NOT_AVAILABLE INVALID_TOPIC_EXCEPTION",
    ),
    "DescribeLogDirs": _reads(35, _PARTITION, "CLUSTER_AUTHORIZATION_FAILED KAFKA_STORAGE_ERROR LOG_DIR_NOT_FOUND"),
    "SaslAuthenticate": _changes(36, "", "SASL_AUTHENTICATION_FAILED ILLEGAL_SASL_STATE"),
    "CreatePartitions": _changes(
        37,
        "topic",
        f"{_TOPIC_ADMIN} UNKNOWN_TOPIC_OR_PARTITION INVALID_PARTITIONS INVALID_REPLICA_ASSIGNMENT "
        "REASSIGNMENT_IN_PROGRESS INVALID_REPLICATION_FACTOR",
        _CHANGED,
    ),
    "CreateDelegationToken": _changes(38, "", _TOKEN, _CHANGED),
    "RenewDelegationToken": _changes(39, "", _TOKEN, _CHANGED),
    "ExpireDelegationToken": _changes(40, "", _TOKEN, _CHANGED),
    "DescribeDelegationToken": _reads(41, "", _TOKEN),
    "DeleteGroups": _appends(42, "group", f"{_GROUP} GROUP_ID_NOT_FOUND NON_EMPTY_GROUP"),
    "ElectLeaders": _changes(
        43,
        _PARTITION,
        f"{_CONTROLLER} ELECTION_NOT_NEEDED PREFERRED_LEADER_NOT_AVAILABLE ELIGIBLE_LEADERS_NOT_AVAILABLE "
        "UNKNOWN_TOPIC_OR_PARTITION INVALID_REQUEST",
        _CHANGED,
    ),
    "IncrementalAlterConfigs": _changes(44, "resource", _CONFIGS, _CHANGED),
    "AlterPartitionReassignments": _changes(
        45,
        _PARTITION,
        f"{_CONTROLLER} INVALID_REPLICA_ASSIGNMENT INVALID_REPLICATION_FACTOR UNKNOWN_TOPIC_OR_PARTITION "
        "NO_REASSIGNMENT_IN_PROGRESS",
        _CHANGED,
    ),
    "ListPartitionReassignments": _reads(46, _PARTITION, _CONTROLLER),
    "OffsetDelete": _appends(
        47,
        f"group {_PARTITION}",
        f"{_GROUP} GROUP_ID_NOT_FOUND NON_EMPTY_GROUP GROUP_SUBSCRIBED_TO_TOPIC UNKNOWN_TOPIC_OR_PARTITION "
        "TOPIC_AUTHORIZATION_FAILED",
    ),
    "DescribeClientQuotas": _reads(48, "", "CLUSTER_AUTHORIZATION_FAILED INVALID_REQUEST UNSUPPORTED_VERSION"),
    "AlterClientQuotas": _changes(49, "", f"{_CONTROLLER} INVALID_REQUEST", _CHANGED),
    "DescribeUserScramCredentials": _reads(
        50, "", "CLUSTER_AUTHORIZATION_FAILED RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNSUPPORTED_SASL_MECHANISM"
    ),
    "AlterUserScramCredentials": _changes(
        51,
        "",
        f"{_CONTROLLER} RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL UNSUPPORTED_SASL_MECHANISM",
        _CHANGED,
    ),
    "DescribeQuorum": _reads(
        55, _PARTITION, "CLUSTER_AUTHORIZATION_FAILED UNKNOWN_TOPIC_OR_PARTITION NOT_LEADER_OR_FOLLOWER "
        "BROKER_NOT_AVAILABLE"
    ),
    "UpdateFeatures": _changes(57, "", f"{_CONTROLLER} FEATURE_UPDATE_FAILED INVALID_UPDATE_VERSION INVALID_REQUEST"),
    "DescribeCluster": _reads(
        60, "", "CLUSTER_AUTHORIZATION_FAILED MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE INVALID_REQUEST"
    ),
    "DescribeProducers": _reads(61, _PARTITION, f"{_LEADER} INVALID_TOPIC_EXCEPTION"),
    "UnregisterBroker": _changes(64, "", f"{_CONTROLLER} BROKER_ID_NOT_REGISTERED", _CHANGED),
    "DescribeTransactions": _reads(
        65,
        "transactional_id",
        f"{_COORDINATOR} TRANSACTIONAL_ID_NOT_FOUND TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_REQUEST",
    ),
    "ListTransactions": _reads(66, "", f"{_COORDINATOR} INVALID_REGULAR_EXPRESSION"),
    "ConsumerGroupHeartbeat": _appends(
        68,
        "group member",
        f"{_GROUP} UNKNOWN_MEMBER_ID FENCED_MEMBER_EPOCH FENCED_INSTANCE_ID UNRELEASED_INSTANCE_ID INVALID_REQUEST "
        "UNSUPPORTED_ASSIGNOR GROUP_MAX_SIZE_REACHED INVALID_REGULAR_EXPRESSION TOPIC_AUTHORIZATION_FAILED "
        "UNSUPPORTED_VERSION GROUP_ID_NOT_FOUND",
    ),
    "ConsumerGroupDescribe": _reads(69, "group", f"{_GROUP} GROUP_ID_NOT_FOUND INVALID_REQUEST UNSUPPORTED_VERSION "
        "TOPIC_AUTHORIZATION_FAILED"),
    "GetTelemetrySubscriptions": _changes(71, "", "INVALID_REQUEST UNSUPPORTED_VERSION THROTTLING_QUOTA_EXCEEDED"),
    "PushTelemetry": _changes(
        72,
        "",
        "INVALID_REQUEST INVALID_RECORD UNKNOWN_SUBSCRIPTION_ID TELEMETRY_TOO_LARGE UNSUPPORTED_COMPRESSION_TYPE "
        "THROTTLING_QUOTA_EXCEEDED UNSUPPORTED_VERSION",
    ),
    "ListConfigResources": _reads(74, "", "CLUSTER_AUTHORIZATION_FAILED UNSUPPORTED_VERSION"),
    "DescribeTopicPartitions": _reads(
        75, "topic", "UNKNOWN_TOPIC_OR_PARTITION TOPIC_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION INVALID_REQUEST"
    ),
}  # fmt: skip

API_KEYS: Final = {name: rules.key for name, rules in TABLE.items()}
API_NAMES: Final = {rules.key: name for name, rules in TABLE.items()}
