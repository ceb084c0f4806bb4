"""Partitions in the user's hand: who leads them, where their replicas are, and what their logs keep."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from fakebroker.core.arguments import STRING, WHOLE_NUMBER, require
from fakebroker.server.driver import Driver


class PartitionsInHand:
    """What `AsyncFakeCluster` lets its user do to partitions. All raise KafkaError."""

    @property
    @abstractmethod
    def _at_home(self) -> Driver:
        """Who drives the cluster, where it runs."""

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        """Let an in-sync replica lead; nothing happens if it does. Who waits at the old leader is answered
        NOT_LEADER_OR_FOLLOWER. Raises KafkaError for a broker that is stopped, not in sync, or has no replica.

        As in Kafka the first replica leads again 300 s later at most, unless `auto.leader.rebalance.enable` is false.
        """
        require(STRING, topic=topic)
        require(WHOLE_NUMBER, partition=partition, broker=broker)
        driver = self._at_home
        driver.cluster.move_leader(topic, partition, broker, driver.clock.stamp())
        driver.settle()

    def reassign(self, topic: str, partition: int, brokers: Sequence[int] | None) -> None:
        """Give a partition replicas on these brokers, the preferred leader first, as AlterPartitionReassignments does:
        new ones copy the log in their followers' behaviour, and the others go once they are in sync. None takes back
        what is under way."""
        require(STRING, topic=topic)
        require(WHOLE_NUMBER, partition=partition)
        for broker in brokers or ():
            require(WHOLE_NUMBER, broker=broker)
        driver = self._at_home
        driver.cluster.reassign(topic, partition, brokers, driver.clock.stamp())
        driver.settle()

    def compact(self, topic: str) -> int:
        """Compact a topic with `cleanup.policy=compact` now, as if its active segments had just been closed and were
        dirty enough. What is not committed, or younger than `min.compaction.lag.ms`, stays, and so do marks of deleted
        keys for `delete.retention.ms`. Returns how many partitions were cleaned."""
        require(STRING, topic=topic)
        driver = self._at_home
        cleaned = driver.cluster.compact(topic, driver.clock.stamp())
        driver.settle()
        return cleaned
