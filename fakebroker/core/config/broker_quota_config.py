"""The settings of a broker that can only be set at run time: the rates at which replicas may catch up.

They are in no properties file, and are reported only if they are set.

Source   server-common/.../config/QuotaConfigs.java brokerQuotaConfigs; core/.../server/DynamicConfig.scala @ 4.0.
Units    bytes per second.
Differs  replica.alter.log.dirs.io.max.bytes.per.second is checked, kept and reported, without effect.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import LONG, at_least
from fakebroker.core.config.setting import CLUSTER_WIDE, Config, Setting

NO_BOUND = 2**63 - 1


class BrokerQuotaConfig(Config):
    """The values of these settings; a broker's own hide those set for all brokers."""

    leader_replication_throttled_rate = Setting(
        LONG,
        NO_BOUND,
        at_least(0),
        by="core/quota/replication",
        mode=CLUSTER_WIDE,
        doc="bytes a second that a broker sends for throttled partitions that it leads",
    )
    follower_replication_throttled_rate = Setting(
        LONG,
        NO_BOUND,
        at_least(0),
        by="core/quota/replication",
        mode=CLUSTER_WIDE,
        doc="bytes a second that a broker fetches for throttled partitions that it follows",
    )
    replica_alter_log_dirs_io_max_bytes_per_second = Setting(
        LONG, NO_BOUND, at_least(0), mode=CLUSTER_WIDE, doc="bytes a second of moves between folders"
    )
