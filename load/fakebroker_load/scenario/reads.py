"""Readers and members: the fields of their groups in a scenario, and their part of the plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

READER, MEMBER = READERS = ("reader", "member")
READ_UNCOMMITTED, READ_COMMITTED = ISOLATIONS = ("read_uncommitted", "read_committed")
OF_READERS = ("isolation", "records_per_s", "fetch_bytes", "until_ms")
OF_MEMBERS = ("session_ms", "life_ms", "vanish_every")
OF_ALL = ("name", "topic", "acks", "expect", "client", "partitions", "connections", "start_ms", "pause_ms", "ramp_ms")


def slips_of_reader(group: Any) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of a RequestGroup (model.py): the key, and the rest of a sentence about the group. A sender
    must not have fields of readers."""
    reads = group.client in READERS
    own = (*(OF_READERS if reads else ()), *(OF_MEMBERS if group.client == MEMBER else ()))
    for field in fields(group):
        default = field.default if field.default_factory is MISSING else field.default_factory()
        is_other = field.name not in (*OF_ALL, *own) if reads else field.name in (*OF_READERS, *OF_MEMBERS)
        if is_other and getattr(group, field.name) != default:
            who = f"is a {group.client}, and that has" if reads else "sends, and so has"
            yield field.name, f"{who} no {field.name}"
    if group.isolation not in ISOLATIONS:
        yield "isolation", f"has isolation {group.isolation!r}, which is {' or '.join(ISOLATIONS)}"
    low, high = group.life_ms or (1, 1)
    if not 1 <= low <= high:
        yield "life_ms", "has life_ms, and it is a time above 0 or a range of two that rises"
    if group.vanish_every and group.life_ms is None:
        yield "vanish_every", "has vanish_every, and no life_ms"


class PartitionToRead(NamedTuple):
    """A partition to read: its leader's address and its log end before the load, and the number of records that the
    scenario sends to it."""

    partition: int
    host: str
    port: int
    start: int
    records: int


class ReaderOptions(NamedTuple):
    """The options of a reader. The column `reading` of the plan has them as JSON."""

    parts: tuple[PartitionToRead, ...]
    is_committed: bool
    is_transactional: bool  # the log has transaction markers, so its length is not its number of records
    fetch_bytes: int
    records_per_s: int  # at most; 0: no limit
    until_ms: int  # after the start: its latest end; 0: when it has all records
    session_ms: int
    life_ms: tuple[int, int] | None
    vanish_every: int

    @property
    def places(self) -> list[tuple[str, int]]:
        """Return the brokers that may be asked for the leaders."""
        return list(dict.fromkeys((part.host, part.port) for part in self.parts))

    def as_json(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def from_json(cls, text: str) -> ReaderOptions:
        content = json.loads(text)
        life_ms = content["life_ms"] and (content["life_ms"][0], content["life_ms"][1])
        return cls(
            **content | {"parts": tuple(PartitionToRead(*part) for part in content["parts"]), "life_ms": life_ms}
        )
