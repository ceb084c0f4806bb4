"""The requests of a transaction manager, their responses, and their results.

Source   the request builders and clients/.../producer/internals/TransactionalRequestResult.java of 2.0 and 4.3.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.protocol.topic_partition import TopicPartition


class CoordinatorType(Enum):
    """The kind of a coordinator; the value is the key type of FindCoordinator."""

    GROUP = 0
    TRANSACTION = 1


class InitProducerId(NamedTuple):
    transactional_id: str | None
    timeout_ms: int
    producer: ProducerIdAndEpoch


class AddPartitionsToTxn(NamedTuple):
    transactional_id: str
    producer: ProducerIdAndEpoch
    partitions: tuple[TopicPartition, ...]


class AddOffsetsToTxn(NamedTuple):
    transactional_id: str
    producer: ProducerIdAndEpoch
    group_id: str


class GroupMetadata(NamedTuple):
    """The group of which offsets are committed; 2.0 uses only `group_id`."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class TxnOffsetCommit(NamedTuple):
    """A TxnOffsetCommit. `offsets` has the next offset to read of each partition. `is_v2`: transactions of version 2
    (KIP-890)."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    group: GroupMetadata
    offsets: dict[TopicPartition, int]
    is_v2: bool


class EndTxn(NamedTuple):
    transactional_id: str
    producer: ProducerIdAndEpoch
    committed: bool
    is_v2: bool


class FindCoordinator(NamedTuple):
    """A FindCoordinator. `key` is the group or the transactional id; None if a producer without one looks for its
    coordinator."""

    kind: CoordinatorType
    key: str | None


TxnRequest = InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | TxnOffsetCommit | EndTxn | FindCoordinator


class TxnAnswer(NamedTuple):
    """A response, with the fields that its request has: error code, coordinator node, producer, error codes by
    partition."""

    code: int = 0
    node: int = -1
    producer: ProducerIdAndEpoch = ProducerIdAndEpoch()
    partitions: tuple[tuple[TopicPartition, int], ...] = ()


class TransactionalRequestResult:
    """The result that a caller waits for. `is_acked`: the caller has received it; until then the same call returns it
    again (4.3)."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.error: ProducerError | None = None
        self.is_completed = False
        self.is_acked = False

    def done(self) -> None:
        self.is_completed = True

    def fail(self, error: ProducerError) -> None:
        self.error = error
        self.is_completed = True

    def acknowledge(self) -> None:
        """Mark the result as received by the caller. Raises its error, if it has one."""
        assert self.is_completed, f"{self.operation} is not done"
        self.is_acked = True
        if self.error is not None:
            raise self.error
