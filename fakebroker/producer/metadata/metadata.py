"""The metadata of a producer and when to refresh them: what both generations share.

Theory   Each response makes a new snapshot. A refresh is due when one was requested (a new topic, a wrong leader), or
         when the snapshot is `metadata.max.age.ms` old. A back-off follows each response and each failure. To wait for
         new metadata, remember `answers` and wait until it is larger.
Units    wall or monotonic milliseconds, whichever `now_ms` is in; 0 stands for never, as in Kafka.
Source   clients/.../clients/Metadata.java of 2.0 and 4.3, clients/.../producer/internals/ProducerMetadata.java of 4.3.
Differs  Nodes are in the order of their ids; Kafka shuffles them. It has only what a producer uses: topics by name,
         which brokers may create, and no authentication.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.metadata.metadata_response import MetadataRequest, MetadataResponse
from fakebroker.producer.metadata_snapshot import MetadataSnapshot, Node
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.java_hash import java_hash


class Metadata:
    """The metadata, empty until `bootstrap`. `update_version` counts snapshots, `answers` counts responses of brokers.
    `cluster_id` is that of the last response; 2.0 has none. `fatal_error` says why there will be no more metadata."""

    def __init__(self, config: ProducerConfig) -> None:
        self.config = config
        self.update_version = 0
        self.answers = 0
        self.cluster_id: str | None = None
        self.is_closed = False
        self.fatal_error: ProducerError | None = None
        self._snapshot = MetadataSnapshot()
        self._last_refresh_ms = 0
        self._last_successful_refresh_ms = 0
        self._topics: HashMap[str, int] = HashMap(java_hash)  # by topic, the time until which it is kept

    def fetch(self) -> MetadataSnapshot:
        return self._snapshot

    def bootstrap(self, nodes: Sequence[Node], now_ms: int) -> None:
        """Set the bootstrap addresses, as nodes -1, -2 and so on."""
        raise NotImplementedError

    def add(self, topic: str, now_ms: int) -> None:
        """Record the use of a topic. For a new topic a refresh is requested at once."""
        raise NotImplementedError

    def request_update(self) -> int:
        """Request a refresh. Return the version that the new metadata will exceed."""
        raise NotImplementedError

    def request_update_for_topic(self, topic: str) -> int:
        """Request a refresh for this topic. Return the version that the new metadata will exceed."""
        raise NotImplementedError

    def update_requested(self) -> bool:
        raise NotImplementedError

    def time_to_allow_update_ms(self, now_ms: int) -> int:
        """Return the remaining back-off."""
        raise NotImplementedError

    def new_request(self, now_ms: int) -> MetadataRequest:
        """Return the request to send now."""
        raise NotImplementedError

    def update(self, request: MetadataRequest, response: MetadataResponse, now_ms: int) -> None:
        """Apply a response that names at least one broker. A response without brokers is a failure."""
        raise NotImplementedError

    def failed_update(self, now_ms: int) -> None:
        """Record a failure: no response, or one without brokers."""
        raise NotImplementedError

    def take_error_for_topic(self, topic: str) -> ProducerError | None:
        """Return why the topic cannot be used, by the last response. 4.3 returns an error only once."""
        raise NotImplementedError

    def error_of(self, topic: str) -> int:
        """Return the error code of the topic in the last response, 0 for none."""
        raise NotImplementedError

    def time_to_next_update_ms(self, now_ms: int) -> int:
        """Return the time until the next refresh is due, 0 for now."""
        age_ms = now_ms - self._last_successful_refresh_ms
        to_expire_ms = 0 if self.update_requested() else max(self.config.metadata_max_age_ms - age_ms, 0)
        return max(to_expire_ms, self.time_to_allow_update_ms(now_ms))

    def contains_topic(self, topic: str) -> bool:
        return self._topics.get(topic) is not None

    def topics(self) -> list[str]:
        """Return the topics to request, in the order of the request."""
        return [topic for topic, _ in self._topics.items()]

    def topic_ids(self) -> dict[str, str]:
        """Return the topic ids by name, as far as brokers sent them (KIP-516)."""
        return {}

    def close(self) -> None:
        self.is_closed = True
