"""What a producer is told instead of an offset. `kafka_name` is the exception's name in Kafka's Java client."""

from __future__ import annotations


class ProducerError(Exception):
    """Anything that ends a record other than by being written."""

    kafka_name = "KafkaException"


class ProducerClosedError(ProducerError):
    """The producer was closed, or is being closed."""


class AfterCloseError(ProducerClosedError):
    """Something was asked of a producer that is closed."""

    kafka_name = "IllegalStateException"


class ProducerTimeoutError(ProducerError):
    """A record, or who wanted to append one, waited too long."""

    kafka_name = "TimeoutException"


class BufferExhaustedError(ProducerTimeoutError):
    """No memory within `max.block.ms` (before 2.6 it is a plain TimeoutException)."""

    kafka_name = "BufferExhaustedException"


class BufferTooSmallError(ProducerError):
    """One record needs more than all of `buffer.memory`."""

    kafka_name = "IllegalArgumentException"


class RecordTooLargeError(ProducerError):
    """A record alone is larger than a request, or all of the memory, may be."""

    kafka_name = "RecordTooLargeException"


class ConfigError(ProducerError):
    """A setting that Kafka's producer would refuse; the text says which, and what would be right."""

    kafka_name = "ConfigException"


class UnknownCompressionError(ConfigError):
    """A compression.type that the release does not know; 2.0 does not see it as a setting's mistake."""

    kafka_name = "IllegalArgumentException"


class IllegalProducerStateError(ProducerError):
    """The producer was asked for what it cannot do now, or its own bookkeeping does not fit."""

    kafka_name = "IllegalStateException"


class NothingInFlightError(ProducerError):
    """2.0 looks for the batches in flight of a partition that has none since the producer id was reset, and breaks."""

    kafka_name = "NullPointerException"


class TransactionAbortedError(ProducerError):
    """The transaction of the record was aborted before it was sent (4.3)."""

    kafka_name = "TransactionAbortedException"


class CommitFailedError(ProducerError):
    """Offsets are not committed: who commits is no member of the group, or not of this generation."""

    kafka_name = "CommitFailedException"
