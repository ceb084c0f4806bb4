"""Journal events of brokers: the state of their processes, and the controller's decisions about them.

Units    as in events.py. `broker_epoch` is that of the present life.
"""

from __future__ import annotations

from typing import NamedTuple


class BrokerStopping(NamedTuple):
    """A controlled shutdown has begun: the broker asks the controller, its partitions get other leaders, then it
    stops."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerStopped(NamedTuple):
    """A controlled shutdown has ended. The connections are closed, and requests in hand get no response."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerKilled(NamedTuple):
    """A broker has crashed: its process is dead, and its connections are gone. The controller notices the silence."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerPaused(NamedTuple):
    """A broker is paused. Its sockets are open, but it reads nothing and writes nothing."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerResumed(NamedTuple):
    """A paused broker goes on. Its late timers run first."""

    mono_ms: int
    wall_ms: int
    broker: int


class LeaderStale(NamedTuple):
    """A partition is about to get another leadership, and its leader is unaware of it. It goes on leading in this epoch
    until its metadata is caught up. The records that it appends meanwhile are lost then."""

    mono_ms: int
    wall_ms: int
    broker: int
    topic: str
    partition: int
    leader_epoch: int


class MetadataCaughtUp(NamedTuple):
    """A broker that did not reach the controller has learned what it missed. It follows where other brokers lead by
    now."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerStarting(NamedTuple):
    """A broker is started. It registers at once, or once the session of its last life has ended."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerStarted(NamedTuple):
    """A started broker is about to lead and follow again."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerFenced(NamedTuple):
    """The controller fences a broker for this reason. Its partitions are about to get other leaders."""

    mono_ms: int
    wall_ms: int
    broker: int
    broker_epoch: int
    reason: str


class BrokerUnfenced(NamedTuple):
    """The controller unfences a broker."""

    mono_ms: int
    wall_ms: int
    broker: int
    broker_epoch: int


BrokerEvent = (
    BrokerStopping
    | BrokerStopped
    | BrokerKilled
    | BrokerPaused
    | BrokerResumed
    | LeaderStale
    | MetadataCaughtUp
    | BrokerStarting
    | BrokerStarted
    | BrokerFenced
    | BrokerUnfenced
)
