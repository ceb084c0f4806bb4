"""The memory of a connection for its events: when its bytes came, and the results of its request.

Units    bytes, milliseconds of the broker's monotonic clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, final
from uuid import UUID

from fakebroker.core.journal.events import Answer, PartitionAnswer
from fakebroker.core.journal.reasons import reason_of
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.framing import LENGTH_BYTES
from fakebroker.protocol.produce_response import TopicProduceResponse

_NO_TOPIC_ID: Final = UUID(int=0)


@final
class Trail:
    """The state of a connection for its events.

    request         the number of the request in hand; 0 if there is none
    received_bytes  bytes that came so far
    faults          the faults that acted on the request in hand, or on the connection before its first request
    """

    __slots__ = ("_arrivals", "_has_more", "_results", "faults", "received_bytes", "request")

    def __init__(self) -> None:
        self.request = 0
        self.received_bytes = 0
        self.faults: list[str] = []
        self._arrivals: deque[tuple[int, int]] | None = None  # (bytes received by then, when)
        self._results: tuple[PartitionAnswer, ...] = ()  # of the Produce in hand,
        self._has_more = False  # and whether some of them come later

    def arrived(self, now_ms: int) -> None:
        """Note the time at which the last of the `received_bytes` came."""
        if self._arrivals is None:
            self._arrivals = deque()
        self._arrivals.append((self.received_bytes, now_ms))

    def take(self, buffered: int, now_ms: int) -> int:
        """Return when the last byte of a request came, if `buffered` bytes came behind it. That is now if there was no
        listener then."""
        arrivals = self._arrivals
        if arrivals is not None:
            end = self.received_bytes - buffered
            while arrivals and arrivals[0][0] < end:
                arrivals.popleft()
            if arrivals:
                return arrivals[0][1]
        return now_ms

    def add_results(self, topics: Sequence[TopicProduceResponse], has_more: bool = False) -> None:
        """Take the results of the Produce in hand, before its response. If it `has_more` results, they come with the
        next call."""
        results = []
        for topic in topics:
            name = topic.name or str(topic.topic_id or _NO_TOPIC_ID)
            for partition in topic.partitions:
                error = kafka_name(partition.error_code)
                results.append(PartitionAnswer(name, partition.index, error, partition.base_offset))
        self._results = (*self._results, *results) if self._has_more else tuple(results)
        self._has_more = has_more

    def end(self, times: tuple[int, int], connection: int, is_closed: bool, frame_bytes: int | None) -> Answer:
        """Return the end of the request in hand. Its response is a frame of so many bytes, or none."""
        outcome = "none" if frame_bytes is None else "dropped" if is_closed else "sent"
        size = 0 if frame_bytes is None else frame_bytes - LENGTH_BYTES
        reason, results = "; ".join(self.faults), self._results
        if not reason and results:
            reason = reason_of([partition.error for partition in results])
        answer = Answer(*times, self.request, connection, outcome, size, results, reason)
        self.request, self.faults, self._results = 0, [], ()
        return answer
