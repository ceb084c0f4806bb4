"""A listener that assigns appends and waits to their request: the one that was begun or resumed last."""

from __future__ import annotations

from typing import final

from fakebroker.cluster.faults.request import FaultyRequest
from fakebroker.core.probe import Listener
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.topic_partition import TopicPartition


@final
class Ear(Listener):
    """A listener for requests with a plan. `request` is the current one. Those that may be resumed are known by their
    connection."""

    def __init__(self) -> None:
        self._request: FaultyRequest | None = None
        self._by_connection: dict[int, FaultyRequest] = {}

    @property
    def request(self) -> FaultyRequest | None:
        return self._request

    @request.setter
    def request(self, request: FaultyRequest) -> None:
        self._request = self._by_connection[request.connection.number] = request

    def connection_closed(self, connection: int, broker_id: int, reason: str) -> None:
        self._by_connection.pop(connection, None)

    def request_begun(self, connection: int, broker_id: int, header: RequestHeader, size: int) -> None:
        self._request = None
        self._by_connection.pop(connection, None)

    def request_resumed(self, connection: int, broker_id: int) -> None:
        self._request = self._by_connection.get(connection)

    def appended(
        self,
        topic_partition: TopicPartition,
        leader_id: int,
        leader_epoch: int,
        records: bytes,
        first_offset: int,
        last_offset: int,
        is_duplicate: bool,
    ) -> None:
        if self._request is not None:
            self._request.appended(topic_partition.topic, topic_partition.partition)

    def parked(self, operation: object, api: str, timeout_ms: int) -> None:
        if self._request is not None:
            self._request.operation = operation
