"""Requests of the harness itself to the leaders of a cluster, over raw connections."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from conformance import frames
from fakebroker.protocol.messages import decode_response, request_frame

_PRODUCE, _METADATA, _FIND_COORDINATOR = 0, 3, 10
_INCREMENTAL_ALTER_CONFIGS, _GROUP = 44, 32
_LIMIT_S = 10.0


class Wire:
    """Connections to a cluster, which is found through `bootstrap_servers`. Use in a `with` block."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap = bootstrap_servers
        self._sockets: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for connection in self._sockets.values():
            connection.close()

    def described(self, topic: str) -> tuple[dict[int, str], Any]:
        """The addresses of the brokers by id, and the topic as Metadata tells it."""
        flags = {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
        answer = self.ask(self._bootstrap.split(",")[0], _METADATA, 9, {"topics": [{"name": topic}]} | flags)
        [metadata] = answer.topics
        return {broker.node_id: f"{broker.host}:{broker.port}" for broker in answer.brokers}, metadata

    def produce(self, topic: str, values: Mapping[int, Sequence[str]]) -> None:
        """A batch for each partition, acks=all. Raises RuntimeError if a leader refuses."""
        addresses, metadata = self.described(topic)
        leaders = {part.partition_index: addresses[part.leader_id] for part in metadata.partitions}
        for partition, texts in values.items():
            frame = frames.produce(topic, {partition: frames.batch(*(value.encode() for value in texts))})
            answer = self.exchange(leaders[partition], _PRODUCE, 9, frame)
            check(answer.responses[0].partition_responses[0].error_code, f"writing to {topic}-{partition}")

    def await_coordinator(self, group: str) -> None:
        """Wait for a coordinator: the first request creates the topic of offsets. Raises RuntimeError."""
        limit = time.monotonic() + _LIMIT_S
        values = {"key": group, "key_type": 0}
        while code := self.ask(self._bootstrap.split(",")[0], _FIND_COORDINATOR, 3, values).error_code:
            if time.monotonic() > limit:
                check(code, "finding a coordinator")
            time.sleep(0.05)

    def configure_group(self, group: str, configs: Mapping[str, str]) -> None:
        """Settings of one group. Raises RuntimeError if they are refused."""
        changes = [{"name": name, "config_operation": 0, "value": value} for name, value in configs.items()]
        resource = {"resource_type": _GROUP, "resource_name": group, "configs": changes}
        values = {"resources": [resource], "validate_only": False}
        answer = self.ask(self._bootstrap.split(",")[0], _INCREMENTAL_ALTER_CONFIGS, 1, values)
        check(answer.responses[0].error_code, f"settings of {group}")

    def ask(self, address: str, api_key: int, version: int, values: Mapping[str, Any]) -> Any:
        return self.exchange(address, api_key, version, request_frame(api_key, version, values, 1, "conformance"))

    def exchange(self, address: str, api_key: int, version: int, frame: bytes) -> Any:
        """A frame of any making, and its answer."""
        if address not in self._sockets:
            host, _, port = address.rpartition(":")
            self._sockets[address] = socket.create_connection((host.strip("[]"), int(port)), timeout=_LIMIT_S)
        connection = self._sockets[address]
        connection.sendall(frame)
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            return decode_response(api_key, version, stream.read(size))[1]


def check(code: Any, what: str) -> None:
    """Raises RuntimeError for an error code."""
    if code != 0:
        raise RuntimeError(f"{what} failed with error {int(code)}")
