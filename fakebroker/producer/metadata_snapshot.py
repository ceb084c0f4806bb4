"""A snapshot of the cluster as a producer knows it: the partitions and their leaders.

Theory   A snapshot does not change; new metadata make a new one. The order of the partitions is that of the metadata.
         It matters because the partitions of a node are drained in this order, round-robin.
Source   clients/.../clients/MetadataSnapshot.java, clients/.../common/Cluster.java of 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from fakebroker.protocol.topic_partition import TopicPartition, shared

NO_LEADER: Final = -1
NO_EPOCH: Final = -1
_SHARED: Final = 4_096
_NOBODY: Final[dict[int, int]] = {}


class PartitionInfo(NamedTuple):
    """A partition, its leader (NO_LEADER if it has none), and the leader epoch (NO_EPOCH if unknown)."""

    partition: TopicPartition
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH


@lru_cache(maxsize=_SHARED)
def shared_info(topic: str, partition: int, leader: int, leader_epoch: int) -> PartitionInfo:
    """Return a cached object: all producers receive the same metadata."""
    return PartitionInfo(shared(topic, partition), leader, leader_epoch)


class Node(NamedTuple):
    """A broker, or a bootstrap address, which has a negative id."""

    node_id: int
    host: str
    port: int


class MetadataSnapshot:
    """The partitions by topic and by node, in their order. `nodes` are the known brokers; a leader that is not among
    them counts as NO_LEADER. `topic_errors` are the error codes of the topics that cannot be used."""

    def __init__(
        self,
        partitions: Iterable[PartitionInfo] = (),
        nodes: Iterable[Node] | None = None,
        topic_errors: Mapping[str, int] | None = None,
    ) -> None:
        self._told = {info.partition: info for info in partitions}
        self.nodes = tuple(nodes or ())
        self.topic_errors = dict(topic_errors or {})
        self._nodes_by_id = {node.node_id: node for node in self.nodes}
        self._infos: dict[TopicPartition, PartitionInfo] = {}
        self._of_topic: dict[str, list[PartitionInfo]] = {}
        self._of_node: dict[int, list[PartitionInfo]] = {}
        self._leaders: dict[str, dict[int, int]] = {}
        for reported in self._told.values():
            is_known = nodes is None or reported.leader in self._nodes_by_id
            info = reported if is_known else reported._replace(leader=NO_LEADER)
            self._infos[info.partition] = info
            self._of_topic.setdefault(info.partition.topic, []).append(info)
            self._leaders.setdefault(info.partition.topic, {})[info.partition.partition] = info.leader
            if info.leader != NO_LEADER:
                self._of_node.setdefault(info.leader, []).append(info)

    def node_by_id(self, node_id: int) -> Node | None:
        return self._nodes_by_id.get(node_id)

    def told(self, partition: TopicPartition) -> PartitionInfo | None:
        """Return the partition with its leader as received, even if that broker is not in `nodes`."""
        return self._told.get(partition)

    def all_told(self) -> list[PartitionInfo]:
        return list(self._told.values())

    def leader_for(self, partition: TopicPartition) -> int:
        """Return the leader's id, or NO_LEADER."""
        info = self._infos.get(partition)
        return NO_LEADER if info is None else info.leader

    def leaders_of(self, topic: str) -> dict[int, int]:
        """Return the leaders of a topic by partition index. The caller must not change the result."""
        return self._leaders.get(topic, _NOBODY)

    def leader_epoch_for(self, partition: TopicPartition) -> int:
        """Return the leader epoch, NO_EPOCH if it is unknown."""
        info = self._infos.get(partition)
        return NO_EPOCH if info is None else info.leader_epoch

    def partitions_for_node(self, node: int) -> list[PartitionInfo]:
        """Return the partitions that this node leads."""
        return self._of_node.get(node, [])

    def partitions_for_topic(self, topic: str) -> list[PartitionInfo]:
        return self._of_topic.get(topic, [])

    def available_partitions_for_topic(self, topic: str) -> list[PartitionInfo]:
        """Return the partitions that have a leader."""
        return [info for info in self.partitions_for_topic(topic) if info.leader != NO_LEADER]
