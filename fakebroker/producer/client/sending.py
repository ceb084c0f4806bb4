"""A record between `send` and its batch: it may wait for the metadata of its topic, then for memory.

Theory   Both waits together take at most `max.block.ms`. A record that waits for metadata needs a response newer than
         the known metadata. If that does not contain the topic or the partition, the wait continues.
Units    milliseconds.
Source   KafkaProducer.waitOnMetadata and doSend of 2.0 and 4.3.
"""

from __future__ import annotations

from typing import Final

from fakebroker.producer.append import RecordAppend
from fakebroker.producer.errors import ProducerError, ProducerTimeoutError
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata_snapshot import MetadataSnapshot
from fakebroker.producer.producer_batch import Callback
from fakebroker.producer.record_batch_builder import Headers
from fakebroker.producer.sending import words
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import ErrorCode

_INVALID_TOPIC: Final = int(ErrorCode.invalid_topic_exception)


class InvalidPartitionError(ProducerError):
    """The topic does not have this partition (before 2.2). `send` throws it as a plain KafkaException."""


class Sending:
    """A record that was sent. When `is_done`, it is in a batch of `partition`, or `error` says why not. Until then a
    caller of Kafka's `send` would be blocked. `append` is set while it waits for memory. `number` is its number in
    events, -1 without a listener."""

    __slots__ = (
        "answers", "append", "began_ms", "callback", "error", "headers", "is_done", "key", "number", "partition",
        "timestamp_ms", "topic", "value",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        timestamp_ms: int,
        callback: Callback | None,
        now_ms: int,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
        self.timestamp_ms = timestamp_ms
        self.callback = callback
        self.began_ms = now_ms
        self.answers = -1  # the number of responses when the wait began
        self.is_done = False
        self.number = -1
        self.append: RecordAppend | None = None
        self.error: ProducerError | None = None


def is_known(sending: Sending, snapshot: MetadataSnapshot) -> bool:
    """Return True if the metadata contain the partition, or any partition of the topic if none is set."""
    count = len(snapshot.partitions_for_topic(sending.topic))
    return count > 0 and (sending.partition is None or sending.partition < count)


def wait_on_metadata(sending: Sending, metadata: Metadata, now_ms: int) -> bool:
    """Return True if the metadata contain all that the record needs. Otherwise request a refresh. Then call
    `goes_on_after_waiting` after each response and at the deadline. Raises ProducerError."""
    if metadata.config.generation.has_delivery_timeout:
        code = metadata.fetch().topic_errors.get(sending.topic)
        if code is not None and code == _INVALID_TOPIC:
            raise BrokerError(code)
    metadata.add(sending.topic, now_ms)
    if is_known(sending, metadata.fetch()):
        return True
    metadata.request_update_for_topic(sending.topic)
    sending.answers = metadata.answers
    return False


def goes_on_after_waiting(sending: Sending, metadata: Metadata, now_ms: int) -> bool:
    """Return True if a waiting record can continue. Raises ProducerError, also at the deadline."""
    max_block_ms = metadata.config.max_block_ms
    if metadata.fatal_error is not None:
        error, metadata.fatal_error = metadata.fatal_error, None
        raise error
    is_late = now_ms - sending.began_ms >= max_block_ms
    # Only responses wake Kafka's thread; a rebootstrap changes the version but does not.
    is_news = metadata.answers > sending.answers
    if is_late:
        count = len(metadata.fetch().partitions_for_topic(sending.topic))
        generation = metadata.config.generation
        raise ProducerTimeoutError(words.no_metadata(sending.topic, sending.partition, count, max_block_ms, generation))
    if not is_news:
        return False
    error_of_topic = metadata.take_error_for_topic(sending.topic)
    if error_of_topic is not None:
        raise error_of_topic
    if is_known(sending, metadata.fetch()):
        return True
    count = len(metadata.fetch().partitions_for_topic(sending.topic))
    if count and not metadata.config.generation.waits_for_partitions:
        raise InvalidPartitionError(words.no_such_partition(sending.partition, count))
    metadata.add(sending.topic, now_ms)
    metadata.request_update_for_topic(sending.topic)
    sending.answers = metadata.answers
    return False
