"""Changes that the broker makes to batches: append time, another codec, and the sizes it refuses."""

from __future__ import annotations

from conformance.frames import batch, fetch, list_offsets, produce, produce_many
from conformance.scenario import At, Case, ReadLog, Send, Settle, Topic
from conformance.shared_steps import warm, while_frozen

_CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}


def _append_time_versions() -> list[Case]:
    cases = []
    for version in (3, 5, 8, 9, 10, 13):
        topic = Topic(f"append-time-v{version}", configs=_APPEND_TIME)
        to = topic.placeholder if version >= 13 else topic.name
        frames = tuple(
            produce(to, batch(b"a", b"b", codec=codec), version=version, acks=acks, correlation_id=number)
            for number, (acks, codec) in enumerate(((-1, 0), (1, 1), (0, 0), (-1, 3)), 1)
        )
        why = "the response has the time of the append; the batch has it too, with the attribute and CRC"
        cases.append(Case(f"append-time/v{version}", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,)))
    return cases


def _append_time_late() -> Case:
    topic = Topic("append-time-late", replicas=3, configs=_APPEND_TIME)
    other = Topic("append-time-beside", replicas=3)
    frame = produce_many({topic.name: {0: batch(b"a")}, other.name: {0: batch(b"b")}}, timeout_ms=200)
    why = "REQUEST_TIMED_OUT has the append time too, and -1 for a topic with CreateTime"
    steps = (*warm(other.name), *while_frozen(topic.name, Send((frame,)), Settle()), ReadLog(other.name))
    return Case("append-time/late", why, steps, (topic, other), "three", (At(1, 200),))


