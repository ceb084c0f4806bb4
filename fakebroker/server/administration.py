"""What a user does to the topics and settings of a cluster that runs: the methods of `AsyncFakeCluster` for that.

Each stamps the time, enters the door of the cluster that is meant for it, and has performed what follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakebroker.core.arguments import MAPPING, STRING, WHOLE_NUMBER, require
from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.slices import Slices, finish
from fakebroker.server.driver import Driver
from fakebroker.server.made.arguments import read_assignments
from fakebroker.server.settings import texts


class Administration:
    """Extended by who has the driver."""

    @property
    def _at_home(self) -> Driver:
        """Raises RuntimeError if it is asked from elsewhere, or nothing runs."""
        raise NotImplementedError

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str | int | bool] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """Make a topic. -1 takes the broker's default (1 partition; as many replicas as brokers, at most 3).

        `assignments` has the brokers of each partition, the preferred leader first, as in [[3, 1], [1, 2]]; it says
        how many partitions and replicas there are, so nothing else does.
        Raises KafkaError with the code that CreateTopics would answer.
        """
        require(STRING, name=name)
        require(WHOLE_NUMBER, partitions=partitions, replication_factor=replication_factor)
        new = NewTopic(name, partitions, replication_factor, read_assignments(assignments), texts(configs))
        driver = self._at_home
        driver.cluster.create_topic(new, driver.clock.stamp())

    def alter_topic_configs(self, name: str, configs: Mapping[str, str | int | bool | None]) -> None:
        """Set some settings of a topic, or take them back with None; the others stay. They count from the next request
        on; who waits is not woken, as in Kafka. Raises KafkaError, and nothing is changed."""
        require(STRING, name=name)
        require(MAPPING, configs=configs)
        driver = self._at_home
        driver.cluster.alter_topic_configs(name, texts(configs), driver.clock.stamp())
        driver.settle()

    def alter_broker_configs(self, configs: Mapping[str, str | int | bool | None]) -> None:
        """Set some settings of all brokers, or have them as they were at the start with None; the others stay. Topics
        that set nothing of their own have the new ones at once. Raises KafkaError for what Kafka does not alter while
        brokers run (`fakebroker configs` tells which), and nothing is changed."""
        require(MAPPING, configs=configs)
        driver = self._at_home
        driver.cluster.alter_broker_configs(texts(configs), driver.clock.stamp())
        driver.settle()

    def delete_topic(self, name: str) -> None:
        """Delete a topic; who waits for it is answered UNKNOWN_TOPIC_OR_PARTITION. Raises KafkaError for no topic."""
        require(STRING, name=name)
        driver = self._at_home
        driver.cluster.delete_topic(name, driver.clock.stamp())
        driver.settle()

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
        return finish(self._compact_in_slices(topic))

    def _compact_in_slices(self, topic: str) -> Slices[int]:
        require(STRING, topic=topic)
        driver = self._at_home
        cleaned = yield from driver.cluster.compact_in_slices(topic, driver.clock.stamp())
        driver.settle()
        return cleaned
