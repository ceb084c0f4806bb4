"""The points of the probe (probe.py) for brokers: the state of their processes, and the controller's decisions."""

from __future__ import annotations

from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerPoints:
    """A part of Listener with empty methods."""

    def broker_stopping(self, broker_id: int) -> None:
        """A controlled shutdown begins: the broker is about to ask the controller."""

    def broker_stopped(self, broker_id: int) -> None:
        """A controlled shutdown has ended: the connections are closed, and the broker is fenced."""

    def broker_killed(self, broker_id: int) -> None:
        """A broker has crashed: its process is dead, its connections with it. The controller does not know yet."""

    def broker_paused(self, broker_id: int) -> None:
        """A broker is paused from now on, with open sockets."""

    def broker_resumed(self, broker_id: int) -> None:
        """A paused broker goes on."""

    def metadata_caught_up(self, broker_id: int) -> None:
        """A broker that did not reach the controller has learned what it missed. It leads nothing that others lead by
        now."""

    def leader_stale(self, topic_partition: TopicPartition, broker_id: int, leader_epoch: int) -> None:
        """A partition is about to get another leadership, and its leader is unaware of it: it goes on in this epoch."""

    def broker_starting(self, broker_id: int) -> None:
        """A broker is started: it is about to register, or waits until it may."""

    def broker_started(self, broker_id: int) -> None:
        """A broker is about to lead and follow again."""

    def broker_fenced(self, broker_id: int, broker_epoch: int, reason: str) -> None:
        """The controller has fenced a broker; its partitions are about to get other leaders."""

    def broker_unfenced(self, broker_id: int, broker_epoch: int) -> None:
        """The controller has unfenced a broker."""
