"""The rules of Kafka behind the errors of a Produce, one sentence each.

Source   core/.../server/DelayedProduce.scala, ReplicaManager.scala, core/.../cluster/Partition.scala,
         storage/.../log/{LogValidator,ProducerAppendInfo}.java @ 4.0.
"""

from __future__ import annotations

from typing import Final

REASONS: Final = {
    "REQUEST_TIMED_OUT": "it is appended, and the in-sync replicas did not all have it when timeout.ms was over",
    "NOT_ENOUGH_REPLICAS": "acks=all, and fewer are in sync than min.insync.replicas: nothing was appended",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "it is appended and replicated, but fewer than min.insync.replicas are in sync",
    "NOT_LEADER_OR_FOLLOWER": "this broker does not lead the partition, or ceased to while the request waited",
    "UNKNOWN_TOPIC_OR_PARTITION": "the partition does not exist, or was deleted while the request waited",
    "UNKNOWN_TOPIC_ID": "no topic has that id",
    "CORRUPT_MESSAGE": "the checksum or the layout of the batch is wrong",
    "MESSAGE_TOO_LARGE": "the batch is larger than max.message.bytes",
    "INVALID_REQUIRED_ACKS": "acks is none of -1, 0 and 1",
    "INVALID_TOPIC_EXCEPTION": "clients do not write to internal topics",
    "INVALID_TIMESTAMP": "the timestamp is out of the range that the topic allows",
    "INVALID_RECORD": "a record is refused by the rules of the topic",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "the sequence is not the one that follows the producer's last one",
    "DUPLICATE_SEQUENCE_NUMBER": "the batch was written long ago",
    "INVALID_PRODUCER_EPOCH": "a newer producer of that id has written",
    "UNKNOWN_PRODUCER_ID": "the partition knows nothing of the producer",
    "INVALID_TXN_STATE": "the partition was not added to the transaction",
    "CONCURRENT_TRANSACTIONS": "the producer's last transaction is still being ended",
    "UNSUPPORTED_COMPRESSION_TYPE": "this version of Produce does not have that codec",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "records of a transaction need a transactional id",
}


def reason_of(errors: list[str]) -> str:
    """Return the reasons of a response with these errors."""
    reasons = [
        f"{error}: {REASONS.get(error, 'so Kafka answers')}" for error in dict.fromkeys(errors) if error != "NONE"
    ]
    return "; ".join(reasons)
