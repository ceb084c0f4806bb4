"""A member of a classic group in a walk: where it is in its life."""

from __future__ import annotations

from random import Random

from conformance import group_frames
from conformance.frames import CLIENT_ID
from conformance.generated.walks.walk import made_up

_PROTOCOLS = [
    [("range", b"r")],
    [("range", b"r"), ("roundrobin", b"rr")],
    [("roundrobin", b"rr"), ("range", b"r")],
    [("cooperative-sticky", b"c")],
]


class Actor:
    """One client: where it is in the life of a member."""

    def __init__(self, letter: str, random: Random) -> None:
        self.letter = letter
        self.life = 0  # of its connections
        self.ids = 0  # that it was told
        self.member_id = ""
        self.instance_id = f"static-{letter}" if random.random() < 0.25 else None
        self.generation = -1
        self.is_parked = False
        self.protocols = random.choice(_PROTOCOLS[:3] * 4 + _PROTOCOLS[3:])
        self.metadata = 0

    @property
    def conn(self) -> str:
        return f"{self.letter}{self.life}"

    def told_id(self) -> None:
        self.ids += 1
        self.member_id = group_frames.member(made_up(self.letter, self.ids), self.instance_id or CLIENT_ID)
