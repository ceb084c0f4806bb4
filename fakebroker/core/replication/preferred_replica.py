"""Which replica a consumer had better read from: one in its own rack (KIP-392).

Theory   The leader answers a consumer that says in which rack it is. Among the in-sync replicas that have the offset it
         takes those of that rack; if it is one of them itself, or nobody is there, the consumer stays. Else it is sent
         to the one that is furthest, by log end, then by when it was last caught up, then by its id.
Source   clients/.../common/replica/{RackAwareReplicaSelector,ReplicaView}.java; core/.../server/ReplicaManager.scala
         findPreferredReadReplica @ 4.4.
Differs  Kafka's own selector is the only one: a class of somebody else's is not loaded, and has no effect.
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
    """Whether consumers are sent to replicas in their rack."""
    return config.replica_selector_class in _SELECTORS


def find_preferred_read_replica(partition: Partition, broker_id: int, params: FetchParams, fetch_offset: int) -> int:
    """The broker that the reader had better ask instead of this one; -1 if none."""
    if params.is_from_follower or not params.rack_id or partition.leader_id != broker_id:
        return -1
    rack_id = params.rack_id
    if partition.leader.broker.rack == rack_id:
        return -1
    found = -1
    furthest = (-1, 0, -1)
    for replica in partition.followers:
        if (
            replica.is_in_sync
            and replica.broker.is_alive
            and replica.broker.rack == rack_id
            and replica.log_end_offset >= fetch_offset >= replica.log.log_start_offset
        ):
            place = (replica.log_end_offset, replica.last_caught_up_time_ms, replica.broker_id)
            if found < 0 or place > furthest:
                found, furthest = replica.broker_id, place
    return found
