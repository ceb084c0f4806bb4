"""Idempotent producers: what a partition remembers of each, and what it answers (ProducerAppendInfo, 4.4)."""

from __future__ import annotations

from conformance.frames import batch, produce
from conformance.scenario import Case, ReadLog, Send, Settle, Topic

_LARGEST = (1 << 31) - 1


def _batch(producer_id: int, epoch: int, sequence: int, count: int = 1, codec: int = 0) -> bytes:
    values = [b"%d" % (sequence + n) for n in range(count)]
    return batch(*values, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


# name: (why, (epoch, sequence, count), ...)
_SEQUENCES: dict[str, tuple[str, tuple[tuple[int, int, int], ...]]] = {
    "in-order": ("consecutive sequences", ((0, 0, 3), (0, 3, 2), (0, 5, 1))),
    "first-odd": ("an unknown producer may start with any sequence (KIP-360)", ((0, 17, 2), (0, 19, 1))),
    "gap": (
        "a gap: OUT_OF_ORDER_SEQUENCE_NUMBER until the missing batch arrives",
        ((0, 0, 1), (0, 2, 1), (0, 3, 1), (0, 1, 1), (0, 2, 1)),
    ),
    "duplicate-last": ("the last batch again: its first response", ((0, 0, 2), (0, 2, 2), (0, 2, 2))),
    "duplicate-first": ("the first batch again", ((0, 0, 2), (0, 2, 2), (0, 0, 2))),
    "duplicate-oldest-of-five": ("the oldest of five batches again", (*((0, n, 1) for n in range(5)), (0, 0, 1))),
    "duplicate-sixth": (
        "the sixth last batch is not remembered: OUT_OF_ORDER_SEQUENCE_NUMBER",
        (*((0, n, 1) for n in range(6)), (0, 0, 1), (0, 1, 1)),
    ),
    "duplicate-twice": ("a duplicate can be sent any number of times", ((0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 1, 1))),
    "overlap-longer": (
        "the same first sequence with more records: OUT_OF_ORDER_SEQUENCE_NUMBER",
        ((0, 0, 2), (0, 0, 3)),
    ),
    "overlap-shorter": (
        "the same first sequence with fewer records: OUT_OF_ORDER_SEQUENCE_NUMBER",
        ((0, 0, 3), (0, 0, 2)),
    ),
    "overlap-end": ("the last part of a batch: OUT_OF_ORDER_SEQUENCE_NUMBER", ((0, 0, 3), (0, 1, 2))),
    "overlap-beyond": ("half of a known batch and new records: OUT_OF_ORDER_SEQUENCE_NUMBER", ((0, 0, 3), (0, 2, 3))),
    "spans-two": ("two known batches in one: OUT_OF_ORDER_SEQUENCE_NUMBER", ((0, 0, 2), (0, 2, 2), (0, 0, 4))),
    "below": ("a sequence before the first one: OUT_OF_ORDER_SEQUENCE_NUMBER", ((0, 10, 1), (0, 3, 1))),
    "wrap": ("sequence 0 follows 2^31 - 1", ((0, _LARGEST, 1), (0, 0, 1))),
    "wrap-inside": (
        "a batch with sequences on both sides of the wrap",
        ((0, _LARGEST - 1, 4), (0, 2, 1), (0, _LARGEST - 1, 4)),
    ),
    "wrap-gap": (
        "sequence 0 before 2^31 - 1 is reached: OUT_OF_ORDER_SEQUENCE_NUMBER",
        ((0, _LARGEST - 1, 1), (0, 0, 1)),
    ),
    "wrap-exact": ("a batch that ends at 2^31 - 1", ((0, _LARGEST - 2, 3), (0, 0, 2), (0, _LARGEST - 2, 3))),
    "epoch-older": ("an older epoch: INVALID_PRODUCER_EPOCH", ((3, 0, 1), (2, 1, 1), (2, 0, 1), (3, 1, 1))),
    "epoch-older-duplicate": (
        "a known batch of an older epoch again: INVALID_PRODUCER_EPOCH",
        ((0, 0, 1), (1, 0, 1), (0, 0, 1)),
    ),
    "epoch-newer-0": ("a newer epoch starts with sequence 0", ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 1))),
    "epoch-newer-odd": (
        "a newer epoch with another sequence: OUT_OF_ORDER_SEQUENCE_NUMBER, and nothing changes",
        ((0, 0, 1), (1, 1, 1), (0, 1, 1)),
    ),
    "epoch-newer-same-sequence": (
        "the same sequence in a new epoch is not a duplicate",
        ((0, 0, 2), (1, 0, 2), (1, 0, 2)),
    ),
    "epoch-skips": ("an epoch may skip numbers", ((0, 0, 1), (9, 0, 1), (32767, 0, 1), (32767, 1, 1))),
    "epoch-first-odd": (
        "an unknown producer may start with any epoch and sequence",
        ((5, 100, 1), (5, 101, 1), (4, 102, 1)),
    ),
    "sequence-0-again": (
        "sequence 0 again in the same epoch with another length: OUT_OF_ORDER_SEQUENCE_NUMBER",
        ((0, 0, 1), (0, 1, 1), (0, 0, 2)),
    ),
}


