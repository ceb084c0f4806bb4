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
        doc="replicas of auto-created topics; 0 is min(3, brokers), Kafka's default is 1",
    )
    min_insync_replicas = default_of(TopicConfig.min_insync_replicas)
    unclean_leader_election_enable = default_of(TopicConfig.unclean_leader_election_enable)
    unclean_leader_election_interval_ms = Setting(
        LONG,
        300_000,
        at_least(1),
        by="cluster/housekeeping",
        doc="interval of the check for unclean elections that became allowed",
    )
    auto_leader_rebalance_enable = Setting(
        BOOLEAN, True, by="cluster/housekeeping", doc="whether leadership moves back to the preferred replica"
    )
    leader_imbalance_check_interval_seconds = Setting(
        LONG, 300, at_least(1), by="cluster/housekeeping", doc="interval at which leadership moves back"
    )
    replica_lag_time_max_ms = Setting(
        LONG,
        30_000,
        at_least(1),
        by="core/controller/partition_creation",
        doc="time behind the leader after which a follower leaves the ISR",
    )
    replica_socket_timeout_ms = Setting(INT, 30_000, doc="time for which a follower waits for a response")
    replica_socket_receive_buffer_bytes = Setting(INT, 65_536, doc="SO_RCVBUF of followers, in bytes")
    replica_fetch_max_bytes = Setting(
        INT,
        1_048_576,
        at_least(0),
        by="core/quota/replication",
        doc="bytes that a follower requests of a partition; here of a throttled or paused one",
    )
    replica_fetch_wait_max_ms = Setting(
        INT,
        500,
        by="core/quota/replication",
        doc="time for which a follower's fetch is parked; here of a throttled or paused one",
    )
    replica_fetch_backoff_ms = Setting(INT, 1000, at_least(0), doc="pause of a follower after an error")
    replica_fetch_min_bytes = Setting(
        INT,
        1,
        by="core/replication/standing_still/unread_answers",
        doc="bytes for which a follower's fetch waits; here of a paused one",
    )
    replica_fetch_response_max_bytes = Setting(
        INT,
        10_485_760,
        at_least(0),
        by="core/replication/standing_still/unread_answers",
        doc="bytes that a follower requests in all; here of a paused one",
    )
    num_replica_fetchers = Setting(
        INT, 1, at_least(1), mode=CLUSTER_WIDE, doc="threads that fetch from each other broker"
    )
    replica_high_watermark_checkpoint_interval_ms = Setting(
        LONG,
        5000,
        by="cluster/arising/disks",
        doc="interval of writing high watermarks; here a broker with a full disk lives as long",
    )
    replica_selector_class = StrOrNone(
        STRING,
        None,
        by="core/replication/preferred_replica",
        doc="RackAwareReplicaSelector: consumers read from the replica in their rack",
    )
    follower_fetch_last_tiered_offset_enable = Setting(
        BOOLEAN, False, mode=CLUSTER_WIDE, doc="whether a new follower starts at the end of tiered storage"
    )
    fetch_max_bytes = Setting(
        INT, 57_671_680, at_least(1024), by="core/replication/replica_manager", doc="most bytes of a Fetch response"
    )
    fetch_purgatory_purge_interval_requests = Setting(
        INT,
        1000,
        at_least(0),
        by="core/replication/wakeups",
        doc="completed fetches that may stay in the purgatory's lists",
    )
    producer_purgatory_purge_interval_requests = Setting(
        INT,
        1000,
        at_least(0),
        by="core/replication/wakeups",
        doc="completed produce requests that may stay in the purgatory's lists",
    )
    delete_records_purgatory_purge_interval_requests = Setting(
        INT, 1, by="core/replication/wakeups", doc="completed DeleteRecords that may stay in the purgatory's lists"
    )
    controller_socket_timeout_ms = Setting(
        INT, 30_000, doc="time for which a broker waits for the controller's response"
    )
    controlled_shutdown_enable = Setting(
        BOOLEAN, True, doc="whether a stopping broker hands over its leaderships first"
    )
    inter_broker_listener_name = StrOrNone(
        STRING, None, by="server/made/addresses", doc="listener of connections between brokers"
    )
    security_inter_broker_protocol = Setting(
        STRING,
        "PLAINTEXT",
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        doc="security protocol between brokers, without inter.broker.listener.name",
    )
