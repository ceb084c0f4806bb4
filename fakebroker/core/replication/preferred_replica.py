"""The replica that a consumer should read from: one in its own rack (KIP-392).

Theory   A consumer sends its rack to the leader. Among the in-sync replicas that have the offset, the leader considers
         those of that rack. If the leader is one of them, or there is none, the consumer stays. Otherwise it is sent to
         the replica with the highest log end, then the latest caught-up time, then the highest id.
Source   clients/.../common/replica/{RackAwareReplicaSelector,ReplicaView}.java; core/.../server/ReplicaManager.scala
         findPreferredReadReplica @ 4.4.
Differs  Kafka's own selector is the only one: a custom selector class is not loaded, and has no effect.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.replication.fetch import FetchParams
from fakebroker.core.replication.partition import Partition

_SELECTORS: Final = frozenset(
    {"org.apache.kafka.common.replica.RackAwareReplicaSelector", "RackAwareReplicaSelector"},
)


def is_rack_aware(config: BrokerConfig) -> bool:
    """Return True if consumers are sent to replicas in their rack."""
    return config.replica_selector_class in _SELECTORS


def find_preferred_read_replica(partition: Partition, broker_id: int, params: FetchParams, fetch_offset: int) -> int:
    """Return the broker that the reader should use instead of this one; -1 if none."""
    if params.is_from_follower or not params.rack_id or partition.leader_id != broker_id:
        return -1
    rack_id = params.rack_id
    if partition.leader.broker.rack == rack_id:
        return -1
    preferred_id = -1
    furthest = (-1, 0, -1)
    for replica in partition.followers:
        if (
            replica.is_in_sync
            and replica.broker.is_alive
            and replica.broker.rack == rack_id
            and replica.log_end_offset >= fetch_offset >= replica.log.log_start_offset
        ):
            place = (replica.log_end_offset, replica.last_caught_up_time_ms, replica.broker_id)
            if preferred_id < 0 or place > furthest:
                preferred_id, furthest = replica.broker_id, place
    return preferred_id
