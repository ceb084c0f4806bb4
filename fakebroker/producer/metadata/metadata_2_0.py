"""The producer's metadata of Kafka 2.0.

Theory   Each response replaces the whole snapshot. When a response arrives, topics that were not used for five minutes
         are dropped. After each response and each failure there is a constant back-off of `retry.backoff.ms`.
Source   clients/.../clients/Metadata.java of 2.0; MetadataResponse.cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_response import MetadataRequest, MetadataResponse
from fakebroker.producer.metadata_snapshot import MetadataSnapshot, Node, PartitionInfo
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

_TOPIC_EXPIRY_MS: Final = 300_000
_NEEDS_UPDATE: Final = -1  # used since the last response


class Metadata20(Metadata):
    def __init__(self, config: ProducerConfig) -> None:
        super().__init__(config)
        self._need_update = False
        self._errors: dict[str, int] = {}

    def bootstrap(self, nodes: Sequence[Node], now_ms: int) -> None:
        self._replace(MetadataSnapshot(nodes=nodes), now_ms)

    def add(self, topic: str, now_ms: int) -> None:
        is_new = not self.contains_topic(topic)
        self._topics.put(topic, _NEEDS_UPDATE)
        if is_new:
            self._last_refresh_ms = 0
            self.request_update()

    def request_update(self) -> int:
        self._need_update = True
        return self.update_version

    def request_update_for_topic(self, topic: str) -> int:
        return self.request_update()

    def update_requested(self) -> bool:
        return self._need_update

    def time_to_allow_update_ms(self, now_ms: int) -> int:
        return max(self._last_refresh_ms + self.config.retry_backoff_ms - now_ms, 0)

    def new_request(self, now_ms: int) -> MetadataRequest:
        return MetadataRequest(self.topics())

    def update(self, request: MetadataRequest, response: MetadataResponse, now_ms: int) -> None:
        self.answers += 1
        self._errors = response.errors()
        partitions = [
            PartitionInfo(TopicPartition(topic.name, partition.partition), partition.leader)
            for topic in response.topics
            if topic.error == ErrorCode.none
            for partition in topic.partitions
        ]
        self._replace(MetadataSnapshot(partitions, sorted(response.brokers)), now_ms)

    def failed_update(self, now_ms: int) -> None:
        self._last_refresh_ms = now_ms

    def take_error_for_topic(self, topic: str) -> ProducerError | None:
        code = self.error_of(topic)
        return BrokerError(code) if code == ErrorCode.topic_authorization_failed else None

    def error_of(self, topic: str) -> int:
        return self._errors.get(topic, ErrorCode.none)

    def _replace(self, snapshot: MetadataSnapshot, now_ms: int) -> None:
        self._need_update = False
        self._last_refresh_ms = self._last_successful_refresh_ms = now_ms
        self.update_version += 1
        for topic, expire_ms in self._topics.items():
            if expire_ms == _NEEDS_UPDATE:
                self._topics.put(topic, now_ms + _TOPIC_EXPIRY_MS)
            elif expire_ms <= now_ms:
                self._topics.remove(topic)
        self._snapshot = snapshot
