"""The settings of a broker that can only be set while it runs: how fast replicas may catch up.

They are in no file of settings, and nobody is told of them unless they are set.

Source   server-common/.../config/QuotaConfigs.java brokerQuotaConfigs; core/.../server/DynamicConfig.scala @ 4.0.
Units    bytes per second.
Differs  replica.alter.log.dirs.io.max.bytes.per.second is checked, kept and told, without effect.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import LONG, at_least
from fakebroker.core.config.setting import CLUSTER_WIDE, Config, Setting

NO_BOUND = 2**63 - 1


class BrokerQuotaConfig(Config):
    """What was set of them; a broker's own counts before what all brokers were set."""

    leader_replication_throttled_rate = Setting(
        LONG,
        NO_BOUND,
        at_least(0),
        by="core/quota/replication",
        mode=CLUSTER_WIDE,
        doc="what a broker gives followers of throttled partitions that it leads",
    )
    follower_replication_throttled_rate = Setting(
        LONG,
        NO_BOUND,
        at_least(0),
        by="core/quota/replication",
        mode=CLUSTER_WIDE,
        doc="what a broker takes of throttled partitions that it follows",
    )
    replica_alter_log_dirs_io_max_bytes_per_second = Setting(
        LONG, NO_BOUND, at_least(0), mode=CLUSTER_WIDE, doc="how fast replicas move between folders"
    )
