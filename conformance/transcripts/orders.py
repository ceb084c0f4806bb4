"""Lists whose order means nothing: Kafka has them in that of a hash table, or of partitions."""

from __future__ import annotations

# By the name of the field: what they are sorted by.
SORTED_BY = {
    "brokers": ("node_id",),
    "responses": ("name", "topic", "topic_id"),
    "partition_responses": ("index",),
    # Of ListOffsets, OffsetForLeaderEpoch and Metadata: also in the order of a hash table.
    "topics": ("name", "topic", "topic_id"),
    # Of groups: by the coordinators' partitions, and by the hash of a random id.
    "groups": ("group_id",),
    "results": ("group_id", "user", "name", "topic_name", "log_dir"),
    "members": ("member_id", "group_instance_id"),
    "partitions": ("partition_index", "partition"),
    # Of DescribeConfigs `results` stay in the order of the request.
    "config_resources": ("resource_type", "resource_name"),
    # Of CreatePartitions, AlterReplicaLogDirs, ElectLeaders and DescribeProducers: the same.
    "replica_election_results": ("topic",),
    "active_producers": ("producer_id",),
    "observers": ("replica_id",),
    # Of transactions: the same.
    "results_by_topic_v3_and_below": ("name",),
    "results_by_transaction": ("transactional_id",),
    "topic_results": ("name",),
    "results_by_partition": ("partition_index",),
    "transaction_states": ("transactional_id",),
    "markers": ("producer_id",),
    # Of consumer groups: by the hash of a random id.
    "topic_partitions": ("topic_name", "topic_id"),
}

# Such lists of plain values.
SORTED_VALUES = frozenset({"partitions", "subscribed_topic_names"})

# Such lists that are compared as maps, because one side may have more: what is the key.
KEYED_BY = {
    "api_keys": "api_key",
    "supported_features": "name",
    "finalized_features": "name",
    "configs": "name",
    "groups": "group_id",
}
