"""Settings of brokers: leaders and followers.

Source   ReplicationConfigs.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.broker_configs.helpers import default_of
from fakebroker.core.config.config_def import BOOLEAN, INT, LONG, STRING, at_least, one_of
from fakebroker.core.config.setting import CLUSTER_WIDE, Setting, StrOrNone
from fakebroker.core.config.topic_config import TopicConfig


class ReplicationConfigs:
    """Leaders, in-sync replicas, and fetches of followers."""

    # Kafka has 1. Here 0 means the number of brokers, at most 3, since replication is the purpose of this broker
    # (docs/decisions.md).
    default_replication_factor = Setting(
        INT,
        0,
        at_least(0),
        by="core/controller/placement",
        doc="of a topic made without one; 0 gives min(3, brokers), Kafka's default is 1",
    )
    min_insync_replicas = default_of(TopicConfig.min_insync_replicas)
    unclean_leader_election_enable = default_of(TopicConfig.unclean_leader_election_enable)
    unclean_leader_election_interval_ms = Setting(
        LONG,
        300_000,
        at_least(1),
        by="cluster/housekeeping",
        doc="how often leaderless partitions are looked at whose topic now allows it",
    )
    auto_leader_rebalance_enable = Setting(
        BOOLEAN, True, by="cluster/housekeeping", doc="bring leaders back to the first replica"
    )
    leader_imbalance_check_interval_seconds = Setting(
        LONG, 300, at_least(1), by="cluster/housekeeping", doc="how often that is done"
    )
    replica_lag_time_max_ms = Setting(
        LONG,
        30_000,
        at_least(1),
        by="core/controller/partition_creation",
        doc="a follower that is behind for longer leaves the ISR",
    )
    replica_socket_timeout_ms = Setting(INT, 30_000, doc="how long a follower waits for an answer")
    replica_socket_receive_buffer_bytes = Setting(INT, 65_536, doc="SO_RCVBUF of followers, in bytes")
    replica_fetch_max_bytes = Setting(
        INT,
        1_048_576,
        at_least(0),
        by="core/quota/replication",
        doc="what a follower asks for of each partition; here of one that is throttled, or stands still",
    )
    replica_fetch_wait_max_ms = Setting(
        INT,
        500,
        by="core/quota/replication",
        doc="how long a follower's fetch waits; here of one that stands still or is throttled",
    )
    replica_fetch_backoff_ms = Setting(INT, 1000, at_least(0), doc="how long a follower pauses after an error")
    replica_fetch_min_bytes = Setting(
        INT,
        1,
        by="core/replication/standing_still/unread_answers",
        doc="what a follower's fetch waits for; here of one that stands still",
    )
    replica_fetch_response_max_bytes = Setting(
        INT,
        10_485_760,
        at_least(0),
        by="core/replication/standing_still/unread_answers",
        doc="what a follower asks for in all; here of one that stands still",
    )
    num_replica_fetchers = Setting(
        INT, 1, at_least(1), mode=CLUSTER_WIDE, doc="threads of a broker that fetch from one other broker"
    )
    replica_high_watermark_checkpoint_interval_ms = Setting(
        LONG,
        5000,
        by="cluster/arising/disks",
        doc="how often high watermarks are written to the disk; here how long a broker with a full disk lives",
    )
    replica_selector_class = StrOrNone(
        STRING,
        None,
        by="core/replication/preferred_replica",
        doc="RackAwareReplicaSelector sends consumers to the replica in their rack; others have no effect",
    )
    follower_fetch_last_tiered_offset_enable = Setting(
        BOOLEAN, False, mode=CLUSTER_WIDE, doc="a new follower begins where tiered storage ends"
    )
    fetch_max_bytes = Setting(
        INT, 57_671_680, at_least(1024), by="core/replication/replica_manager", doc="what one Fetch is answered at most"
    )
    fetch_purgatory_purge_interval_requests = Setting(
        INT,
        1000,
        at_least(0),
        by="core/replication/wakeups",
        doc="completed fetches that may be left in the purgatory's lists",
    )
    producer_purgatory_purge_interval_requests = Setting(
        INT,
        1000,
        at_least(0),
        by="core/replication/wakeups",
        doc="completed produce requests that may be left there",
    )
    delete_records_purgatory_purge_interval_requests = Setting(
        INT, 1, by="core/replication/wakeups", doc="completed DeleteRecords that may be left there"
    )
    controller_socket_timeout_ms = Setting(INT, 30_000, doc="how long a broker waits for the controller's answer")
    controlled_shutdown_enable = Setting(BOOLEAN, True, doc="a broker that stops hands over what it leads first")
    inter_broker_listener_name = StrOrNone(STRING, None, doc="the listener through which brokers talk to each other")
    security_inter_broker_protocol = Setting(
        STRING,
        "PLAINTEXT",
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        doc="the security protocol for that, if no listener is named",
    )
