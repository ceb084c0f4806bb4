"""Lists of answers that are compared without their order.

Kafka walks a hash table or the partitions of an internal topic to fill them. Decision 159 says which orders are ported.
"""

from __future__ import annotations

# The fields that a list is sorted by before it is compared, by the name of the list.
SORTED_BY = {
    "brokers": ("node_id",),
    "responses": ("name", "topic", "topic_id"),
    "partition_responses": ("index",),
    # ListOffsets, OffsetForLeaderEpoch, Metadata: the order of a hash table.
    "topics": ("name", "topic", "topic_id"),
    # APIs of groups: the order of the coordinators' partitions, and of hashes of random ids.
    "groups": ("group_id",),
    "results": ("group_id", "user", "name", "topic_name", "log_dir"),
    "members": ("member_id", "group_instance_id"),
    "partitions": ("partition_index", "partition"),
    # `results` of DescribeConfigs are sorted by none of the fields above, so they stay in the order of the request.
    "config_resources": ("resource_type", "resource_name"),
    # CreatePartitions, AlterReplicaLogDirs, ElectLeaders, DescribeProducers: the order of a hash table.
    "replica_election_results": ("topic",),
    "active_producers": ("producer_id",),
    "observers": ("replica_id",),
    # APIs of transactions: the order of a hash table.
    "results_by_topic_v3_and_below": ("name",),
    "results_by_transaction": ("transactional_id",),
    "topic_results": ("name",),
    "results_by_partition": ("partition_index",),
    "transaction_states": ("transactional_id",),
    "markers": ("producer_id",),
    # DescribeAcls, DeleteAcls: the order of a hash table.
    "resources": ("resource_type", "resource_name", "pattern_type"),
    "acls": ("principal", "host", "operation", "permission_type"),
    "matching_acls": ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation"),
    # ConsumerGroupDescribe and ConsumerGroupHeartbeat: the order of hashes of random ids.
    "topic_partitions": ("topic_name", "topic_id"),
}

# Lists of plain values that are sorted.
SORTED_VALUES = frozenset({"partitions", "subscribed_topic_names"})

# Lists that are compared as maps, since one side may have more entries: the field that is the key.
KEYED_BY = {
    "api_keys": "api_key",
    "supported_features": "name",
    "finalized_features": "name",
    "configs": "name",
    "groups": "group_id",
}
