"""What a producer knows of the cluster, and when it should ask again: what both generations share.

Theory   A snapshot that answers replace. It is asked anew when somebody wants it (a topic is new, a leader is wrong),
         and when it is `metadata.max.age.ms` old; after an answer and after a failure not before a back-off. Who waits
         for news remembers `answers` and waits until it is larger.
Units    wall or monotonic milliseconds, as `now_ms` has them; 0 stands for never, as in Kafka.
Source   clients/.../clients/Metadata.java of 2.0 and 4.3, clients/.../producer/internals/ProducerMetadata.java of 4.3.
Differs  Nodes come by their ids, where Kafka shuffles them. Only what a producer uses: named topics that brokers may
         create, no authentication.
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
    """Begins without anything; `bootstrap` comes first. `update_version` counts what replaced all that was known,
    `answers` those that came from brokers. `cluster_id` is what the last one says; 2.0 has no use for it.
    `fatal_error`: why there will be none."""

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
        self._topics: HashMap[str, int] = HashMap(java_hash)  # until when each is kept

    def fetch(self) -> MetadataSnapshot:
        return self._snapshot

    def bootstrap(self, nodes: Sequence[Node], now_ms: int) -> None:
        """The addresses that are known at first, as nodes -1, -2 and so on."""
        raise NotImplementedError

    def add(self, topic: str, now_ms: int) -> None:
        """It is used. A topic that is new is asked for at once."""
        raise NotImplementedError

    def request_update(self) -> int:
        """News are wanted. The version that they will exceed."""
        raise NotImplementedError

    def request_update_for_topic(self, topic: str) -> int:
        """The same, for this topic."""
        raise NotImplementedError

    def update_requested(self) -> bool:
        raise NotImplementedError

    def time_to_allow_update_ms(self, now_ms: int) -> int:
        """What is left of the back-off."""
        raise NotImplementedError

    def new_request(self, now_ms: int) -> MetadataRequest:
        """What to ask now."""
        raise NotImplementedError

    def update(self, request: MetadataRequest, response: MetadataResponse, now_ms: int) -> None:
        """The answer. It names brokers: without any, it is a failure."""
        raise NotImplementedError

    def failed_update(self, now_ms: int) -> None:
        """No answer came, or one that says nothing."""
        raise NotImplementedError

    def take_error_for_topic(self, topic: str) -> ProducerError | None:
        """Why the topic cannot be used, as the last answer has it; it is told once."""
        raise NotImplementedError

    def error_of(self, topic: str) -> int:
        """The error code of the topic in the last answer, 0 for none."""
        raise NotImplementedError

    def time_to_next_update_ms(self, now_ms: int) -> int:
        """Until the cluster should be asked: 0 for now."""
        age_ms = now_ms - self._last_successful_refresh_ms
        to_expire_ms = 0 if self.update_requested() else max(self.config.metadata_max_age_ms - age_ms, 0)
        return max(to_expire_ms, self.time_to_allow_update_ms(now_ms))

    def contains_topic(self, topic: str) -> bool:
        return self._topics.get(topic) is not None

    def topics(self) -> list[str]:
        """Those that are asked for, in the order in which they are."""
        return [topic for topic, _ in self._topics.items()]

    def topic_ids(self) -> dict[str, str]:
        """The ids of topics, by name, as far as brokers told them (KIP-516)."""
        return {}

    def close(self) -> None:
        self.is_closed = True
