"""Ids of fetch sessions: each cluster has ids of its own, a case has stand-ins.

Theory   `session(1)` stands for the id of the first session that an answer tells, of all connections, in what is sent
         behind it and in transcripts. So both clusters say the same bytes, and an id that is not the one it should be
         is a difference.
"""

from __future__ import annotations

import struct

from conformance.targets.wire import Sent

_FETCH = 1
_NO_SESSION = bytes(4)
_NO_ERROR = bytes(2)


def session(number: int) -> int:
    """Stands for the id of the `number`th session, from 1 on."""
    return 0x7E55_1000 + number


class SessionIds:
    """The session ids of one run of a case, and their stand-ins."""

    def __init__(self) -> None:
        self._stand_ins: dict[bytes, bytes] = {}  # by the real ids

    def real(self, data: bytes) -> bytes:
        """Return the bytes to send, with the ids that this cluster gave."""
        for session_id, stand_in in self._stand_ins.items():
            data = data.replace(stand_in, session_id)
        return data

    def stand_ins(self, sent: Sent | None, frame: bytes) -> bytes:
        """Return a response with stand-ins; new ids are learned."""
        if sent is None or sent.api_key != _FETCH or sent.version < 7:
            return frame
        at = 10 if sent.version < 12 else 11  # behind the correlation id, tags, the throttle time and the error
        session_id = frame[at : at + 4]
        if len(session_id) == 4 and session_id != _NO_SESSION and frame[at - 2 : at] == _NO_ERROR:
            self._stand_ins.setdefault(session_id, struct.pack(">i", session(len(self._stand_ins) + 1)))
        return frame[:at] + self._stand_ins.get(session_id, session_id) + frame[at + 4 :]
