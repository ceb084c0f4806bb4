"""A round of plans: the events of brokers, and the requests of the clients of each topic meanwhile.

Theory   An event of a broker concerns all topics, so the plans of a round share their events. After an event come the
         requests of the time in which no broker has noticed it (`fresh`: the session of a dead broker still holds).
         Then the cluster comes to rest, then come the requests to its new state (`settled`). No request is sent in
         between, so that no response depends on a race. Before each event all is quiet for a while: leaders have then
         told their followers their high watermarks.
Units    milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

LEADER: Final = 0  # instead of a broker's id: the leader by the last state
BROKERS: Final = (1, 2, 3)
WAITS: Final = ", for too much"  # how the words of a Fetch that waits end
HAPPENINGS: Final = ("kill", "stop", "pause", "resume", "start")


class Event(NamedTuple):
    """`what` happens to a broker, one of HAPPENINGS. `settles`: the cluster comes to rest before the next one."""

    what: str
    broker: int
    settles: bool = True

    def __str__(self) -> str:
        return f"{self.what} {self.broker}"


class Ask(NamedTuple):
    """A request: Produce with `acks` and one record, or Fetch from the start, if `acks` is None.

    broker      the broker that gets the request: an id, or LEADER
    wait_ms     the timeout of a Produce, the longest wait of a Fetch
    waits       a Fetch asks for more bytes than there will ever be
    """

    broker: int
    partition: int
    version: int
    acks: int | None = None
    wait_ms: int = 0
    waits: bool = False
    value: bytes = b""

    def __str__(self) -> str:
        where = f"{self.partition} at {self.broker or 'the leader'}"
        if self.acks is None:
            return f"Fetch v{self.version} {where}, {self.wait_ms} ms" + (WAITS if self.waits else "")
        return f"Produce v{self.version} {where}, acks={self.acks}, {self.wait_ms} ms"


@dataclass(frozen=True)
class Plan:
    """A topic, and what is asked of it: `before` anything happens, and after each event while it is fresh, and when
    the cluster has come to rest. `replicas` are those of each partition, the preferred leader first."""

    seed: int
    replicas: tuple[tuple[int, ...], ...]
    min_isr: int
    unclean: bool
    before: tuple[Ask, ...]
    fresh: tuple[tuple[Ask, ...], ...]
    settled: tuple[tuple[Ask, ...], ...]

    @property
    def configs(self) -> dict[str, str]:
        unclean = {"unclean.leader.election.enable": "true"} if self.unclean else {}
        return {"min.insync.replicas": str(self.min_isr), **unclean}


@dataclass(frozen=True)
class Round:
    seed: int
    events: tuple[Event, ...]
    plans: tuple[Plan, ...]

    def is_short(self, index: int) -> bool:
        """Return True if this event is a pause that is shorter than the session."""
        event = self.events[index]
        return event.what == "pause" and self.events[index + 1 : index + 2] == (Event("resume", event.broker),)
