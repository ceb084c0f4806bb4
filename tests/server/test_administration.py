"""Changes to a cluster that has a driver, and neither ports nor a user."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.watchdog import run

from fakebroker.core.errors import KafkaError
from fakebroker.core.replication.behaviour import FROZEN, Selection
from fakebroker.protocol.slices import finish
from fakebroker.server.administration import Administration
from fakebroker.server.clocks import new_clock
from fakebroker.server.driver import Driver
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.made.drivers import new_driver
from fakebroker.server.made.lives import FIRST, LifeSequence
from fakebroker.server.made.spec import ClusterSpec


def administered(act: Callable[[Administration, Driver], None]) -> None:
    """Call `act` with the administration of a new cluster of three brokers."""

    async def work() -> None:
        lives = LifeSequence(FIRST, 0, is_known=False)
        driver = new_driver(Arguments.read(ClusterSpec(3)), lives, new_clock("manual"), None, None)
        act(Administration(lambda: driver), driver)
        driver.stop()

    run(work())


def test_a_topic_is_created_altered_and_deleted() -> None:
    def act(administration: Administration, driver: Driver) -> None:
        metadata = driver.cluster.metadata
        finish(administration.create_topic("t", 2, 3, {"min.insync.replicas": 2}))
        assert list(metadata.topic_names()) == ["t"]
        finish(administration.alter_topic_configs("t", {"min.insync.replicas": 3}))
        assert [partition.config.min_insync_replicas for partition in metadata.partitions()] == [3, 3]
        finish(administration.delete_topic("t"))
        assert list(metadata.topic_names()) == []

    administered(act)


def test_nothing_is_changed_before_the_first_slice() -> None:
    def act(administration: Administration, driver: Driver) -> None:
        finish(administration.create_topic("t"))
        deletion = administration.delete_topic("t")
        assert list(driver.cluster.metadata.topic_names()) == ["t"]
        finish(deletion)
        assert list(driver.cluster.metadata.topic_names()) == []

    administered(act)


def test_a_leader_moves_and_followers_freeze() -> None:
    def act(administration: Administration, driver: Driver) -> None:
        finish(administration.create_topic("t", assignments=[[1, 2, 3]]))
        (partition,) = driver.cluster.metadata.partitions()
        administration.move_leader("t", 0, 2)
        assert partition.leader_id == 2
        finish(administration.script_followers([(0, FROZEN)], Selection("t", 0, 3)))
        with pytest.raises(KafkaError, match="its replicas are on"):
            administration.move_leader("t", 0, 9)

    administered(act)


def test_each_change_asks_for_the_driver() -> None:
    def not_there() -> Driver:
        raise RuntimeError("stopped")

    administration = Administration(not_there)
    with pytest.raises(RuntimeError, match="stopped"):
        administration.expire_sessions(None)
    with pytest.raises(RuntimeError, match="stopped"):
        finish(administration.compact("t"))
