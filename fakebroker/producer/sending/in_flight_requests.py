"""The requests in flight, by node, oldest first.

Theory   A connection accepts another request if the last one was written completely and the number in flight is below
         the limit. Responses come in order, so the next response belongs to the oldest request. A request times out
         when it has waited longer than its timeout, strictly. The time for which the node throttles the client does not
         count (KIP-219). When one request times out, its connection is closed and all its requests end.
Units    monotonic milliseconds.
Source   clients/.../clients/InFlightRequests.java and NetworkClient.InFlightRequest of 2.0 and 4.3.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

from fakebroker.producer.generation import Generation
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_config import INT_MAX
from fakebroker.protocol.java_hash import java_hash

Request = TypeVar("Request")


class InFlightRequest(Generic[Request]):
    """A request in flight. `is_written` is set when all of its bytes are written."""

    __slots__ = ("is_written", "node", "request", "sent_ms", "throttle_time_ms", "timeout_ms")

    def __init__(self, request: Request, node: int, timeout_ms: int, sent_ms: int) -> None:
        self.request = request
        self.node = node
        self.timeout_ms = timeout_ms
        self.sent_ms = sent_ms
        self.throttle_time_ms = 0
        self.is_written = False

    @property
    def time_out_ms(self) -> int:
        """Return the first time at which it has timed out."""
        return self.sent_ms + self.throttle_time_ms + self.timeout_ms + 1

    def has_timed_out(self, now_ms: int) -> bool:
        """Return True if it has waited longer than its timeout; exactly as long is not enough."""
        return max(0, now_ms - self.sent_ms) - self.throttle_time_ms > self.timeout_ms


class InFlightRequests(Generic[Request]):
    """The requests in flight; `most` is the limit per connection, `max.in.flight.requests.per.connection`."""

    def __init__(self, most: int, generation: Generation) -> None:
        self._most = most
        self._generation = generation
        self._queues: HashMap[int, deque[InFlightRequest[Request]]] = HashMap(_hash_of_node)
        self._look_ms = 0  # no request times out before this time

    def add(self, request: InFlightRequest[Request]) -> None:
        """Add a request that is about to be written."""
        self._look_ms = min(self._look_ms, request.time_out_ms)
        if self._generation.has_delivery_timeout:
            self._queues.compute_if_absent(request.node, deque).append(request)
            return
        queue = self._queues.get(request.node)
        if queue is None:
            queue = deque()
            self._queues.put(request.node, queue)
        queue.append(request)

    def complete_next(self, node: int) -> InFlightRequest[Request]:
        """Remove and return the oldest request: its response has arrived."""
        return self._queue_of(node).popleft()

    def last_sent(self, node: int) -> InFlightRequest[Request]:
        return self._queue_of(node)[-1]

    def complete_last_sent(self, node: int) -> InFlightRequest[Request]:
        """Remove and return the newest request: it is written and has no response (acks=0)."""
        return self._queue_of(node).pop()

    def can_send_more(self, node: int) -> bool:
        queue = self._queues.get(node)
        return not queue or (queue[-1].is_written and len(queue) < self._most)

    def count(self, node: int) -> int:
        return len(self._queues.get(node) or ())

    def count_all(self) -> int:
        return sum(len(queue) for _, queue in self._queues.items())

    def clear_all(self, node: int) -> list[InFlightRequest[Request]]:
        """Remove and return all requests of a closed connection, oldest first."""
        queue = self._queues.get(node)
        if queue is None:
            return []
        self._queues.remove(node)
        return list(queue)

    def nodes_with_timed_out_requests(self, now_ms: int) -> list[int]:
        if now_ms < self._look_ms:  # the usual case
            return []
        nodes: list[int] = []
        look_ms = now_ms + INT_MAX
        for node, queue in self._queues.items():
            has_timed_out = False
            for request in queue:
                has_timed_out = has_timed_out or request.has_timed_out(now_ms)
                look_ms = min(look_ms, request.time_out_ms)
            if has_timed_out:
                nodes.append(node)
        self._look_ms = look_ms
        return nodes

    def time_outs_ms(self) -> list[int]:
        """Return the first time at which each request has timed out."""
        return [request.time_out_ms for _, queue in self._queues.items() for request in queue]

    def increment_throttle_time(self, node: int, throttle_time_ms: int) -> None:
        """Extend the timeouts by the node's throttle time; 2.0 does not."""
        if self._generation.has_delivery_timeout:
            for request in self._queues.get(node) or ():
                request.throttle_time_ms += throttle_time_ms

    def _queue_of(self, node: int) -> deque[InFlightRequest[Request]]:
        queue = self._queues.get(node)
        assert queue, f"nothing is in flight to node {node}"
        return queue


def _hash_of_node(node: int) -> int:
    return java_hash(str(node))
