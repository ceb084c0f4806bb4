"""Requests of members of a classic group, in the versions of one client, and the content of their responses.

Shape    `frames = GroupFrames("me", {JOIN: 7, ...})`; each method returns a whole frame, `answered` reads a response.
Theory   Each is written for the newest version; fields that a version lacks are left out (protocol/build.py).
Units    *_ms is milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from fakebroker.protocol.build import build
from fakebroker.protocol.messages import decode_response, encode_request, request_type

COMMIT, FIND, JOIN, BEAT, LEAVE, SYNC = 8, 10, 11, 12, 13, 14
RANGE: Final = "range"  # the assignor that all members use
Place = tuple[str, int]


class GroupFrames:
    """The frames of one client; `versions` by API key."""

    def __init__(self, client_id: str, versions: Mapping[int, int]) -> None:
        self._client_id = client_id
        self._versions = versions

    def answered(self, api: int, frame: bytes) -> Any:
        """Read a response. Raises ProtocolError for an invalid one."""
        return decode_response(api, self._versions[api], frame)[1]

    def request(self, api: int, number: int, values: Mapping[str, Any]) -> bytes:
        """Return the frame of a request; `number` is the correlation id."""
        return encode_request(build(request_type(api, self._versions[api]), dict(values)), number, self._client_id)

    def find_coordinator(self, number: int, group: str) -> bytes:
        return self.request(FIND, number, {"key": group, "key_type": 0})

    def join(
        self, number: int, group: str, member_id: str, session_ms: int, rebalance_ms: int, subscription: bytes = b""
    ) -> bytes:
        values = {
            "group_id": group,
            "session_timeout": timedelta(milliseconds=session_ms),
            "rebalance_timeout": timedelta(milliseconds=rebalance_ms),
            "member_id": member_id,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [{"name": RANGE, "metadata": subscription}],
            "reason": None,
        }
        return self.request(JOIN, number, values)

    def sync(self, number: int, group: str, member_id: str, generation: int, assignments: Mapping[str, bytes]) -> bytes:
        """Return a SyncGroup. `assignments` of the leader by member; other members send none."""
        values = {
            "group_id": group,
            "generation_id": generation,
            "member_id": member_id,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocol_name": RANGE,
            "assignments": [{"member_id": name, "assignment": data} for name, data in assignments.items()],
        }
        return self.request(SYNC, number, values)

    def heartbeat(self, number: int, group: str, member_id: str, generation: int) -> bytes:
        values = {"group_id": group, "generation_id": generation, "member_id": member_id, "group_instance_id": None}
        return self.request(BEAT, number, values)

    def leave(self, number: int, group: str, member_id: str) -> bytes:
        member = {"member_id": member_id, "group_instance_id": None, "reason": None}
        return self.request(LEAVE, number, {"group_id": group, "members": [member]})

    def commit(self, number: int, group: str, member_id: str, generation: int, offsets: Mapping[Place, int]) -> bytes:
        topics: dict[str, list[dict[str, Any]]] = {}
        for (topic, index), offset in offsets.items():
            part = {
                "partition_index": index,
                "committed_offset": offset,
                "committed_leader_epoch": -1,
                "committed_metadata": "",
            }
            topics.setdefault(topic, []).append(part)
        values = {
            "group_id": group,
            "generation_id_or_member_epoch": generation,
            "member_id": member_id,
            "group_instance_id": None,
            "topics": [{"name": topic, "partitions": parts} for topic, parts in topics.items()],
        }
        return self.request(COMMIT, number, values)
