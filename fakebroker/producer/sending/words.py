"""The messages of the exceptions that Kafka's producer creates itself, by release.

The errors of brokers are named by their codes (sending/response_errors.py); messages of codes are not here.

Source   The texts in ProducerBatch, Sender, KafkaProducer, RecordAccumulator and BufferPool of kafka-clients: `2.0.1,
         2.1.0, 2.2.2, 2.3.1, 2.4.1, 2.5.1, 2.6.3, 2.7.2, 2.8.2, 3.0.2, 3.1.2, 3.5.2, 3.9.1, 4.1.0, 4.2.0, 4.3.1,
         4.4.0`.
"""

from __future__ import annotations

from typing import Final

from fakebroker.producer.generation import Generation
from fakebroker.protocol.topic_partition import TopicPartition

_TELLS_REQUEST_LIMIT: Final = Generation("2.5")
_NAMES_LOST_NODE: Final = Generation("2.8")
_TELLS_OF_MEMORY: Final = Generation("3.1")
_EXPLAINS_EXPIRY: Final = Generation("4.3")  # also adds the expected steps to timeouts of transactional calls
_NAMES_OPERATION: Final = Generation("2.3")
_ABBREVIATES: Final = Generation("3.1")

_AWAITED: Final = {  # by call
    "initTransactions": "InitTransactions timed out - did not complete coordinator discovery or receive the "
    "InitProducerId response within max.block.ms.",
    "sendOffsetsToTransaction": "SendOffsetsToTransaction timed out - did not reach the coordinator or receive the "
    "TxnOffsetCommit/AddOffsetsToTxn response within max.block.ms",
    "commitTransaction": "CommitTransaction timed out - did not complete EndTxn with the transaction coordinator "
    "within max.block.ms",
    "abortTransaction": "AbortTransaction timed out - did not complete EndTxn(abort) with the transaction coordinator "
    "within max.block.ms",
}

CLOSED: Final = "Cannot perform operation after producer has been closed"
CLOSED_BY_FORCE: Final = "Producer is closed forcefully."
CLOSED_WHILE_SENDING: Final = "Producer closed while send in progress"
CLOSED_WHILE_ALLOCATING: Final = "Producer closed while allocating memory"
TRANSACTION_ABORTED: Final = "Failing batch since transaction was aborted"
NO_TRANSACTIONS: Final = (
    "Cannot use transactional methods without enabling transactions by setting the transactional.id configuration "
    "property"
)
PART_OF_BATCH: Final = "Failed to append record because it was part of a batch which had one more more invalid records"


def expired_2_0(records: int, partition: TopicPartition, ms: int, since: str) -> str:
    return f"Expiring {records} record(s) for {partition}: {ms} ms has passed since {since}"


def expired(records: int, partition: TopicPartition, ms: int, generation: Generation) -> str:
    """Return the message of an expired batch since KIP-91."""
    more = ". The request has not been sent, or no server response has been received yet."
    text = f"Expiring {records} record(s) for {partition}:{ms} ms has passed since batch creation"
    return text + more if generation >= _EXPLAINS_EXPIRY else text


def no_metadata(topic: str, partition: int | None, partitions: int, ms: int, generation: Generation) -> str:
    """Return the message of a metadata timeout. `partitions` is the known number of partitions of the topic."""
    if not generation.waits_for_partitions:
        return f"Failed to update metadata after {ms} ms."
    if partitions:
        return (
            f"Partition {partition} of topic {topic} with partition count {partitions} is not present in metadata "
            f"after {ms} ms."
        )
    return f"Topic {topic} not present in metadata after {ms} ms."


def no_such_partition(partition: int | None, partitions: int) -> str:
    return f"Invalid partition given with record: {partition} is not in the range [0...{partitions})."


def too_large_for_request(size: int, most: int, generation: Generation) -> str:
    text = f"The message is {size} bytes when serialized which is larger than"
    if generation >= _TELLS_REQUEST_LIMIT:
        return f"{text} {most}, which is the value of the max.request.size configuration."
    return f"{text} the maximum request size you have configured with the max.request.size configuration."


def too_large_for_memory(size: int) -> str:
    return (
        f"The message is {size} bytes when serialized which is larger than the total memory buffer you have configured "
        "with the buffer.memory configuration."
    )


def more_than_all_memory(size: int, most: int) -> str:
    return f"Attempt to allocate {size} bytes, but there is a hard limit of {most} on memory allocations."


def no_memory(size: int, ms: int, total: int, available: int, poolable: int, generation: Generation) -> str:
    """Return the message of an allocation that took longer than max.block.ms."""
    if generation < _TELLS_OF_MEMORY:
        return f"Failed to allocate memory within the configured max blocking time {ms} ms."
    return (
        f"Failed to allocate {size} bytes within the configured max blocking time {ms} ms. Total memory: {total} "
        f"bytes. Available memory: {available} bytes. Poolable size: {poolable} bytes"
    )


def disconnected(node: int, is_timed_out: bool, generation: Generation) -> str:
    """Return the message of a lost connection, which the client closed itself after a timeout (`is_timed_out`, 3.5)."""
    if generation < _NAMES_LOST_NODE:
        return "The server disconnected before a response was received."
    return f"Disconnected from node {node}" + (" due to timeout" if is_timed_out else "")


def not_done_in_time(call: str, operation: str, ms: int, generation: Generation) -> str:
    """Return the message of a transactional `call` that timed out while it waited for `operation`."""
    if generation < _NAMES_OPERATION:
        return f"Timeout expired while initializing transactional state in {ms}ms."
    if generation < _ABBREVIATES:
        return f"Timeout expired after {ms} milliseconds while awaiting {operation}"
    text = f"Timeout expired after {ms}ms while awaiting {operation}"
    return f"{text}. {_AWAITED[call]}" if generation >= _EXPLAINS_EXPIRY else text
