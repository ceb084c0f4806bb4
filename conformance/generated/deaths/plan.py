"""A round of plans: what happens to brokers, and what the clients of each topic ask meanwhile.

Theory   What happens to a broker happens to all topics, so the plans of a round share their events. After an event
         comes what is asked while nobody has noticed yet (`fresh`: the session of a dead broker still holds), then the
         cluster comes to rest, then what is asked of what has come of it (`settled`). Nothing is asked in between, so
         that what is answered does not hang on who was faster. Before each event all is quiet for a while: what leads
         has then told its followers how far it is.
Units    milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

LEADER: Final = 0  # instead of a broker's id: whoever leads, as the last state told
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

    broker      who is asked: an id, or LEADER
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
        """Whether this event is a broker that stands still for less than its session."""
        event = self.events[index]
        return event.what == "pause" and self.events[index + 1 : index + 2] == (Event("resume", event.broker),)
