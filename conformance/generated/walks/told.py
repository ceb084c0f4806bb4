"""The epoch and the partitions that a member of KIP-848 reports, as it received them.

Theory   A walk is made before there are responses. So it has a number that stands for "the epoch of my last response",
         and an id of a topic that stands for "all that I was assigned". When the walk is played, the values from that
         cluster's responses to this client are put there. So a walk goes on as a client would, and clusters with other
         responses show it at once.
"""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import Any
from uuid import UUID

from conformance.consumer_group_frames import CONSUMER_GROUP_HEARTBEAT
from conformance.frames import CLIENT_ID
from conformance.generated.walks.walk import CLIENTS
from fakebroker.protocol.headers import decode_request_header
from fakebroker.protocol.messages import decode_request, encode_request

# All that it was assigned, and that without its last partition.
ALL_TOLD, FEWER = UUID(int=0xA11), UUID(int=0xFE)
_EPOCH = re.compile(rb"\x5e\x5e([\x00-\x03])([\x7b-\x85])")
_ZERO = 0x80  # what is added to what the epoch is off by


def told_epoch(client: str, off_by: int = 0) -> int:
    """Stands for the epoch that a client was told last, or for one that is off by at most 5."""
    assert abs(off_by) <= 5
    return 0x5E5E0000 + (CLIENTS.index(client) << 8) + _ZERO + off_by


class Told:
    """Values from the responses of one cluster to each client of a walk."""

    def __init__(self) -> None:
        self._epochs: dict[str, int] = {}
        self._assigned: dict[str, list[tuple[UUID, list[int]]]] = {}

    def hear(self, client: str, says: Any) -> None:
        """An answer to a ConsumerGroupHeartbeat, in plain values."""
        if not says["error_code"].startswith("NONE("):
            return
        self._epochs[client] = says["member_epoch"]
        if says["assignment"] is not None:
            parts = says["assignment"]["topic_partitions"]
            self._assigned[client] = [(UUID(part["topic_id"]), part["partitions"]) for part in parts]

    def put_in(self, client: str, data: bytes) -> bytes:
        """A frame with what was told instead of what stands for it."""
        data = _EPOCH.sub(self._epoch, data)
        key, version = struct.unpack_from(">hh", data, 4)
        if key != CONSUMER_GROUP_HEARTBEAT or not (ALL_TOLD.bytes in data or FEWER.bytes in data):
            return data
        header = decode_request_header(data[4:], True)
        says: Any = decode_request(key, version, data[4:], header.body_offset)
        held = self._assigned.get(client, [])
        if says.topic_partitions[0].topic_id == FEWER and held:
            (topic, partitions) = held[-1]
            held = [*held[:-1], *([(topic, partitions[:-1])] if len(partitions) > 1 else [])]
        part = says.topic_partitions[0]
        owned = tuple(replace(part, topic_id=topic, partitions=tuple(numbers)) for topic, numbers in held)
        return encode_request(replace(says, topic_partitions=owned), header.correlation_id, CLIENT_ID)

    def _epoch(self, match: re.Match[bytes]) -> bytes:
        epoch = self._epochs.get(CLIENTS[match[1][0]], 0) + match[2][0] - _ZERO
        return struct.pack(">i", epoch)
