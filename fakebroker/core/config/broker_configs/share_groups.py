"""Settings of brokers: share groups.

Source   ShareGroupConfig.java, ShareCoordinatorConfig.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import BOOLEAN, INT, LIST, SHORT, STRING, at_least, between, some_of
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting, Strings


class ShareGroupConfigs:
    """Share groups, and the coordinator that keeps their state."""

    group_share_session_timeout_ms = Setting(
        INT, 45_000, at_least(1), doc="time without a heartbeat after which a member of a share group is removed"
    )
    group_share_min_session_timeout_ms = Setting(
        INT, 45_000, at_least(1), doc="smallest session timeout that a share group may set"
    )
    group_share_max_session_timeout_ms = Setting(
        INT, 60_000, at_least(1), doc="largest session timeout that a share group may set"
    )
    group_share_heartbeat_interval_ms = Setting(
        INT, 5000, at_least(1), doc="heartbeat interval of members of a share group"
    )
    group_share_min_heartbeat_interval_ms = Setting(
        INT, 5000, at_least(1), doc="smallest heartbeat interval that a share group may set"
    )
    group_share_max_heartbeat_interval_ms = Setting(
        INT, 15_000, at_least(1), doc="largest heartbeat interval that a share group may set"
    )
    group_share_max_size = Setting(INT, 200, between(1, 1000), doc="most members of a share group")
    group_share_assignors = Strings(LIST, ("simple",), some_of(), doc="assignor of share groups")
    group_share_assignment_interval_ms = Setting(
        INT, 1000, at_least(0), mode=CLUSTER_WIDE, doc="shortest time between two assignments of a share group"
    )
    group_share_min_assignment_interval_ms = Setting(
        INT, 0, at_least(0), doc="smallest assignment interval that a share group may set"
    )
    group_share_max_assignment_interval_ms = Setting(
        INT, 15_000, at_least(0), doc="largest assignment interval that a share group may set"
    )
    group_share_assignor_offload_enable = Setting(
        BOOLEAN, True, mode=CLUSTER_WIDE, doc="whether background threads compute assignments of share groups"
    )
    group_share_initialize_retry_interval_ms = Setting(
        INT, 30_000, at_least(1), doc="interval at which the initialization of a partition's state is retried"
    )
    group_share_delivery_count_limit = Setting(
        INT, 5, between(2, 10), doc="deliveries of a record until it is given up"
    )
    group_share_max_delivery_count_limit = Setting(
        INT, 10, between(5, 25), doc="largest delivery limit that a share group may set"
    )
    group_share_min_delivery_count_limit = Setting(
        INT, 2, between(2, 5), doc="smallest delivery limit that a share group may set"
    )
    group_share_record_lock_duration_ms = Setting(
        INT, 30_000, between(1000, 3_600_000), doc="time for which a delivered record is locked"
    )
    group_share_min_record_lock_duration_ms = Setting(
        INT, 15_000, between(1000, 30_000), doc="smallest lock duration that a share group may set"
    )
    group_share_max_record_lock_duration_ms = Setting(
        INT, 60_000, between(30_000, 3_600_000), doc="largest lock duration that a share group may set"
    )
    group_share_partition_max_record_locks = Setting(
        INT, 2000, between(100, 10_000), doc="most records of a partition that are locked at the same time"
    )
    group_share_max_partition_max_record_locks = Setting(
        INT, 4000, between(2000, 10_000), doc="largest number of locked records that a share group may set"
    )
    group_share_min_partition_max_record_locks = Setting(
        INT, 100, between(100, 2000), doc="smallest number of locked records that a share group may set"
    )
    group_share_max_share_sessions = Setting(INT, 2000, at_least(1), doc="most share sessions that a broker keeps")
    group_share_persister_class_name = Setting(
        STRING,
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        doc="class that stores the state of share groups",
    )
    group_share_dlq_manager_class_name = Setting(
        STRING,
        "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager",
        doc="class that writes records that were given up",
    )
    share_fetch_purgatory_purge_interval_requests = Setting(
        INT, 1000, doc="completed share fetches that may stay in the purgatory's lists"
    )
    errors_deadletterqueue_auto_create_topics_enable = Setting(
        BOOLEAN, False, mode=CLUSTER_WIDE, doc="whether the topic for records that were given up is created"
    )
    errors_deadletterqueue_topic_name_prefix = Setting(
        STRING, "dlq.", mode=CLUSTER_WIDE, doc="prefix of the names of dead letter topics"
    )
    share_coordinator_state_topic_num_partitions = Setting(
        INT, 50, at_least(1), doc="partitions of __share_group_state"
    )
    share_coordinator_state_topic_replication_factor = Setting(
        SHORT, 3, at_least(1), doc="replicas of __share_group_state"
    )
    share_coordinator_state_topic_min_isr = Setting(
        SHORT, 2, at_least(1), doc="min.insync.replicas of __share_group_state"
    )
    share_coordinator_state_topic_segment_bytes = Setting(
        INT, 104_857_600, at_least(1), doc="segment size of __share_group_state"
    )
    share_coordinator_state_topic_compression_codec = Setting(INT, 0, doc="number of the codec of __share_group_state")
    share_coordinator_state_topic_prune_interval_ms = Setting(
        INT, 300_000, at_least(1), doc="interval at which old records of __share_group_state are deleted"
    )
    share_coordinator_threads = Setting(INT, 1, at_least(1), doc="threads of the share coordinator")
    share_coordinator_snapshot_update_records_per_snapshot = Setting(
        INT, 500, between(0, 500), doc="updates between two snapshots of a state"
    )
    share_coordinator_cold_partition_snapshot_interval_ms = Setting(
        INT, 300_000, at_least(1), doc="interval at which the state of an idle partition is written again"
    )
    share_coordinator_load_buffer_size = Setting(
        INT, 5_242_880, at_least(1), doc="bytes of a read when states are loaded"
    )
    share_coordinator_append_linger_ms = Setting(
        INT, -1, at_least(-1), doc="time for which the share coordinator collects records; -1 adapts it"
    )
    share_coordinator_write_timeout_ms = Setting(
        INT, 5000, at_least(1), doc="time for which a write of the share coordinator waits for the replicas"
    )
    share_coordinator_cached_buffer_max_bytes = Setting(
        INT, 1_048_588, at_least(524_288), mode=CLUSTER_WIDE, doc="largest buffer that the share coordinator keeps"
    )
