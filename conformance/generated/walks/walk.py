"""A walk: steps of some clients on one group, one after the other.

Theory   A walk is bytes, like a case. It names one group, GROUP, which becomes a fresh one of the same length when it
         is played. Ids that brokers make up have stand-ins: `made_up("a", n)` is the `n`th id in the responses to the
         client a. A walk does not say when a response comes: a request that waits for others gets it later.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from uuid import UUID

from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import api_name, decode_request, is_flexible

GROUP = "walk-00000000"
TOPIC = "walks"  # members commit to its partitions
PARTITIONS = 3
CLIENTS = "abcd"
LONG_MS = 1_200_000  # longer than any walk, on a slow machine too: a session, a rebalance
STAND_IN = b"00000000-0000-4000-8000-"  # what those of ids begin with


@dataclass(frozen=True)
class Step:
    """A request on a connection, or its end if there is no frame. Connections are called by their client, and a
    number, and go to the broker of their first step. `parks`: it is not expected to be answered now. `settles`: it
    changes what all brokers must know before the next step."""

    conn: str
    frame: bytes | None
    parks: bool = False
    broker: int = 1
    settles: bool = False


@dataclass(frozen=True)
class Walk:
    steps: tuple[Step, ...]

    def without(self, index: int) -> Walk:
        return Walk(self.steps[:index] + self.steps[index + 1 :])


def made_up(client: str, number: int) -> str:
    """A UUID that stands for an id."""
    return f"{STAND_IN.decode()}{CLIENTS.index(client) + 1:06d}{number:06d}"


def topic_stand_in(name: str, number: int) -> UUID:
    """Stands for the id of the `number`th topic of that name, from 1 on."""
    return UUID(bytes=hashlib.sha256(f"topic {number} called {name}".encode()).digest()[:16])


def step_words(step: Step) -> str:
    """Return the text of a step for a report of differences."""
    if step.frame is None:
        return f"{step.conn} goes away"
    key, version = struct.unpack_from(">hh", step.frame, 4)
    header = decode_request_header(step.frame[4:], is_flexible(key, version))
    says = decode_request(key, version, step.frame[4:], header.body_offset)
    return f"{step.conn} {'(waits) ' if step.parks else ''}{api_name(key)} v{version} {says}"
