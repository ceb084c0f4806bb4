"""The errors of a producer's records and calls. `kafka_name` is the name of the exception in Kafka's Java client."""

from __future__ import annotations


class ProducerError(Exception):
    """The base class: a record or a call failed."""

    kafka_name = "KafkaException"


class ProducerClosedError(ProducerError):
    """The producer was closed, or is being closed."""


class AfterCloseError(ProducerClosedError):
    """A call to a producer that is already closed."""

    kafka_name = "IllegalStateException"


class ProducerTimeoutError(ProducerError):
    """A record, or an append that waited, timed out."""

    kafka_name = "TimeoutException"


class BufferExhaustedError(ProducerTimeoutError):
    """No memory within `max.block.ms` (before 2.6 it is a plain TimeoutException)."""

    kafka_name = "BufferExhaustedException"


class BufferTooSmallError(ProducerError):
    """One record needs more than all of `buffer.memory`."""

    kafka_name = "IllegalArgumentException"


class RecordTooLargeError(ProducerError):
    """A single record is larger than max.request.size or buffer.memory allows."""

    kafka_name = "RecordTooLargeException"


class ProducerConfigError(ProducerError):
    """A setting that Kafka's producer would refuse. The text names the setting and the allowed values."""

    kafka_name = "ConfigException"


class UnknownCompressionError(ProducerConfigError):
    """A compression.type that the release does not know. 2.0 does not report it as a ConfigException."""

    kafka_name = "IllegalArgumentException"


class IllegalProducerStateError(ProducerError):
    """The call is not allowed in the current state, or the producer's own bookkeeping is inconsistent."""

    kafka_name = "IllegalStateException"


class NothingInFlightError(ProducerError):
    """An error of 2.0: it reads the in-flight batches of a partition that has none since the producer id was reset."""

    kafka_name = "NullPointerException"


class TransactionAbortedError(ProducerError):
    """The transaction of the record was aborted before it was sent (4.3)."""

    kafka_name = "TransactionAbortedException"


class CommitFailedError(ProducerError):
    """The offsets are not committed: the group does not know this member or this generation."""

    kafka_name = "CommitFailedException"
