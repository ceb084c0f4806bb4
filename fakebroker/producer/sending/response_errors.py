"""The producer's reaction to an error code of a broker: retry, refresh the metadata, or fail.

Source   Errors.java, errors/RetriableException.java and errors/InvalidMetadataException.java of 2.0 and 4.3;
         tests/golden/producer/errors-*.jsonl has their word on each code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, final

from fakebroker.producer.errors import ProducerError, ProducerTimeoutError
from fakebroker.producer.generation import Generation
from fakebroker.producer.sending import words
from fakebroker.protocol.error_code import ErrorCode, kafka_name
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr

_INVALID_METADATA_2_0: Final = frozenset(
    {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.leader_not_available,
        ErrorCode.not_leader_or_follower,
        ErrorCode.network_exception,
        ErrorCode.kafka_storage_error,
        ErrorCode.listener_not_found,
    }
)
_RETRIABLE_2_0: Final = _INVALID_METADATA_2_0 | {
    ErrorCode.corrupt_message,
    ErrorCode.request_timed_out,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
    ErrorCode.not_enough_replicas,
    ErrorCode.not_enough_replicas_after_append,
    ErrorCode.not_controller,
    ErrorCode.fetch_session_id_not_found,
    ErrorCode.invalid_fetch_session_epoch,
}
_INVALID_METADATA_4_3: Final = _INVALID_METADATA_2_0 | {
    ErrorCode.replica_not_available,
    ErrorCode.fenced_leader_epoch,
    ErrorCode.preferred_leader_not_available,
    ErrorCode.eligible_leaders_not_available,
    ErrorCode.election_not_needed,
    ErrorCode.unknown_topic_id,
    ErrorCode.inconsistent_topic_id,
}
_RETRIABLE_4_3: Final = (
    _RETRIABLE_2_0
    | _INVALID_METADATA_4_3
    | {
        ErrorCode.concurrent_transactions,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.offset_not_available,
        ErrorCode.unstable_offset_commit,
        ErrorCode.throttling_quota_exceeded,
        ErrorCode.fetch_session_topic_id_error,
        ErrorCode.share_session_not_found,
        ErrorCode.invalid_share_session_epoch,
        ErrorCode.share_session_limit_reached,
    }
)
_LAST_CODE_2_0: Final = 72  # LISTENER_NOT_FOUND


@mypyc_attr(acyclic=True)
@final
class PartitionResponse:
    """The response for one partition. `refused` are the batch indexes that the broker names (KIP-467);
    `log_start_offset` is -1 if absent; `message` explains the code."""

    __slots__ = ("base_offset", "code", "log_start_offset", "message", "partition", "refused")

    def __init__(
        self,
        partition: TopicPartition,
        code: int,
        base_offset: int = -1,
        refused: tuple[int, ...] = (),
        log_start_offset: int = -1,
        message: str = "",
    ) -> None:
        self.partition = partition
        self.code = code
        self.base_offset = base_offset
        self.refused = refused
        self.log_start_offset = log_start_offset
        self.message = message

    def with_code(self, code: int) -> PartitionResponse:
        return PartitionResponse(
            self.partition, code, self.base_offset, self.refused, self.log_start_offset, self.message
        )


class BrokerError(ProducerError):
    """An error from a broker, or a lost connection (NETWORK_EXCEPTION). `code` is Kafka's number; `text` may say more
    than its name."""

    def __init__(self, code: int, text: str = "") -> None:
        super().__init__(text or f"A broker answered {kafka_name(code)}.")
        self.code = code
        self.text = text


class PartOfBatchError(ProducerError):
    """The broker refused other records of the batch, so this record failed with them."""


def error_of_records(code: int, refused: Sequence[int], text: str = "") -> Callable[[int], ProducerError]:
    """Return a function from a record's place in the batch to its error, where a response names the refused records
    (KIP-467). A single refused record has the code of the response; several have INVALID_RECORD."""
    own = BrokerError(code if len(refused) <= 1 else ErrorCode.invalid_record, text)
    if not refused:
        return lambda at: own
    others = PartOfBatchError(words.PART_OF_BATCH)
    return lambda at: own if at in refused else others


def known_code(code: int, generation: Generation) -> int:
    """Return the code as the release knows it: later codes become UNKNOWN_SERVER_ERROR."""
    if not generation.has_delivery_timeout and code > _LAST_CODE_2_0:
        return int(ErrorCode.unknown_server_error)
    return int(code)


def is_retriable(code: int, generation: Generation) -> bool:
    """Return True if a retry may succeed. Codes that the release does not know are not retriable."""
    if generation.has_delivery_timeout:
        return code in _RETRIABLE_4_3
    return code in _RETRIABLE_2_0


def is_retriable_error(error: ProducerError, generation: Generation) -> bool:
    """Return True if Kafka's exception is a RetriableException, as its timeouts are."""
    if isinstance(error, BrokerError):
        return is_retriable(error.code, generation)
    return isinstance(error, ProducerTimeoutError)


def has_code(error: ProducerError | None, *codes: int) -> bool:
    return isinstance(error, BrokerError) and error.code in codes


def is_invalid_metadata(code: int, generation: Generation) -> bool:
    """Return True if the client should refresh its metadata."""
    return code in (_INVALID_METADATA_4_3 if generation.has_delivery_timeout else _INVALID_METADATA_2_0)
