"""Topics, and the checks of a new one.

Source   metadata/.../controller/ReplicationControlManager.java createTopics, validateNewTopicNames,
         validateTotalNumberOfPartitions; QuorumController.java MAX_RECORDS_PER_USER_OP; EventHandlerExceptionInfo.java
         for BoundedListTooLongException @ 4.0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from fakebroker.core.config.setting import ConfigEntry
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol import topic_name
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

MAX_PARTITIONS_PER_BATCH: Final = 10_000  # of all topics of one request
MAX_RECORDS_PER_USER_OP: Final = 10_000  # records of the metadata log for one request
TOPICS_OF_A_SLICE: Final = 128  # topics checked; a topic that is created takes a slice of its own


class NewTopic(NamedTuple):
    """A topic to create. -1 means the broker's default; `assignments` are pairs of partition and broker ids."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: Collection[tuple[int, Sequence[int]]] = ()
    configs: Mapping[str, str | None] = {}


class Topic:
    """A topic: `partitions[i]` is partition i. `configs` are its own settings, as given."""

    __slots__ = ("configs", "effective_configs", "name", "partitions", "topic_id")

    def __init__(
        self,
        name: str,
        topic_id: UUID,
        partitions: list[Partition],
        configs: Mapping[str, str],
        effective_configs: Sequence[ConfigEntry],
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = partitions
        self.configs = configs
        self.effective_configs = effective_configs


def new_name_error(
    name: str, topics: Collection[str], by_unified_name: Mapping[str, Collection[str]]
) -> KafkaError | None:
    """Return the error of a new topic's name, or None. `by_unified_name` finds the topics with colliding names."""
    if name == topic_name.CLUSTER_METADATA_TOPIC_NAME:
        return KafkaError(ErrorCode.invalid_request, f"Creation of internal topic {name} is prohibited.")
    if name in topics:
        return KafkaError(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
    if topic_name.has_collision_chars(name):
        colliding = by_unified_name.get(topic_name.unify_collision_chars(name))
        if colliding:
            return KafkaError(
                ErrorCode.invalid_topic_exception,
                f"Topic '{name}' collides with existing topic: {next(iter(colliding))}",
            )
    try:
        topic_name.validate(name)
    except KafkaError as error:
        return error
    return None


def validate_total_number_of_partitions(topics: Sequence[NewTopic], default: int) -> Slices[None]:
    """Raise POLICY_VIOLATION if one request asks for too many partitions, valid or not."""
    total = 0
    for number, topic in enumerate(topics):
        if topic.name != topic_name.CLUSTER_METADATA_TOPIC_NAME:
            count = default if topic.num_partitions == -1 else max(topic.num_partitions, 0)
            total += len(topic.assignments) or count
            if total > MAX_PARTITIONS_PER_BATCH:
                raise KafkaError(ErrorCode.policy_violation, "Excessively large number of partitions per request.")
        if number % TOPICS_OF_A_SLICE == TOPICS_OF_A_SLICE - 1:
            yield


class RecordsOfOperation:
    """The number of metadata log records that one request would make. None is made here, but the number is limited."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def add_topic(self, configs: int, partitions: int) -> None:
        """Add the records of a topic, its settings and partitions. Raise POLICY_VIOLATION if there are too many."""
        self._count += 1 + configs + partitions
        if self._count > MAX_RECORDS_PER_USER_OP:
            raise KafkaError(ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")
