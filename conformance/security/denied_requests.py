"""The requests of clients without a permission, as a table: each API, at each place of an error.

Similar requests share their values. `THERE` stands for the topic of a case, and `ID` for its id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import timedelta
from typing import Any, NamedTuple

from conformance.frames import batch
from conformance.scenario import placeholder
from fakebroker.protocol.messages import field_names

_TIMEOUT = timedelta(seconds=30)
EACH, ENDS = "each version", "the first and the last version"
_ABSENT = "acl-absent"  # no topic has this name
THERE = "acl-there"
ID = placeholder(THERE)


class Denied(NamedTuple):
    """A request in several versions. `grants` are what the client may do; without any it may do nothing."""

    what: str
    api_key: int
    values: Mapping[str, Any]
    grants: str = ""
    versions: str | Sequence[int] = ENDS


_MEMBER: dict[str, Any] = {
    "group_id": "acl-group",
    "session_timeout": _TIMEOUT,
    "rebalance_timeout": _TIMEOUT,
    "member_id": "",
    "group_instance_id": None,
    "protocol_type": "consumer",
    "protocol_name": "range",
    "protocols": [{"name": "range", "metadata": b""}],
    "reason": None,
    "generation_id": 1,
    "members": [{"member_id": "m", "group_instance_id": None, "reason": None}],
    "assignments": [],
}
_COMMIT: dict[str, Any] = {
    "group_id": "acl-group",
    "generation_id_or_member_epoch": -1,
    "generation_id": -1,
    "member_id": "",
    "group_instance_id": None,
    "retention_time": timedelta(milliseconds=-1),
    "transactional_id": "acl-transaction",
    "producer_id": 1,
    "producer_epoch": 0,
    "topics": [
        {
            "name": name,
            "topic_id": placeholder(name),
            "partitions": [
                {
                    "partition_index": index,
                    "committed_offset": 5,
                    "committed_leader_epoch": -1,
                    "committed_metadata": "",
                }
                for index in (0, 7)
            ],
        }
        for name in (THERE, _ABSENT)
    ],
}
_FETCH_OFFSETS: dict[str, Any] = {
    "group_id": "acl-group",
    "require_stable": False,
    "topics": [{"name": name, "topic_id": placeholder(name), "partition_indexes": (0, 7)} for name in (THERE, _ABSENT)],
    "groups": [
        {
            "group_id": group,
            "member_id": None,
            "member_epoch": -1,
            "topics": [{"name": THERE, "topic_id": ID, "partition_indexes": (0,)}],
        }
        for group in ("acl-group", "acl-other-group")
    ],
}
_TRANSACTION: dict[str, Any] = {
    "transactional_id": "acl-transaction",
    "producer_id": 1,
    "producer_epoch": 0,
    "group_id": "acl-group",
    "committed": True,
    "transaction_timeout": _TIMEOUT,
    "v3_and_below_transactional_id": "acl-transaction",
    "v3_and_below_producer_id": 1,
    "v3_and_below_producer_epoch": 0,
    "v3_and_below_topics": [{"name": name, "partitions": (0, 7)} for name in (THERE, _ABSENT, "__consumer_offsets")],
    "transactions": [
        {
            "transactional_id": "acl-transaction",
            "producer_id": 1,
            "producer_epoch": 0,
            "verify_only": True,
            "topics": [{"name": THERE, "partitions": (0,)}],
        }
    ],
}
_MARKERS: dict[str, Any] = {
    "markers": [
        {
            "producer_id": 1,
            "producer_epoch": 0,
            "transaction_result": True,
            "coordinator_epoch": 0,
            "transaction_version": 1,
            "topics": [{"name": THERE, "partition_indexes": (0,)}],
        }
    ]
}
_FILTER: dict[str, Any] = {
    "resource_type_filter": 2,
    "resource_name_filter": "acl-nothing-has-this-name",
    "pattern_type_filter": 3,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
_ACL: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "acl-never-created",
    "resource_pattern_type": 3,
    "principal": "User:nobody",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
_OFFSETS_ASKED: dict[str, Any] = {
    "replica_id": -1,
    "isolation_level": 0,
    "timeout": _TIMEOUT,
    "topics": [
        {
            "name": name,
            "topic": name,
            "partitions": [
                {
                    "partition_index": index,
                    "partition": index,
                    "current_leader_epoch": -1,
                    "leader_epoch": 0,
                    "timestamp": -1,
                }
                for index in (0, 7)
            ],
        }
        for name in (THERE, _ABSENT)
    ],
}
_METADATA: dict[str, Any] = {
    "topics": [{"name": name, "topic_id": None} for name in (THERE, _ABSENT)],
    "allow_auto_topic_creation": False,
    "include_cluster_authorized_operations": True,
    "include_topic_authorized_operations": True,
}
_BY_ID: dict[str, Any] = _METADATA | {
    "topics": [{"name": None, "topic_id": placeholder(name)} for name in (THERE, _ABSENT)]
}
_RESOURCES = ((2, THERE), (2, _ABSENT), (4, "1"), (4, ""), (32, "acl-group"), (16, "acl-metrics"))
_DESCRIBED: dict[str, Any] = {
    "resources": [
        {"resource_type": kind, "resource_name": name, "configuration_keys": ("no.such.key",)}
        for kind, name in (*_RESOURCES, (8, "1"))
    ],
    "include_synonyms": False,
    "include_documentation": False,
}
_ALTERED: dict[str, Any] = {
    "resources": [
        {"resource_type": kind, "resource_name": name, "configs": []} for kind, name in (*_RESOURCES, (4, "2"))
    ],
    "validate_only": True,
}
_LOGGER: dict[str, Any] = {
    "resources": [{"resource_type": 8, "resource_name": name, "configs": []} for name in ("1", "2")],
    "validate_only": True,
}
_CREATED: dict[str, Any] = {
    "topics": [
        {
            "name": name,
            "num_partitions": 1,
            "replication_factor": 1,
            "assignments": [],
            "configs": [],
            "count": 1,
        }
        for name in (THERE, "acl-never-created", "__cluster_metadata")
    ],
    "timeout": _TIMEOUT,
    "validate_only": True,
}
_GROWN: dict[str, Any] = {
    "topics": [{"name": name, "count": 1, "assignments": None} for name in (THERE, _ABSENT)],
    "timeout": _TIMEOUT,
    "validate_only": True,
}
_DELETED: dict[str, Any] = {
    "topic_names": (THERE, _ABSENT),
    "topics": [
        {"name": THERE, "topic_id": None},
        {"name": _ABSENT, "topic_id": None},
        {"name": None, "topic_id": placeholder(_ABSENT)},
    ],
    "timeout": _TIMEOUT,
}
_DELETED_BY_ID: dict[str, Any] = {"topics": [{"name": None, "topic_id": ID}], "timeout": _TIMEOUT}
_PARTITIONS: dict[str, Any] = {
    "topics": [
        {
            "name": name,
            "partitions": [{"partition_index": index, "offset": 0, "replicas": (1,)} for index in (0, 7)],
            "partition_indexes": (0, 7),
        }
        for name in (THERE, _ABSENT)
    ],
    "timeout": _TIMEOUT,
    "allow_replication_factor_change": True,
}
_QUOTA: dict[str, Any] = {
    "components": [],
    "strict": False,
    "entries": [
        {
            "entity": [{"entity_type": "client-id", "entity_name": "acl-client"}],
            "ops": [{"key": "producer_byte_rate", "value": 1000.0, "remove": False}],
        }
    ],
    "validate_only": True,
}
_SCRAM: dict[str, Any] = {
    "users": [{"name": "acl-user"}],
    "deletions": [{"name": "acl-user", "mechanism": 1}],
    "upsertions": [],
}
_SINGLE_TOPIC: dict[str, Any] = {
    "replica_id": -1,
    "max_wait": timedelta(0),
    "min_bytes": 0,
    "max_bytes": 1 << 20,
    "isolation_level": 0,
    "session_id": 0,
    "session_epoch": -1,
    "topics": [
        {
            "topic": name,
            "topic_id": placeholder(name),
            "partitions": [
                {
                    "partition": index,
                    "current_leader_epoch": -1,
                    "fetch_offset": 0,
                    "last_fetched_epoch": -1,
                    "log_start_offset": -1,
                    "partition_max_bytes": 1 << 20,
                }
                for index in (0, 7)
            ],
        }
        for name in (THERE, _ABSENT)
    ],
    "forgotten_topics_data": [],
    "rack_id": "",
}
_FOLLOWED: dict[str, Any] = _SINGLE_TOPIC | {
    "replica_id": 1,
    "replica_state": {"replica_id": 1, "replica_epoch": -1},
}
_PRODUCED: dict[str, Any] = {
    "transactional_id": None,
    "acks": -1,
    "timeout": _TIMEOUT,
    "topic_data": [
        {
            "name": name,
            "topic_id": placeholder(name),
            "partition_data": [{"index": index, "records": batch()} for index in (0, 7)],
        }
        for name in (THERE, _ABSENT)
    ],
}
_IN_TRANSACTION: dict[str, Any] = _PRODUCED | {
    "transactional_id": "acl-transaction",
    "topic_data": [
        {
            "name": THERE,
            "topic_id": ID,
            "partition_data": [
                {"index": 0, "records": batch(attributes=16, producer_id=1, producer_epoch=0, base_sequence=0)}
            ],
        }
    ],
}
_IDEMPOTENT: dict[str, Any] = _PRODUCED | {
    "topic_data": [
        {
            "name": THERE,
            "topic_id": ID,
            "partition_data": [{"index": 0, "records": batch(producer_id=1, producer_epoch=0, base_sequence=0)}],
        }
    ],
}
_CONSUMER: dict[str, Any] = {
    "group_id": "acl-consumers",
    "member_id": "AAAAAAAAAAAAAAAAAAAAAA",
    "member_epoch": 0,
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout": _TIMEOUT,
    "subscribed_topic_names": (THERE, _ABSENT),
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": [],
}
_GROUPS: dict[str, Any] = {
    "groups": ("acl-group", "acl-other-group"),
    "group_ids": ("acl-consumers", "acl-other-group"),
    "groups_names": ("acl-group", "acl-other-group"),
    "include_authorized_operations": True,
    "states_filter": (),
    "types_filter": (),
}

DENIED = (
    # The group of the request.
    Denied("join-group", 11, _MEMBER, versions=EACH),
    Denied("heartbeat", 12, _MEMBER, versions=EACH),
    Denied("leave-group", 13, _MEMBER, versions=EACH),
    Denied("sync-group", 14, _MEMBER, versions=EACH),
    Denied("offset-commit-group", 8, _COMMIT),
    Denied("offset-commit-topics", 8, _COMMIT, "GROUP acl-group READ", EACH),
    Denied("offset-commit-one-topic", 8, _COMMIT, f"GROUP acl-group READ; TOPIC {_ABSENT} READ"),
    Denied("offset-fetch-group", 9, _FETCH_OFFSETS, versions=EACH),
    Denied("offset-fetch-topics", 9, _FETCH_OFFSETS, "GROUP acl-group DESCRIBE", EACH),
    Denied("offset-delete-group", 47, _COMMIT, "GROUP acl-group READ"),
    Denied("offset-delete-topics", 47, _COMMIT, "GROUP acl-group DELETE"),
    Denied("describe-groups", 15, _GROUPS, versions=EACH),
    Denied("describe-groups-operations", 15, _GROUPS, "GROUP acl-other-group READ"),
    Denied("list-groups", 16, _GROUPS, versions=EACH),
    Denied("delete-groups", 42, _GROUPS, "GROUP acl-other-group DELETE"),
    Denied("consumer-heartbeat-group", 68, _CONSUMER),
    Denied("consumer-heartbeat-topics", 68, _CONSUMER, f"GROUP acl-consumers READ; TOPIC {THERE} READ"),
    Denied("consumer-describe", 69, _GROUPS),
    Denied("consumer-describe-one", 69, _GROUPS, "GROUP acl-other-group DESCRIBE"),
    *(
        Denied(f"find-coordinator-{what}", 10, {"key_type": key_type, "key": keys[0], "coordinator_keys": keys})
        for what, key_type, keys in (
            ("group", 0, ("acl-group", "acl-other-group")),
            ("transaction", 1, ("acl-transaction",)),
        )
    ),
    Denied(
        "find-coordinator-share",
        10,
        {"key_type": 2, "coordinator_keys": ("acl-group:AAAAAAAAAAAAAAAAAAAAAA:0",)},
        versions=(5, 6),
    ),
    # Transactions.
    Denied("init-producer-id", 22, _TRANSACTION, versions=EACH),
    Denied("init-producer-id-idempotent", 22, _TRANSACTION | {"transactional_id": None}),
    Denied(
        "init-producer-id-some-topic-denied",
        22,
        _TRANSACTION | {"transactional_id": None},
        f"TOPIC acl-some WRITE; -TOPIC acl* WRITE; TOPIC {THERE} READ",
    ),
    Denied("add-partitions-transaction", 24, _TRANSACTION),
    Denied("add-partitions-topics", 24, _TRANSACTION, "TRANSACTIONAL_ID acl-transaction WRITE", (0, 3)),
    Denied(
        "add-partitions-one-topic",
        24,
        _TRANSACTION,
        f"TRANSACTIONAL_ID acl-transaction WRITE; TOPIC {THERE} WRITE",
        (0, 3),
    ),
    Denied("add-offsets-transaction", 25, _TRANSACTION, "GROUP acl-group READ", EACH),
    Denied("add-offsets-group", 25, _TRANSACTION, "TRANSACTIONAL_ID acl-transaction WRITE", EACH),
    Denied("end-txn", 26, _TRANSACTION, "TRANSACTIONAL_ID acl-transaction DESCRIBE", EACH),
    Denied("write-txn-markers", 27, _MARKERS),
    Denied("txn-offset-commit-transaction", 28, _COMMIT, "GROUP acl-group READ"),
    Denied("txn-offset-commit-group", 28, _COMMIT, "TRANSACTIONAL_ID acl-transaction WRITE"),
    Denied(
        "txn-offset-commit-topics",
        28,
        _COMMIT,
        "TRANSACTIONAL_ID acl-transaction WRITE; GROUP acl-group READ",
        EACH,
    ),
    Denied("describe-transactions", 65, {"transactional_ids": ("acl-transaction", "acl-other")}),
    Denied(
        "describe-transactions-one",
        65,
        {"transactional_ids": ("acl-transaction", "acl-other")},
        "TRANSACTIONAL_ID acl-transaction WRITE",
    ),
    Denied(
        "list-transactions",
        66,
        {"state_filters": (), "producer_id_filters": (), "duration_filter": -1, "transactional_id_pattern": None},
    ),
    Denied("describe-producers", 61, _PARTITIONS, f"TOPIC {THERE} DESCRIBE"),
    # Records.
    Denied("produce", 0, _PRODUCED, versions=EACH),
    Denied("produce-one-topic", 0, _PRODUCED, f"TOPIC {_ABSENT} WRITE"),
    Denied("produce-idempotent", 0, _IDEMPOTENT, "CLUSTER kafka-cluster IDEMPOTENT_WRITE"),
    Denied("produce-in-transaction", 0, _IN_TRANSACTION, f"TOPIC {THERE} WRITE"),
    Denied("produce-in-transaction-topic", 0, _IN_TRANSACTION, "TRANSACTIONAL_ID acl-transaction WRITE"),
    Denied("fetch", 1, _SINGLE_TOPIC, versions=EACH),
    Denied("fetch-by-a-follower", 1, _FOLLOWED, f"TOPIC {THERE} READ", (4, 12, 13, 15, 18)),
    Denied("fetch-one-topic", 1, _SINGLE_TOPIC, f"TOPIC {_ABSENT} READ"),
    Denied("fetch-described-only", 1, _SINGLE_TOPIC, f"TOPIC {THERE} DESCRIBE"),
    Denied("list-offsets", 2, _OFFSETS_ASKED, versions=EACH),
    Denied("list-offsets-one-topic", 2, _OFFSETS_ASKED, f"TOPIC {THERE} WRITE"),
    Denied("offset-for-leader-epoch", 23, _OFFSETS_ASKED, versions=EACH),
    Denied("offset-for-leader-epoch-one-topic", 23, _OFFSETS_ASKED, f"TOPIC {THERE} READ"),
    Denied("delete-records", 21, _PARTITIONS, f"TOPIC {THERE} WRITE", EACH),
    Denied("delete-records-one-topic", 21, _PARTITIONS, f"TOPIC {_ABSENT} DELETE"),
    # Topics.
    Denied("metadata", 3, _METADATA, versions=EACH),
    Denied("metadata-all", 3, _METADATA | {"topics": None}, versions=(1, 8, 13)),
    Denied("metadata-one-topic", 3, _METADATA, f"TOPIC {THERE} ALTER; CLUSTER kafka-cluster CREATE"),
    Denied("metadata-operations", 3, _METADATA, "TOPIC acl* ALL; CLUSTER kafka-cluster ALTER", (8, 10, 13)),
    Denied("metadata-by-id", 3, _BY_ID, versions=(12, 13)),
    Denied("metadata-creates", 3, _METADATA | {"allow_auto_topic_creation": True}, "TOPIC acl* DESCRIBE", (4, 8, 13)),
    Denied(
        "describe-topic-partitions",
        75,
        {
            "topics": [{"name": THERE}, {"name": _ABSENT}],
            "response_partition_limit": 10,
            "cursor": None,
        },
        f"TOPIC {THERE} READ",
    ),
    Denied(
        "describe-topic-partitions-none",
        75,
        {"topics": [{"name": THERE}, {"name": _ABSENT}], "response_partition_limit": 10, "cursor": None},
    ),
    Denied("describe-topic-partitions-all", 75, {"topics": [], "response_partition_limit": 10, "cursor": None}),
    Denied("create-topics", 19, _CREATED, versions=EACH),
    Denied("create-topics-one", 19, _CREATED, "TOPIC acl-never-created CREATE"),
    Denied("create-topics-without-configs", 19, _CREATED, "CLUSTER kafka-cluster CREATE", EACH),
    Denied("create-partitions", 37, _GROWN, versions=EACH),
    Denied("create-partitions-one", 37, _GROWN, f"TOPIC {_ABSENT} ALTER"),
    Denied("delete-topics", 20, _DELETED, versions=EACH),
    Denied("delete-topics-described", 20, _DELETED, "TOPIC acl* DESCRIBE", EACH),
    Denied("delete-topics-by-id", 20, _DELETED_BY_ID, versions=(6,)),
    Denied("delete-topics-by-id-described", 20, _DELETED_BY_ID, f"TOPIC {THERE} READ", (6,)),
    # Settings.
    Denied("describe-configs", 32, _DESCRIBED, versions=EACH),
    Denied("describe-configs-topic", 32, _DESCRIBED, f"TOPIC {THERE} ALTER_CONFIGS"),
    Denied("describe-configs-cluster", 32, _DESCRIBED, "CLUSTER kafka-cluster DESCRIBE_CONFIGS"),
    Denied("alter-configs", 33, _ALTERED, versions=EACH),
    Denied("alter-configs-topic", 33, _ALTERED, f"TOPIC {THERE} ALTER_CONFIGS; TOPIC {_ABSENT} ALTER_CONFIGS"),
    Denied("incremental-alter-configs", 44, _ALTERED, versions=EACH),
    Denied("incremental-alter-configs-loggers", 44, _LOGGER),
    Denied("list-config-resources", 74, {"resource_types": ()}),
    # The cluster.
    Denied("describe-cluster", 60, {"include_cluster_authorized_operations": True, "endpoint_type": 1}),
    Denied(
        "describe-cluster-operations",
        60,
        {"include_cluster_authorized_operations": True, "endpoint_type": 1, "include_fenced_brokers": False},
        "CLUSTER kafka-cluster ALTER; CLUSTER kafka-cluster IDEMPOTENT_WRITE",
    ),
    Denied("describe-acls", 29, _FILTER, versions=EACH),
    Denied("create-acls", 30, {"creations": [_ACL, _ACL]}, versions=EACH),
    Denied("delete-acls", 31, {"filters": [_FILTER, _FILTER]}, versions=EACH),
    Denied(
        "alter-replica-log-dirs",
        34,
        {"dirs": [{"path": "/nowhere", "topics": [{"name": THERE, "partitions": (0,)}]}]},
    ),
    Denied("describe-log-dirs", 35, {"topics": None}, versions=EACH),
    Denied(
        "elect-leaders",
        43,
        {"election_type": 0, "topic_partitions": [{"topic": THERE, "partitions": (0,)}], "timeout": _TIMEOUT},
        versions=EACH,
    ),
    Denied("alter-partition-reassignments", 45, _PARTITIONS, "CLUSTER kafka-cluster DESCRIBE"),
    Denied("list-partition-reassignments", 46, _PARTITIONS),
    Denied("describe-client-quotas", 48, _QUOTA),
    Denied("alter-client-quotas", 49, _QUOTA, "CLUSTER kafka-cluster DESCRIBE_CONFIGS"),
    Denied("describe-user-scram-credentials", 50, _SCRAM),
    Denied("alter-user-scram-credentials", 51, _SCRAM, "CLUSTER kafka-cluster DESCRIBE"),
    Denied(
        "describe-quorum",
        55,
        {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
    ),
    Denied("update-features", 57, {"timeout": _TIMEOUT, "feature_updates": [], "validate_only": True}),
    Denied("unregister-broker", 64, {"broker_id": 99}),
    # Nothing is needed for these.
    Denied("api-versions", 18, {"client_software_name": "acl", "client_software_version": "1"}),
    Denied("sasl-handshake", 17, {"mechanism": "PLAIN"}),
    Denied("sasl-authenticate", 36, {"auth_bytes": b""}),
    Denied("describe-delegation-token", 41, {"owners": None}),
)


def known_fields(denied: Denied) -> Any:
    """Return the values of a request without those that its API does not have."""
    return _known_fields(denied.values, field_names(denied.api_key))


def _known_fields(value: Any, known: Set[str]) -> Any:
    """Return the value without the fields that no version of the request has: similar requests share a table."""
    if isinstance(value, Mapping):
        return {name: _known_fields(item, known) for name, item in value.items() if name in known}
    return [_known_fields(item, known) for item in value] if isinstance(value, list) else value
