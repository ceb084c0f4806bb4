"""Changes to the topics, settings, replicas and sessions of a running cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

from fakebroker.core.arguments import MAPPING, STRING, STRING_OR_NONE, WHOLE_NUMBER, require
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.replication.behaviour import Selection
from fakebroker.protocol.slices import Slices
from fakebroker.server.driver import Driver
from fakebroker.server.followers_in_hand import Step
from fakebroker.server.made.arguments import read_assignments
from fakebroker.server.settings import texts


@final
class Administration:
    """The changes that a user of a cluster, or a client of its control, makes to it. `driver` returns the driver of the
    running cluster, or raises RuntimeError.

    Each method checks its arguments, reads the clock, enters the matching door of the cluster, and performs the
    resulting effects before it ends. Long work is in slices. `AsyncFakeCluster` has a method of the same name for all
    but `script_followers`, and documents it.
    """

    def __init__(self, driver: Callable[[], Driver]) -> None:
        self._driver = driver

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str | int | bool] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
    ) -> Slices[None]:
        require(STRING, name=name)
        require(WHOLE_NUMBER, partitions=partitions, replication_factor=replication_factor)
        new = NewTopic(name, partitions, replication_factor, read_assignments(assignments), texts(configs))
        driver = self._driver()
        yield from driver.cluster.admin.create_topic_in_slices(new, driver.clock.stamp())

    def alter_topic_configs(self, name: str, configs: Mapping[str, str | int | bool | None]) -> Slices[None]:
        require(STRING, name=name)
        require(MAPPING, configs=configs)
        driver = self._driver()
        yield from driver.cluster.admin.alter_topic_configs_in_slices(name, texts(configs), driver.clock.stamp())
        driver.settle()

    def alter_broker_configs(self, configs: Mapping[str, str | int | bool | None]) -> Slices[None]:
        require(MAPPING, configs=configs)
        driver = self._driver()
        yield from driver.cluster.admin.alter_broker_configs_in_slices(texts(configs), driver.clock.stamp())
        driver.settle()

    def delete_topic(self, name: str) -> Slices[None]:
        require(STRING, name=name)
        driver = self._driver()
        yield from driver.cluster.admin.delete_topic_in_slices(name, driver.clock.stamp())
        driver.settle()

    def compact(self, topic: str) -> Slices[int]:
        require(STRING, topic=topic)
        driver = self._driver()
        cleaned = yield from driver.cluster.admin.compact_in_slices(topic, driver.clock.stamp())
        driver.settle()
        return cleaned

    def script_followers(self, steps: Sequence[Step], selection: Selection) -> Slices[None]:
        """Change the behaviour of followers, step by step (followers_in_hand.py)."""
        driver = self._driver()
        yield from driver.cluster.admin.script_followers_in_slices(steps, selection, driver.clock.stamp())
        driver.settle()

    def move_leader(self, topic: str, partition: int, broker: int) -> None:
        require(STRING, topic=topic)
        require(WHOLE_NUMBER, partition=partition, broker=broker)
        driver = self._driver()
        driver.cluster.admin.move_leader(topic, partition, broker, driver.clock.stamp())
        driver.settle()

    def reassign(self, topic: str, partition: int, brokers: Sequence[int] | None) -> None:
        require(STRING, topic=topic)
        require(WHOLE_NUMBER, partition=partition)
        for broker in brokers or ():
            require(WHOLE_NUMBER, broker=broker)
        driver = self._driver()
        driver.cluster.admin.reassign(topic, partition, brokers, driver.clock.stamp())
        driver.settle()

    def expire_sessions(self, user: str | None) -> int:
        require(STRING_OR_NONE, user=user)
        driver = self._driver()
        return driver.cluster.admin.expire_sessions(user, driver.clock.stamp())
