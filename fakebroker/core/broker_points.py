"""The points of the probe (probe.py) that tell what becomes of brokers: of their processes, and in the controller's
eyes."""

from __future__ import annotations

from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class BrokerPoints:
    """Hears and does nothing; a part of Listener."""

    def broker_stopping(self, broker_id: int) -> None:
        """A broker is told to stop: it is about to ask the controller whether it may."""

    def broker_stopped(self, broker_id: int) -> None:
        """A broker has stopped, as it was told to; its connections are closed, and it is fenced."""

    def broker_killed(self, broker_id: int) -> None:
        """The process of a broker is dead, its connections with it; the controller does not know yet."""

    def broker_paused(self, broker_id: int) -> None:
        """The process of a broker stands still from now on, its sockets open."""

    def broker_resumed(self, broker_id: int) -> None:
        """It goes on where it stood."""

    def metadata_caught_up(self, broker_id: int) -> None:
        """A broker that did not hear the controller has learnt what it missed; what it led it leads no more."""

    def leader_stale(self, topic_partition: TopicPartition, broker_id: int, leader_epoch: int) -> None:
        """A partition is about to get another leadership, and its leader does not hear of it: it goes on in that
        epoch."""

    def broker_starting(self, broker_id: int) -> None:
        """A broker is started: it is about to register, or waits until it may."""

    def broker_started(self, broker_id: int) -> None:
        """A broker is about to lead and follow again."""

    def broker_fenced(self, broker_id: int, broker_epoch: int, reason: str) -> None:
        """The controller lets a broker take part no more; what it led is about to go to others."""

    def broker_unfenced(self, broker_id: int, broker_epoch: int) -> None:
        """The controller lets a broker take part from now on."""
