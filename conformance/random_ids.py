"""Ids that a cluster makes up, such as a member's: a case says which of them it means, and transcripts too.

Theory   Kafka's ids are new in each run, so a case and a transcript have stand-ins of the same length: `random_uuid(1)`
         is the first id that an answer told, `random_uuid(2)` the second. In what is sent a stand-in becomes the id
         that the cluster at hand gave, in what it answers it is put back. Then two clusters say the same bytes, and
         any id that is not the one it should be is a difference.
         An id counts when an answer that tells it is noted, field by field, and only if the case itself did not send
         it. Steps note answers in the order in which they stand in the case, so that is the order of the ids.
         Where an answer tells several new ones in the order of a hash table, note another answer before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from conformance.targets.wire import Sent, decoded

_FIELDS = frozenset({"member_id", "leader"})
# At the end of a classic member's id, behind the client id or the instance id; and a whole id of KIP-848.
_MADE_UP = re.compile(r"(?:^|-)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$|^([\w-]{22})$")


def random_uuid(number: int) -> str:
    """Stands for the `number`th id that the cluster makes up, from 1 on, if that is a UUID written with dashes."""
    return f"00000000-0000-4000-8000-{number:012d}"


def random_id(number: int) -> str:
    """Stands for the `number`th id if that is a UUID in 22 characters of base64. A consumer of ConsumerGroupHeartbeat
    v0 has one."""
    return f"AAAAAAAAAAAA{number:010d}"


class RandomIds:
    """The ids of one run of a case, and their stand-ins."""

    def __init__(self) -> None:
        self._real_by_stand_in: dict[bytes, bytes] = {}
        self._said = b""

    def real(self, data: bytes) -> bytes:
        """Return the bytes to send, with the ids that this cluster gave."""
        for stand_in, real in self._real_by_stand_in.items():
            data = data.replace(stand_in, real)
        self._said += data
        return data

    def stand_ins(self, sent: Sent | None, frame: bytes) -> bytes:
        """Return a response with stand-ins; new ids are learned."""
        for text in _told(decoded(sent, frame)):
            made_up = _MADE_UP.search(text)
            if made_up is not None:
                self._learn(made_up)
        for stand_in, real in self._real_by_stand_in.items():
            frame = frame.replace(real, stand_in)
        return frame

    def _learn(self, match: re.Match[str]) -> None:
        real = (match[1] or match[2]).encode()
        if real in self._said or real in self._real_by_stand_in.values():
            return
        number = len(self._real_by_stand_in) + 1
        stand_in = random_uuid(number) if match[1] else random_id(number)
        self._real_by_stand_in[stand_in.encode()] = real


def _told(says: Any, name: str = "") -> Iterator[str]:
    """The values of the fields that may have such an id, in order."""
    if isinstance(says, dict):
        for key, value in says.items():
            yield from _told(value, key)
    elif isinstance(says, list):
        for value in says:
            yield from _told(value)
    elif isinstance(says, str) and name in _FIELDS:
        yield says
