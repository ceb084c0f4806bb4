"""What a transaction manager asks of brokers, what it is answered, and how it hears that something is done.

Source   the request builders and clients/.../producer/internals/TransactionalRequestResult.java of 2.0 and 4.3.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.protocol.topic_partition import TopicPartition


class CoordinatorType(Enum):
    """By the key type of FindCoordinator."""

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
    """On whose behalf offsets are committed; 2.0 knows only the group."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class TxnOffsetCommit(NamedTuple):
    """`offsets`: the next one to read of each partition. `is_v2`: transactions of version 2 (KIP-890)."""

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
    """`key`: the group or the transactional id, None of a producer that has none and is told to look for one."""

    kind: CoordinatorType
    key: str | None


TxnRequest = InitProducerId | AddPartitionsToTxn | AddOffsetsToTxn | TxnOffsetCommit | EndTxn | FindCoordinator


class TxnAnswer(NamedTuple):
    """What a broker answers, as far as the request has it: an error code, the coordinator's node, the producer, an
    error code of each partition."""

    code: int = 0
    node: int = -1
    producer: ProducerIdAndEpoch = ProducerIdAndEpoch()
    partitions: tuple[tuple[TopicPartition, int], ...] = ()


class TransactionalRequestResult:
    """What the caller waits for. `is_acked`: it has heard of it; until then the same call gives it again (4.3)."""

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
        """The caller has waited and hears of it: raises what it ended with."""
        assert self.is_completed, f"{self.operation} is not done"
        self.is_acked = True
        if self.error is not None:
            raise self.error
