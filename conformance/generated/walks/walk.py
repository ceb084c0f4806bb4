"""A walk: what some clients do to one group, one step after the other.

Theory   A walk is bytes, like a case. It names one group, GROUP, which becomes a fresh one of the same length when it
         is played, and ids that brokers make up by stand-ins: `made_up("a", n)` is the `n`th id that was told to the
         client a. What it does not say is when a request is answered: whoever waits for others is answered later.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import api_name, decode_request, is_flexible

GROUP = "walk-00000000"
TOPIC = "walks"  # to whose partitions members commit
PARTITIONS = 3
CLIENTS = "abcd"
STAND_IN = b"00000000-0000-4000-8000-"  # what those of ids begin with


@dataclass(frozen=True)
class Step:
    """A request on a connection, or its end if there is no frame. Connections are called by their client, and a
    number. `parks`: it is not expected to be answered now."""

    conn: str
    frame: bytes | None
    parks: bool = False


@dataclass(frozen=True)
class Walk:
    steps: tuple[Step, ...]

    def without(self, index: int) -> Walk:
        return Walk(self.steps[:index] + self.steps[index + 1 :])


def made_up(client: str, number: int) -> str:
    """A UUID that stands for an id."""
    return f"{STAND_IN.decode()}{CLIENTS.index(client) + 1:06d}{number:06d}"


def step_words(step: Step) -> str:
    """For a report of what differs."""
    if step.frame is None:
        return f"{step.conn} goes away"
    key, version = struct.unpack_from(">hh", step.frame, 4)
    header = decode_request_header(step.frame[4:], is_flexible(key, version))
    says = decode_request(key, version, step.frame[4:], header.body_offset)
    return f"{step.conn} {'(waits) ' if step.parks else ''}{api_name(key)} v{version} {says}"
