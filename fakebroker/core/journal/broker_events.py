"""What a journal tells of brokers: what becomes of their processes, and what the controller decides about them.

Units    as in events.py. `broker_epoch` is that of this life.
"""

from __future__ import annotations

from typing import NamedTuple


class BrokerStopping(NamedTuple):
    """A broker is told to stop: it asks the controller, what it leads goes to others first, and then it stops."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerStopped(NamedTuple):
    """A broker has stopped, as it was told to: its connections are closed, and what is still in hand there is never
    answered."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerKilled(NamedTuple):
    """The process of a broker is dead, and so are its connections. The controller learns of it by its silence."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerPaused(NamedTuple):
    """The process of a broker stands still, its sockets open: it reads nothing and answers nothing."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerResumed(NamedTuple):
    """It goes on where it stood: first come the timers that are late."""

    mono_ms: int
    wall_ms: int
    broker: int


class LeaderStale(NamedTuple):
    """A partition is about to get another leadership, and its leader does not hear of it: it goes on leading in that
    epoch, until its metadata is caught up. What it appends alone is lost then."""

    mono_ms: int
    wall_ms: int
    broker: int
    topic: str
    partition: int
    leader_epoch: int


class MetadataCaughtUp(NamedTuple):
    """A broker that did not hear the controller has learnt what it missed: what it led, and others lead by now, it
    follows."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerStarting(NamedTuple):
    """A broker is started. It registers at once, or once the session of its last life has ended."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerStarted(NamedTuple):
    """A broker leads and follows again."""

    mono_ms: int
    wall_ms: int
    broker: int


class BrokerFenced(NamedTuple):
    """The controller lets a broker take part no more, and says why: it is in no ISR, and leads nothing."""

    mono_ms: int
    wall_ms: int
    broker: int
    broker_epoch: int
    reason: str


class BrokerUnfenced(NamedTuple):
    """The controller lets a broker take part from now on."""

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
