"""The meaning of a producer's error for its record: certainly not written, or possibly written.

Theory   An error is definite if Kafka returns it only when nothing was appended. If Kafka also returns it after an
         append, it leaves the outcome open: the response alone does not tell. This holds for a record that was sent
         once. A client that retries reports only the last error: the first attempt may have been written and only its
         response lost.
Source   the class of Kafka 4.4 that answers it stands in each row; docs/errors.md has the cases in which it was asked.
Limit    Errors that are not in the table, and all errors of clients themselves (timeouts, lost connections), are open.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class ErrorCertainty(NamedTuple):
    is_definite: bool
    source: str


def _definite(source: str) -> ErrorCertainty:
    return ErrorCertainty(True, source)


def _open(source: str) -> ErrorCertainty:
    return ErrorCertainty(False, source)


_AUTHORIZER = "KafkaApis.handleProduceRequest, before anything is appended"
_VALIDATION = "LogValidator.validateMessagesAndAssignOffsets"
_ANALYSIS = "UnifiedLog.analyzeAndValidateRecords"
_PRODUCER_STATE = "ProducerAppendInfo, before the batch is appended"
_COORDINATOR = "TransactionCoordinator, asked before the append by AddPartitionsToTxnManager"

CERTAINTY: Final[dict[str, ErrorCertainty]] = {
    "REQUEST_TIMED_OUT": _open("DelayedProduce.onExpiration: it is in the leader's log"),
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": _open("Partition.checkEnoughReplicasReachOffset: it is in the leader's log"),
    "NOT_LEADER_OR_FOLLOWER": _open("ReplicaManager.getPartitionOrError before, DelayedProduce.tryComplete behind it"),
    "UNKNOWN_TOPIC_OR_PARTITION": _open(
        "KafkaApis before, DelayedProduce.tryComplete behind it: the topic was deleted"
    ),
    "KAFKA_STORAGE_ERROR": _open("ReplicaManager: the disk failed before the append, within it or while it waited"),
    "UNKNOWN_SERVER_ERROR": _open("KafkaApis.handleError: the whole request failed, wherever it had got to"),
    "NETWORK_EXCEPTION": _open("NetworkClient, no broker: the connection was lost"),
    "DUPLICATE_SEQUENCE_NUMBER": _open("brokers before 1.0: a batch with these sequences is written, this or another"),
    "NOT_ENOUGH_REPLICAS": _definite("Partition.appendRecordsToLeader, before the log is asked"),
    "INVALID_REQUIRED_ACKS": _definite("ReplicaManager.appendRecords: acks other than -1, 0 and 1"),
    "UNKNOWN_TOPIC_ID": _definite("KafkaApis.handleProduceRequest: no topic has that id"),
    "INVALID_TOPIC_EXCEPTION": _definite("ReplicaManager.appendToLocalLog: an internal topic"),
    "UNSUPPORTED_VERSION": _definite("ProduceRequest, or the coordinator's version of transactions"),
    "CORRUPT_MESSAGE": _definite(_ANALYSIS),
    "MESSAGE_TOO_LARGE": _definite(_ANALYSIS),
    "RECORD_LIST_TOO_LARGE": _definite("UnifiedLog.append: larger than a segment"),
    "INVALID_RECORD": _definite(_VALIDATION),
    "INVALID_TIMESTAMP": _definite(_VALIDATION),
    "UNSUPPORTED_COMPRESSION_TYPE": _definite(_VALIDATION),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": _definite(f"{_VALIDATION} of brokers before 4.0"),
    "POLICY_VIOLATION": _definite("brokers that are no Apache Kafka, before the append"),
    "TOPIC_AUTHORIZATION_FAILED": _definite(_AUTHORIZER),
    "CLUSTER_AUTHORIZATION_FAILED": _definite(_AUTHORIZER),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": _definite(_AUTHORIZER),
    "OUT_OF_ORDER_SEQUENCE_NUMBER": _definite(_PRODUCER_STATE),
    "INVALID_PRODUCER_EPOCH": _definite(_PRODUCER_STATE),
    "UNKNOWN_PRODUCER_ID": _definite(f"{_PRODUCER_STATE}; brokers before 2.5"),
    "INVALID_TXN_STATE": _definite(_PRODUCER_STATE),
    "INVALID_PRODUCER_ID_MAPPING": _definite(_COORDINATOR),
    "CONCURRENT_TRANSACTIONS": _definite(_COORDINATOR),
    "TRANSACTION_ABORTABLE": _definite(_COORDINATOR),
}


def is_definite(error: str, tries: int = 1) -> bool:
    """Return True if a record with this last error (Kafka's name) after at most `tries` attempts is certainly not
    written."""
    row = CERTAINTY.get(error)
    return row is not None and row.is_definite and tries == 1
