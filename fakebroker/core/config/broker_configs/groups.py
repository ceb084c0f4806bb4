"""Settings of brokers: groups and their offsets.

Source   GroupCoordinatorConfig.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import (
    BOOLEAN,
    CLASS,
    INT,
    LIST,
    LONG,
    SHORT,
    STRING,
    at_least,
    one_of_ignoring_case,
    some_of,
)
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting, Strings, StrOrNone

_MAX_INT = 2**31 - 1


class GroupConfigs:
    """Classic, consumer and streams groups, and the offsets they commit."""

    group_coordinator_rebalance_protocols = Strings(
        LIST,
        ("classic", "consumer", "streams"),
        some_of("consumer", "classic", "share", "streams"),
        by="apis/groups/consumer_group_heartbeat",
        doc="kinds of groups that are served",
    )
    group_coordinator_threads = Setting(INT, 4, at_least(1), doc="threads of the group coordinator")
    group_coordinator_background_threads = Setting(
        INT, 2, at_least(1), doc="threads that compute the group coordinator's assignments"
    )
    group_coordinator_append_linger_ms = Setting(
        INT,
        -1,
        at_least(-1),
        by="core/groups/coordinator",
        doc="time for which the group coordinator collects records; -1 adapts it",
    )
    group_coordinator_cached_buffer_max_bytes = Setting(
        INT, 1_048_588, at_least(524_288), mode=CLUSTER_WIDE, doc="largest buffer that the group coordinator keeps"
    )
    offsets_commit_timeout_ms = Setting(
        INT,
        5000,
        at_least(1),
        by="core/groups/coordinator",
        doc="time for which an offset commit waits for the replicas",
    )
    offsets_load_buffer_size = Setting(
        INT, 5_242_880, at_least(1), doc="bytes of a read when committed offsets are loaded"
    )
    # Kafka has 3, so with fewer brokers the topic is never created. Here 0 means the number of brokers, at most 3
    # (docs/decisions.md).
    offsets_topic_replication_factor = Setting(
        SHORT,
        0,
        at_least(0),
        by="core/controller/auto_creation",
        doc="replicas of __consumer_offsets; 0 is min(3, brokers), Kafka's default is 3",
    )
    offsets_topic_num_partitions = Setting(
        INT, 50, at_least(1), by="core/groups/coordinator", doc="partitions of __consumer_offsets"
    )
    offsets_topic_segment_bytes = Setting(
        INT, 104_857_600, at_least(1), by="core/controller/auto_creation", doc="segment size of __consumer_offsets"
    )
    offsets_topic_compression_codec = Setting(
        INT, 0, by="core/groups/coordinator", doc="number of the codec of __consumer_offsets"
    )
    offset_metadata_max_bytes = Setting(
        INT, 4096, by="core/groups/offsets/offsets", doc="largest text that a client may store with an offset"
    )
    offsets_retention_minutes = Setting(
        INT,
        10_080,
        at_least(1),
        by="core/groups/offsets/expiry",
        doc="time after which offsets of a group without members expire",
    )
    offsets_retention_check_interval_ms = Setting(
        LONG, 600_000, at_least(1), by="core/groups/offsets/expiry", doc="interval of the check for expired offsets"
    )
    group_min_session_timeout_ms = Setting(
        INT, 6000, by="core/groups/classic/service", doc="shortest session timeout of a member of a classic group"
    )
    group_max_session_timeout_ms = Setting(
        INT, 1_800_000, by="core/groups/classic/service", doc="longest session timeout of a member of a classic group"
    )
    group_initial_rebalance_delay_ms = Setting(
        INT, 3000, by="core/groups/classic/tools", doc="time for which an empty classic group waits for more members"
    )
    group_max_size = Setting(
        INT, _MAX_INT, at_least(1), by="core/groups/classic/tools", doc="most members of a classic group"
    )
    group_consumer_session_timeout_ms = Setting(
        INT,
        45_000,
        at_least(1),
        by="core/groups/consumer/tools",
        doc="time without a heartbeat after which a member of a consumer group is removed",
    )
    group_consumer_min_session_timeout_ms = Setting(
        INT, 45_000, at_least(1), doc="smallest session timeout that a consumer group may set"
    )
    group_consumer_max_session_timeout_ms = Setting(
        INT, 60_000, at_least(1), doc="largest session timeout that a consumer group may set"
    )
    group_consumer_heartbeat_interval_ms = Setting(
        INT, 5000, at_least(1), by="core/groups/consumer/tools", doc="heartbeat interval of members of a consumer group"
    )
    group_consumer_min_heartbeat_interval_ms = Setting(
        INT, 5000, at_least(1), doc="smallest heartbeat interval that a consumer group may set"
    )
    group_consumer_max_heartbeat_interval_ms = Setting(
        INT, 15_000, at_least(1), doc="largest heartbeat interval that a consumer group may set"
    )
    group_consumer_max_size = Setting(
        INT, _MAX_INT, at_least(1), by="core/groups/consumer/tools", doc="most members of a consumer group"
    )
    group_consumer_assignors = Strings(
        LIST,
        ("uniform", "range"),
        some_of(),
        by="core/groups/consumer/tools",
        doc="server-side assignors, the default one first",
    )
    group_consumer_migration_policy = Setting(
        STRING,
        "bidirectional",
        one_of_ignoring_case("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
        by="core/groups/consumer/tools",
        doc="whether groups may change between the classic and the consumer protocol",
    )
    group_consumer_assignment_interval_ms = Setting(
        INT,
        1000,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="core/groups/consumer/tools",
        doc="shortest time between two assignments of a consumer group",
    )
    group_consumer_min_assignment_interval_ms = Setting(
        INT, 0, at_least(0), doc="smallest assignment interval that a consumer group may set"
    )
    group_consumer_max_assignment_interval_ms = Setting(
        INT, 15_000, at_least(0), doc="largest assignment interval that a consumer group may set"
    )
    group_consumer_assignor_offload_enable = Setting(
        BOOLEAN, True, mode=CLUSTER_WIDE, doc="whether background threads compute assignments of consumer groups"
    )
    group_consumer_regex_refresh_interval_ms = Setting(
        INT,
        600_000,
        at_least(10_000),
        by="core/groups/consumer/tools",
        doc="interval at which subscriptions by pattern are resolved again",
    )
    group_streams_session_timeout_ms = Setting(
        INT, 45_000, at_least(1), doc="time without a heartbeat after which a member of a streams group is removed"
    )
    group_streams_min_session_timeout_ms = Setting(
        INT, 45_000, at_least(1), doc="smallest session timeout that a streams group may set"
    )
    group_streams_max_session_timeout_ms = Setting(
        INT, 60_000, at_least(1), doc="largest session timeout that a streams group may set"
    )
    group_streams_heartbeat_interval_ms = Setting(
        INT, 5000, at_least(1), doc="heartbeat interval of members of a streams group"
    )
    group_streams_min_heartbeat_interval_ms = Setting(
        INT, 5000, at_least(1), doc="smallest heartbeat interval that a streams group may set"
    )
    group_streams_max_heartbeat_interval_ms = Setting(
        INT, 15_000, at_least(1), doc="largest heartbeat interval that a streams group may set"
    )
    group_streams_max_size = Setting(INT, _MAX_INT, at_least(1), doc="most members of a streams group")
    group_streams_num_standby_replicas = Setting(INT, 0, at_least(0), doc="standby replicas of each task")
    group_streams_max_standby_replicas = Setting(
        INT, 2, at_least(0), doc="most standby replicas that a streams group may set"
    )
    group_streams_initial_rebalance_delay_ms = Setting(
        INT, 3000, at_least(0), doc="time for which an empty streams group waits for more members"
    )
    group_streams_assignment_interval_ms = Setting(
        INT, 1000, at_least(0), mode=CLUSTER_WIDE, doc="shortest time between two assignments of a streams group"
    )
    group_streams_min_assignment_interval_ms = Setting(
        INT, 0, at_least(0), doc="smallest assignment interval that a streams group may set"
    )
    group_streams_max_assignment_interval_ms = Setting(
        INT, 15_000, at_least(0), doc="largest assignment interval that a streams group may set"
    )
    group_streams_assignors = Strings(
        LIST, ("sticky",), some_of(), doc="task assignors of the broker, the default one first"
    )
    group_streams_assignor_offload_enable = Setting(
        BOOLEAN, True, mode=CLUSTER_WIDE, doc="whether background threads compute assignments of streams groups"
    )
    group_streams_task_offset_interval_ms = Setting(
        INT, 60_000, at_least(1), doc="interval at which members report the offsets of their tasks"
    )
    group_streams_min_task_offset_interval_ms = Setting(
        INT, 15_000, at_least(1), doc="smallest task offset interval that a streams group may set"
    )
    group_streams_num_warmup_replicas = Setting(INT, 2, at_least(0), doc="warm-up replicas of a group at the same time")
    group_streams_max_warmup_replicas = Setting(
        INT, 20, at_least(0), doc="most warm-up replicas that a streams group may set"
    )
    group_streams_rack_aware_assignment_tags = Strings(
        LIST, (), some_of(may_be_empty=True), doc="client tags by which standby replicas are distributed"
    )
    group_streams_topology_description_plugin_class = StrOrNone(
        CLASS, None, doc="class of the plugin that stores descriptions of topologies"
    )
    group_streams_acceptable_recovery_lag = Setting(
        LONG, 10_000, at_least(0), doc="most missing records of a replica that counts as caught up"
    )
