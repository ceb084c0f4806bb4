"""Produce requests that are wrong outside of their records: acks, topics, partitions, versions, ids."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from conformance.frames import PRODUCE, batch, batch_of, produce, produce_many, request
from conformance.rows import flipped, old_message, resized
from conformance.scenario import Case, ReadLog, Send, Settle, Topic
from fakebroker.protocol.record_batch import Record

_NOBODY = UUID(int=0x1234)


def _every_version(version: int) -> Case:
    topic = Topic(f"request-v{version}")
    name = topic.placeholder if version >= 13 else topic.name
    nobody = _NOBODY if version >= 13 else "request-nobody"
    bad = (
        {0: flipped(batch(b"v"), -1)},
        {0: batch(b"v", attributes=0x20)},
        {0: batch(b"1", b"2", last_offset_delta=2)},
        {0: b""},
        {0: batch(b"1") + batch(b"2")},
        {0: batch(b"v", attributes=7)},
        {0: old_message(b"old", 1)},
        {0: batch(b"zstd", codec=4)},
        {1: batch(b"v")},
        {-1: batch(b"v")},
        {0: batch(b"v", timestamp_ms=4_000_000_000_000)},
    )
    frames = [produce(name, records, version=version, correlation_id=n) for n, records in enumerate(bad, 1)]
    frames.append(produce(name, batch(b"v"), version=version, acks=2, correlation_id=20))
    frames.append(produce(nobody, batch(b"v"), version=version, correlation_id=21))
    frames.append(produce(name, batch(b"good"), version=version, correlation_id=22))
    return Case(
        f"request/v{version}",
        "CRC, control, count, empty, two batches, codec 7, magic 1, zstd, partitions 1 and -1, future, acks 2, unknown",
        (Send(tuple(frames)), Settle(), ReadLog(topic.name)),
        (topic,),
    )


def _acks(acks: int) -> Case:
    topic = Topic(f"request-acks-{acks}")
    frames = (
        produce(topic.name, batch(b"v"), acks=acks, correlation_id=1),
        produce("request-nobody", batch(b"v"), acks=acks, correlation_id=2),
        produce(topic.name, b"", acks=acks, correlation_id=3),
        produce_many({topic.name: {0: batch(b"v"), 5: batch(b"v")}}, acks=acks, correlation_id=4),
        produce(topic.name, flipped(batch(b"v"), -1), acks=acks, correlation_id=5),
        produce(topic.name, batch(b"good"), correlation_id=6),
    )
    return Case(
        f"request/acks-{acks}",
        "acks other than 0, 1 and -1: the error comes after those of unknown topics and bad records "
        "(ReplicaManager.appendRecords)",
        (Send(frames), Settle(), ReadLog(topic.name)),
        (topic,),
    )


def _unanswered(name: str, records: dict[int, bytes | None], version: int = 9) -> Case:
    topic = Topic(f"request-acks-0-{name}", 2)
    frames = (
        produce(topic.name, batch(b"first"), acks=0, version=version),
        produce(topic.name, records, acks=0, version=version, correlation_id=2),
        produce(topic.name, batch(b"behind"), correlation_id=3),
    )
    return Case(
        f"request/acks-0-{name}",
        "an error with acks=0 closes the connection; valid batches are stored (KafkaApis.sendResponseCallback)",
        (Send(frames), Settle(), ReadLog(topic.name), ReadLog(topic.name, 1)),
        (topic,),
    )


def _one(
    name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), logs: int = 1, within_ms: int = 10_000
) -> Case:
    read = tuple(ReadLog(topic.name, index) for topic in topics for index in range(min(topic.partitions, logs)))
    return Case(f"request/{name}", why, (Send(frames), Settle(within_ms=within_ms), *read), topics)


_MIXED = Topic("request-mixed", 4)
_TWICE = Topic("request-twice")
_TOPIC_TWICE = Topic("request-topic-twice")
_NULL = Topic("request-null", 2)
_NULL_V13 = Topic("request-null-v13")
_NULL_ACKS_0 = Topic("request-null-acks-0")
_SHORT = Topic("request-short", 2)
_BY_NAME = Topic("request-v13-zero")
_INTERNAL = Topic("__consumer_offsets")
_MIN_ISR = Topic("request-min-isr", configs={"min.insync.replicas": "3"})
_TIMEOUT = Topic("request-timeout")
_CORRUPT = Topic("request-corrupt", 2)
_CLIENT = Topic("request-client")


def _twice(topic: Topic, first: bytes, second: bytes) -> bytes:
    """One partition that is named twice in one request."""
    parts: list[dict[str, Any]] = [{"index": 0, "records": records} for records in (first, second)]
    data = [{"name": topic.name, "partition_data": parts}]
    return _raw_produce(data)


def _raw_produce(data: list[dict[str, Any]], version: int = 9, transactional_id: str | None = None) -> bytes:
    values = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout": timedelta(seconds=5),
        "topic_data": data,
    }
    return request(PRODUCE, version, values)


def _pair(name: str, first: bytes, second: bytes) -> Case:
    topic = Topic(f"request-twice-{name}")
    return _one(
        f"twice-{name}",
        "one partition twice in one request: a map keeps one",
        _twice(topic, first, second),
        topics=(topic,),
    )


CASES = [
    *(_every_version(version) for version in range(3, 14)),
    *(_acks(acks) for acks in (2, -2, 127, 32767, -32768)),
    _unanswered("crc", {0: flipped(batch(b"v"), -1)}),
    _unanswered("unknown", {7: batch(b"v")}),
    _unanswered("half", {0: batch(b"kept"), 1: flipped(batch(b"v"), -1)}),
    _unanswered("empty", {0: b""}, 3),
    _unanswered("magic-3", {0: batch(b"v")[:16] + b"\x03" + batch(b"v")[17:]}),
    _one(
        "mixed",
        "each partition gets its own result: good, corrupt, good, bad count, unknown",
        produce_many(
            {
                _MIXED.name: {
                    0: batch(b"good"),
                    1: flipped(batch(b"v"), -1),
                    2: batch(b"good", b"two"),
                    3: batch(b"v", last_offset_delta=4),
                    4: batch(b"v"),
                },
                "request-nobody": {0: batch(b"v")},
            }
        ),
        topics=(_MIXED,),
        logs=4,
    ),
    _one(
        "corrupt-fails-all",
        "a batch with an unreadable header fails all partitions",
        produce(_CORRUPT.name, {0: batch(b"good"), 1: batch(b"v")[:16] + b"\x09" + batch(b"v")[17:]}, version=9),
        produce(_CORRUPT.name, {0: batch(b"good"), 1: batch(b"v")[:8] + b"\0" * 53}, version=3, correlation_id=2),
        topics=(_CORRUPT,),
        logs=2,
    ),
    _pair("good-good", batch(b"1"), batch(b"2")),
    _pair("good-bad", batch(b"1"), b""),
    _pair("bad-good", b"", batch(b"2")),
    _pair("good-corrupt", batch(b"1"), flipped(batch(b"2"), -1)),
    _one(
        "topic-twice",
        "one topic twice in one request, with one partition",
        _raw_produce(
            [
                {"name": _TOPIC_TWICE.name, "partition_data": [{"index": 0, "records": batch(b"1")}]},
                {"name": _TOPIC_TWICE.name, "partition_data": [{"index": 0, "records": batch(b"2")}]},
            ]
        ),
        topics=(_TOPIC_TWICE,),
    ),
    _one("no-topics", "a request without topics gets its response at once", _raw_produce([])),
    _one(
        "no-partitions",
        "a topic without partitions is not in the response",
        _raw_produce([{"name": "request-mixed", "partition_data": []}]),
    ),
    *(
        _one(
            f"name-{what}",
            "an invalid topic name is unknown",
            produce(name, batch(b"v")),
            produce(name, batch(b"v"), version=3, correlation_id=2),
        )
        for what, name in {
            "empty": "",
            "dot": ".",
            "slash": "a/b",
            "250": "x" * 250,
            "space": "a b",
            "umlaut": "\u00e4",
            "nul": "a\0b",
            "internal": "__transaction_state",
            "metadata": "__cluster_metadata",
        }.items()
    ),
    _one(
        "null-records",
        "null instead of records",
        produce(_NULL.name, {0: None}),
        topics=(_NULL,),
        within_ms=400,
    ),
    _one(
        "null-records-unknown-topic",
        "an unknown topic is reported before null records",
        produce("request-nobody", {0: None}),
        within_ms=400,
    ),
    _one(
        "null-records-v13",
        "null records, by topic id",
        produce(_NULL_V13.placeholder, {0: None}, version=13),
        topics=(_NULL_V13,),
        within_ms=400,
    ),
    _one(
        "null-records-acks-0",
        "null records with acks=0",
        produce(_NULL_ACKS_0.name, {0: None}, acks=0),
        topics=(_NULL_ACKS_0,),
        within_ms=400,
    ),
    _one(
        "short-batch",
        "a batch that is too short for a producer id fails the whole request",
        produce(_SHORT.name, {0: batch(b"v"), 1: resized(batch(b"v"), 50)}),
        produce(_SHORT.name, {0: batch(b"v"), 1: resized(batch(b"v"), 51)}, correlation_id=2),
        produce(_SHORT.name, {0: batch(b"v"), 7: resized(batch(b"v"), 50)}, correlation_id=3),
        topics=(_SHORT,),
        logs=2,
    ),
    _one(
        "v13-unknown-id",
        "an unknown topic id: UNKNOWN_TOPIC_ID",
        produce(_NOBODY, batch(b"v"), version=13),
        produce(_NOBODY, b"", version=13, correlation_id=2),
        produce(_NOBODY, batch(b"v"), version=13, acks=7, correlation_id=3),
    ),
    _one(
        "v13-zero-id",
        "the zero topic id",
        produce(UUID(int=0), batch(b"v"), version=13),
        topics=(_BY_NAME,),
    ),
    _one(
        "internal",
        "only the admin client may write to an internal topic: INVALID_TOPIC_EXCEPTION "
        "(ReplicaManager.appendToLocalLog)",
        produce(_INTERNAL.name, batch(b"v")),
        produce(_INTERNAL.name, {0: flipped(batch(b"v"), -1), 5: batch(b"v")}, correlation_id=2),
        produce(_INTERNAL.name, batch(b"v"), correlation_id=3, client_id="__admin_client"),
        topics=(_INTERNAL,),
    ),
    _one(
        "min-isr-above-replicas",
        "min.insync.replicas counts at most as the number of replicas (Partition.effectiveMinIsr)",
        produce(_MIN_ISR.name, batch(b"v")),
        produce(_MIN_ISR.name, batch(b"v"), acks=1, correlation_id=2),
        topics=(_MIN_ISR,),
    ),
    _one(
        "timeouts",
        "a timeout of 0 or less has no effect if no follower is needed",
        *(
            produce(_TIMEOUT.name, batch(b"v"), timeout_ms=ms, correlation_id=n)
            for n, ms in enumerate((0, -1, -(1 << 31)))
        ),
        topics=(_TIMEOUT,),
    ),
    _one(
        "client-ids",
        "no client id, an empty one, and the admin client's",
        *(
            produce(name, batch_of([Record(None, b"v")]), client_id=client_id, correlation_id=n)
            for n, (name, client_id) in enumerate(
                ((_CLIENT.name, None), (_CLIENT.name, ""), (_CLIENT.name, "__admin_client"))
            )
        ),
        topics=(_CLIENT,),
    ),
]
