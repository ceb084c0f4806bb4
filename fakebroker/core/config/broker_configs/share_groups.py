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
        INT, 45_000, at_least(1), doc="a member of a share group that was silent for so long is out"
    )
    group_share_min_session_timeout_ms = Setting(INT, 45_000, at_least(1), doc="what a group may set at least")
    group_share_max_session_timeout_ms = Setting(INT, 60_000, at_least(1), doc="and at most")
    group_share_heartbeat_interval_ms = Setting(INT, 5000, at_least(1), doc="how often its members are told to call")
    group_share_min_heartbeat_interval_ms = Setting(INT, 5000, at_least(1), doc="what a group may set at least")
    group_share_max_heartbeat_interval_ms = Setting(INT, 15_000, at_least(1), doc="and at most")
    group_share_max_size = Setting(INT, 200, between(1, 1000), doc="members of a share group")
    group_share_assignors = Strings(LIST, ("simple",), some_of(), doc="the assignor of the broker")
    group_share_assignment_interval_ms = Setting(
        INT, 1000, at_least(0), mode=CLUSTER_WIDE, doc="the shortest time between two assignments"
    )
    group_share_min_assignment_interval_ms = Setting(INT, 0, at_least(0), doc="what a group may set at least")
    group_share_max_assignment_interval_ms = Setting(INT, 15_000, at_least(0), doc="and at most")
    group_share_assignor_offload_enable = Setting(
        BOOLEAN, True, mode=CLUSTER_WIDE, doc="assignments are computed in threads of their own"
    )
    group_share_initialize_retry_interval_ms = Setting(
        INT, 30_000, at_least(1), doc="how often the start of a partition's state is tried again"
    )
    group_share_delivery_count_limit = Setting(
        INT, 5, between(2, 10), doc="how often a record is delivered before it is given up"
    )
    group_share_max_delivery_count_limit = Setting(INT, 10, between(5, 25), doc="what a group may set at most")
    group_share_min_delivery_count_limit = Setting(INT, 2, between(2, 5), doc="and at least")
    group_share_record_lock_duration_ms = Setting(
        INT, 30_000, between(1000, 3_600_000), doc="how long a delivered record is locked"
    )
    group_share_min_record_lock_duration_ms = Setting(
        INT, 15_000, between(1000, 30_000), doc="what a group may set at least"
    )
    group_share_max_record_lock_duration_ms = Setting(INT, 60_000, between(30_000, 3_600_000), doc="and at most")
    group_share_partition_max_record_locks = Setting(
        INT, 2000, between(100, 10_000), doc="records of a partition that may be locked at once"
    )
    group_share_max_partition_max_record_locks = Setting(
        INT, 4000, between(2000, 10_000), doc="what a group may set at most"
    )
    group_share_min_partition_max_record_locks = Setting(INT, 100, between(100, 2000), doc="and at least")
    group_share_max_share_sessions = Setting(INT, 2000, at_least(1), doc="share sessions that a broker keeps")
    group_share_persister_class_name = Setting(
        STRING,
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        doc="the class that keeps the state of share groups",
    )
    group_share_dlq_manager_class_name = Setting(
        STRING,
        "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager",
        doc="the class that writes what was given up",
    )
    share_fetch_purgatory_purge_interval_requests = Setting(
        INT, 1000, doc="completed share fetches that may be left in the purgatory's lists"
    )
    errors_deadletterqueue_auto_create_topics_enable = Setting(
        BOOLEAN, False, mode=CLUSTER_WIDE, doc="make the topic for what was given up"
    )
    errors_deadletterqueue_topic_name_prefix = Setting(
        STRING, "dlq.", mode=CLUSTER_WIDE, doc="how the name of such a topic begins"
    )
    share_coordinator_state_topic_num_partitions = Setting(INT, 50, at_least(1), doc="of __share_group_state")
    share_coordinator_state_topic_replication_factor = Setting(SHORT, 3, at_least(1), doc="of __share_group_state")
    share_coordinator_state_topic_min_isr = Setting(SHORT, 2, at_least(1), doc="of __share_group_state")
    share_coordinator_state_topic_segment_bytes = Setting(INT, 104_857_600, at_least(1), doc="of __share_group_state")
    share_coordinator_state_topic_compression_codec = Setting(INT, 0, doc="number of the codec of __share_group_state")
    share_coordinator_state_topic_prune_interval_ms = Setting(
        INT, 300_000, at_least(1), doc="how often what is not needed is deleted from it"
    )
    share_coordinator_threads = Setting(INT, 1, at_least(1), doc="threads of the share coordinator")
    share_coordinator_snapshot_update_records_per_snapshot = Setting(
        INT, 500, between(0, 500), doc="updates between two snapshots of a state"
    )
    share_coordinator_cold_partition_snapshot_interval_ms = Setting(
        INT, 300_000, at_least(1), doc="how often the state of an idle partition is written anew"
    )
    share_coordinator_load_buffer_size = Setting(
        INT, 5_242_880, at_least(1), doc="what is read at once when states are loaded, in bytes"
    )
    share_coordinator_append_linger_ms = Setting(
        INT, -1, at_least(-1), doc="how long it gathers records before it writes; -1 lets it decide"
    )
    share_coordinator_write_timeout_ms = Setting(INT, 5000, at_least(1), doc="how long a write waits for the replicas")
    share_coordinator_cached_buffer_max_bytes = Setting(
        INT, 1_048_588, at_least(524_288), mode=CLUSTER_WIDE, doc="the largest buffer that it keeps"
    )
