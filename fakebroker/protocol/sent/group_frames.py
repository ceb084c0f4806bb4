"""Requests of members of a classic group, in the versions of one client, and the content of their responses.

Shape    `frames = GroupFrames("me", {JOIN: 7, ...})`; each method returns a whole frame, `answered` reads a response.
Units    *_ms is milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.sent import requests
from fakebroker.protocol.sent.requests import Place

COMMIT, FIND, JOIN, BEAT, LEAVE, SYNC = 8, 10, 11, 12, 13, 14
RANGE: Final = "range"  # the assignor that all members use


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
        return request_frame(api, self._versions[api], values, number, self._client_id)

    def find_coordinator(self, number: int, group: str) -> bytes:
        return self.request(FIND, number, {"key": group, "key_type": 0})

    def join(
        self, number: int, group: str, member_id: str, session_ms: int, rebalance_ms: int, subscription: bytes = b""
    ) -> bytes:
        protocols = [(RANGE, subscription)]
        return self.request(JOIN, number, requests.join_group(group, member_id, session_ms, rebalance_ms, protocols))

    def sync(self, number: int, group: str, member_id: str, generation: int, assignments: Mapping[str, bytes]) -> bytes:
        """Return a SyncGroup. `assignments` of the leader by member; other members send none."""
        return self.request(SYNC, number, requests.sync_group(group, member_id, generation, RANGE, assignments))

    def heartbeat(self, number: int, group: str, member_id: str, generation: int) -> bytes:
        return self.request(BEAT, number, requests.member(group, member_id, generation))

    def leave(self, number: int, group: str, member_id: str) -> bytes:
        return self.request(LEAVE, number, {"group_id": group, "members": [{"member_id": member_id}]})

    def commit(self, number: int, group: str, member_id: str, generation: int, offsets: Mapping[Place, int]) -> bytes:
        committed = [(*place, offset) for place, offset in offsets.items()]
        return self.request(COMMIT, number, requests.offset_commit(group, member_id, generation, committed))