def _sequences(number: int, name: str, why: str, sent: tuple[tuple[int, int, int], ...]) -> Case:
    topic = Topic(f"idempotence-{name}")
    frames = tuple(
        produce(topic.name, _batch(5000 + number, *numbers), correlation_id=n) for n, numbers in enumerate(sent, 1)
    )
    return Case(f"idempotence/{name}", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _case(name: str, why: str, topic: Topic, *frames: bytes) -> Case:
    read = tuple(ReadLog(topic.name, index) for index in range(topic.partitions))
    return Case(f"idempotence/{name}", why, (Send(frames), Settle(), *read), (topic,))


_PARTITIONS = Topic("idempotence-partitions", 2)
_PRODUCERS = Topic("idempotence-producers")
_CODECS = Topic("idempotence-codecs")
_ACKS_1 = Topic("idempotence-acks-1")
_ACKS_0 = Topic("idempotence-acks-0")
_ACKS_0_BAD = Topic("idempotence-acks-0-bad")
_APPEND_TIME = Topic("idempotence-append-time", configs={"message.timestamp.type": "LogAppendTime"})
_VERSIONS = Topic("idempotence-versions")
_OTHER = Topic("idempotence-other-records")
_MIXED = Topic("idempotence-mixed")
_ZERO = Topic("idempotence-producer-0")
_LAST = Topic("idempotence-last-producer")
_REFUSED = Topic("idempotence-refused")
_ONE_REQUEST = Topic("idempotence-one-request", 3)
_COMPACT = Topic("idempotence-no-epoch")

CASES: list[Case] = [
    *(_sequences(number, name, why, sent) for number, (name, (why, sent)) in enumerate(_SEQUENCES.items())),
    _case(
        "partitions",
        "the same batch to two partitions: each partition has its own producer state",
        _PARTITIONS,
        *(
            produce(_PARTITIONS.name, {partition: _batch(5100, 0, 0)}, correlation_id=n)
            for n, partition in enumerate((0, 1, 0, 1))
        ),
    ),
    _case(
        "producers",
        "two producers are independent of each other",
        _PRODUCERS,
        *(
            produce(_PRODUCERS.name, _batch(id_, 0, sequence), correlation_id=n)
            for n, (id_, sequence) in enumerate(((5110, 0), (5111, 0), (5110, 1), (5111, 1), (5111, 0), (5110, 5)))
        ),
    ),
    _case(
        "codecs",
        "the same sequences with compression are a duplicate",
        _CODECS,
        *(produce(_CODECS.name, _batch(5120, 0, 0, 3, codec), correlation_id=codec) for codec in (0, 1, 2, 3, 4)),
    ),
    _case(
        "other-records",
        "other records with the same sequences are a duplicate",
        _OTHER,
        produce(_OTHER.name, _batch(5125, 0, 0)),
        produce(_OTHER.name, batch(b"other", producer_id=5125, producer_epoch=0, base_sequence=0), correlation_id=2),
    ),
    _case(
        "acks-1",
        "duplicates and gaps with acks=1",
        _ACKS_1,
        *(
            produce(_ACKS_1.name, _batch(5130, 0, sequence), acks=1, correlation_id=n)
            for n, sequence in enumerate((0, 0, 2, 1))
        ),
    ),
    _case(
        "acks-0",
        "a duplicate with acks=0 is accepted",
        _ACKS_0,
        *(
            produce(_ACKS_0.name, _batch(5140, 0, sequence), acks=acks, correlation_id=n)
            for n, (acks, sequence) in enumerate(((0, 0), (0, 0), (0, 1), (1, 2)))
        ),
    ),
    _case(
        "acks-0-gap",
        "a gap with acks=0 closes the connection",
        _ACKS_0_BAD,
        produce(_ACKS_0_BAD.name, _batch(5141, 0, 0), acks=0),
        produce(_ACKS_0_BAD.name, _batch(5141, 0, 7), acks=0, correlation_id=2),
        produce(_ACKS_0_BAD.name, _batch(5141, 0, 1), correlation_id=3),
    ),
    _case(
        "append-time",
        "a duplicate on a topic with LogAppendTime gets the time of the first append",
        _APPEND_TIME,
        *(
            produce(_APPEND_TIME.name, _batch(5150, 0, sequence), correlation_id=n)
            for n, sequence in enumerate((0, 1, 0))
        ),
    ),
    _case(
        "versions",
        "a gap and a duplicate have the same error codes in every version",
        _VERSIONS,
        produce(_VERSIONS.name, _batch(5160, 0, 0)),
        *(
            produce(
                _VERSIONS.placeholder if version >= 13 else _VERSIONS.name,
                _batch(5160, 0, sequence),
                version=version,
                correlation_id=version * 10 + sequence,
            )
            for version in range(3, 14)
            for sequence in (0, 5)
        ),
    ),
    _case(
        "no-producer",
        "batches without a producer id between others",
        _MIXED,
        produce(_MIXED.name, _batch(5170, 0, 0)),
        produce(_MIXED.name, batch(b"nobody"), correlation_id=2),
        produce(_MIXED.name, _batch(5170, 0, 1), correlation_id=3),
        produce(_MIXED.name, batch(b"-1", producer_epoch=4, base_sequence=9), correlation_id=4),
        produce(_MIXED.name, _batch(5170, 0, 0), correlation_id=5),
    ),
    _case(
        "producer-0",
        "0 is a valid producer id",
        _ZERO,
        *(produce(_ZERO.name, _batch(0, 0, sequence), correlation_id=n) for n, sequence in enumerate((0, 0, 2))),
    ),
    _case(
        "last-producer",
        "2^63 - 1 is a valid producer id",
        _LAST,
        *(
            produce(_LAST.name, _batch((1 << 63) - 1, 0, sequence), correlation_id=n)
            for n, sequence in enumerate((0, 0, 2))
        ),
    ),
    _case(
        "refused",
        "a refused batch does not use its sequences",
        _REFUSED,
        produce(_REFUSED.name, _batch(5180, 0, 0)),
        produce(
            _REFUSED.name,
            batch(b"v", producer_id=5180, producer_epoch=0, base_sequence=1, last_offset_delta=3),
            correlation_id=2,
        ),
        produce(_REFUSED.name, _batch(5180, 0, 1), correlation_id=3),
    ),
    _case(
        "one-request",
        "a duplicate, a gap and a first batch in one request",
        _ONE_REQUEST,
        produce(_ONE_REQUEST.name, {0: _batch(5190, 0, 0), 1: _batch(5190, 0, 0)}),
        produce(
            _ONE_REQUEST.name, {0: _batch(5190, 0, 0), 1: _batch(5190, 0, 4), 2: _batch(5190, 0, 8)}, correlation_id=2
        ),
    ),
    _case(
        "no-epoch",
        "a producer id with the epoch -1",
        _COMPACT,
        *(
            produce(_COMPACT.name, _batch(5200, epoch, sequence), correlation_id=n)
            for n, (epoch, sequence) in enumerate(((-1, 0), (-1, 1), (0, 0), (-1, 1)))
        ),
    ),
]