def _append_time_refused() -> Case:
    topic = Topic("append-time-refused", configs=_APPEND_TIME)
    frames = (
        produce(topic.name, batch(b"a", attributes=8), correlation_id=1),
        produce(topic.name, batch(b"a", timestamp_ms=-1), correlation_id=2),
        produce(topic.name, batch(b"a", timestamp_ms=2**62), correlation_id=3),
        produce(topic.name, batch(b"a", timestamp_ms=0), correlation_id=4),
    )
    why = "any timestamp of the producer is accepted, but not the LogAppendTime bit"
    return Case("append-time/timestamps", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _append_time_duplicate() -> Case:
    topic = Topic("append-time-twice", configs=_APPEND_TIME)
    record = batch(b"once", producer_id=9_100, producer_epoch=0, base_sequence=0)
    frames = tuple(produce(topic.name, record, correlation_id=number) for number in (1, 2))
    why = "a duplicate gets the time of the first append"
    return Case("append-time/duplicate", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _create_time_duplicate() -> Case:
    topic = Topic("create-time-twice")
    record = batch(b"once", producer_id=9_101, producer_epoch=0, base_sequence=0)
    frames = tuple(produce(topic.name, record, correlation_id=number) for number in (1, 2))
    why = "on a topic with CreateTime a duplicate's response has its timestamp, and the first one -1"
    return Case("create-time/duplicate", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _recompressed() -> list[Case]:
    cases = []
    for kept in ("gzip", "snappy", "lz4", "zstd", "uncompressed"):
        topic = Topic(f"recompress-{kept}", configs={"compression.type": kept})
        frames = tuple(
            produce(topic.name, batch(name.encode() * 100, b"x" * 400, codec=codec), correlation_id=number)
            for number, (name, codec) in enumerate(_CODECS.items(), 1)
        )
        why = "batches of every codec on a topic with compression.type: stored with that codec, the same records"
        cases.append(Case(f"recompress/{kept}", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,)))
    return cases


def _recompressed_append_time() -> Case:
    topic = Topic("recompress-append-time", configs=_APPEND_TIME | {"compression.type": "gzip"})
    frames = tuple(
        produce(topic.name, batch(b"x" * 400, b"y", codec=codec), correlation_id=codec) for codec in _CODECS.values()
    )
    why = "another codec and LogAppendTime"
    return Case("recompress/append-time", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _zstd_for_old_consumers() -> Case:
    kept = Topic("recompress-zstd-kept", configs={"compression.type": "zstd"})
    sent = Topic("recompress-zstd-sent")
    frames = (
        produce_many({kept.name: {0: batch(b"a", codec=4)}, sent.name: {0: batch(b"b", codec=4)}}, correlation_id=100),
        *(
            fetch(topic.name, at, version=version, partition=partition, max_wait_ms=wait_ms, correlation_id=number)
            for number, (topic, version, at, partition, wait_ms) in enumerate(
                (
                    (kept, 4, 0, 0, 0),
                    (kept, 9, 0, 0, 0),
                    (kept, 9, 1, 0, 150),
                    (kept, 9, 7, 0, 0),
                    (kept, 9, 0, 3, 0),
                    (sent, 4, 0, 0, 0),
                    (sent, 9, 0, 0, 0),
                    (sent, 10, 0, 0, 0),
                )
            )
        ),
    )
    why = "zstd for consumers without support for it (v9 and older): returned as it is"
    return Case("recompress/zstd-for-old-consumers", why, (Send(frames), Settle()), (kept, sent), timed=(At(2, 150),))


def _recompressed_late() -> Case:
    topic = Topic("recompress-late", replicas=3, configs={"compression.type": "zstd"})
    frame = produce(topic.name, batch(b"x" * 400, codec=1), timeout_ms=150)
    why = "a batch that timed out is stored with the topic's codec"
    return Case(
        "recompress/late", why, while_frozen(topic.name, Send((frame,)), Settle()), (topic,), "three", (At(1, 150),)
    )


def _too_large() -> Case:
    small = Topic("too-large-message", configs={"max.message.bytes": "200"})
    segment = Topic("too-large-segment", configs={"segment.bytes": str(1 << 20), "max.message.bytes": str(1 << 22)})
    frames = (
        produce_many({small.name: {0: batch(b"x" * 200)}, segment.name: {0: batch(b"fits")}}, correlation_id=1),
        produce_many({small.name: {0: batch(b"fits")}, segment.name: {0: batch(b"x" * (1 << 20))}}, correlation_id=2),
        produce(segment.name, batch(b"x" * (1 << 20), codec=1), correlation_id=3),
        produce(segment.name, batch(b"x" * ((1 << 20) - 1_000)), correlation_id=4),
        produce(small.name, batch(b"x" * 5_000, codec=1), correlation_id=5),
    )
    why = (
        "above max.message.bytes MESSAGE_TOO_LARGE, above segment.bytes RECORD_LIST_TOO_LARGE: sizes of the "
        "batch as sent"
    )
    steps = (Send(frames), Settle(), ReadLog(small.name), ReadLog(segment.name))
    return Case("too-large/batch-and-segment", why, steps, (small, segment))


def _too_large_after_recompression() -> Case:
    topic = Topic("too-large-unpacked", configs={"max.message.bytes": "300", "compression.type": "uncompressed"})
    frames = (
        produce(topic.name, batch(b"x" * 5_000, codec=1), correlation_id=1),
        produce(topic.name, batch(b"x" * 150, codec=1), correlation_id=2),
    )
    why = "small as sent, too large with the topic's codec: MESSAGE_TOO_LARGE"
    return Case("too-large/recompressed", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


def _largest_timestamps() -> Case:
    topic = Topic("timestamps-order", partitions=2)
    frames = (
        produce(topic.name, batch(b"a", timestamp_ms=1_700_000_002_000), correlation_id=1),
        produce(topic.name, batch(b"b", timestamp_ms=1_700_000_001_000), correlation_id=2),
        produce(topic.name, batch(b"c", timestamp_ms=-1), correlation_id=3),
        produce(topic.name, batch(b"d", timestamp_ms=1_700_000_003_000), correlation_id=4),
        *(
            list_offsets(topic.name, at, correlation_id=5 + number)
            for number, at in enumerate(
                (1_700_000_000_000, 1_700_000_001_500, 1_700_000_002_500, 1_700_000_003_001, -3)
            )
        ),
        list_offsets(topic.name, -3, 1, correlation_id=20),
        list_offsets(topic.name, 5, 1, correlation_id=21),
    )
    why = "descending timestamps: ListOffsets by time"
    return Case("create-time/out-of-order", why, (Send(frames), Settle(), ReadLog(topic.name)), (topic,))


CASES = [
    *_append_time_versions(),
    _append_time_late(),
    _append_time_refused(),
    _append_time_duplicate(),
    _create_time_duplicate(),
    _largest_timestamps(),
    *_recompressed(),
    _recompressed_append_time(),
    _recompressed_late(),
    _zstd_for_old_consumers(),
    _too_large(),
    _too_large_after_recompression(),
]
