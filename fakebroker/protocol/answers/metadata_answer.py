"""A writer of Metadata responses, versions 0 to 13, by hand: a whole frame, topic by topic.

Every client requests metadata repeatedly, and of a large cluster it is long.
tests/protocol/answers/test_metadata_answer.py ties it to kio.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final
from uuid import UUID

from fakebroker.protocol.answers.frame import Frame
from fakebroker.protocol.produce_response import NodeEndpoint

_FLEXIBLE_SINCE: Final = 9
_NO_ID: Final = bytes(16)


@final
class MetadataAnswer:
    """A Metadata response. Call `topic` as often as announced, and `partition` as often as that announced; then
    `whole`."""

    __slots__ = ("_frame", "_topic_operations", "_version")

    def __init__(
        self,
        version: int,
        correlation_id: int,
        throttle_time_ms: int,
        brokers: Sequence[NodeEndpoint],
        cluster_id: str | None,
        controller_id: int,
        topics: int,
    ) -> None:
        frame = self._frame = Frame(correlation_id, version >= _FLEXIBLE_SINCE)
        self._version = version
        self._topic_operations: int | None = None  # of the open topic
        if version >= 3:
            frame.i32(throttle_time_ms)
        frame.count(len(brokers))
        for broker in brokers:
            frame.i32(broker.node_id)
            frame.text(broker.host)
            frame.i32(broker.port)
            if version >= 1:
                frame.text(broker.rack)
            frame.end()
        if version >= 2:
            frame.text(cluster_id)
        if version >= 1:
            frame.i32(controller_id)
        frame.count(topics)

    def topic(
        self,
        error_code: int,
        name: str | None,
        topic_id: UUID | None,
        is_internal: bool,
        partitions: int,
        authorized_operations: int,
    ) -> None:
        """Begin the next topic. Before v12 it must have a name."""
        self._end_topic()
        frame = self._frame
        frame.i16(error_code)
        frame.text(name)
        if self._version >= 10:
            frame.raw(_NO_ID if topic_id is None else topic_id.bytes)
        if self._version >= 1:
            frame.boolean(is_internal)
        frame.count(partitions)
        self._topic_operations = authorized_operations

    def partition(
        self,
        error_code: int,
        index: int,
        leader_id: int,
        leader_epoch: int,
        replicas: Sequence[int],
        isr: Sequence[int],
        offline: Sequence[int],
    ) -> None:
        """Write the next partition of the topic."""
        frame, version = self._frame, self._version
        frame.i16(error_code)
        frame.i32(index)
        frame.i32(leader_id)
        if version >= 7:
            frame.i32(leader_epoch)
        frame.i32s(replicas)
        frame.i32s(isr)
        if version >= 5:
            frame.i32s(offline)
        frame.end()

    def whole(self, cluster_authorized_operations: int, error_code: int = 0) -> bytes:
        """Return the frame with its length."""
        self._end_topic()
        if 8 <= self._version <= 10:
            self._frame.i32(cluster_authorized_operations)
        if self._version >= 13:
            self._frame.i16(error_code)
        self._frame.end()
        return self._frame.whole()

    def _end_topic(self) -> None:
        if self._topic_operations is None:
            return
        if self._version >= 8:
            self._frame.i32(self._topic_operations)
        self._frame.end()
        self._topic_operations = None
