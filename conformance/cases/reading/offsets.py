"""ListOffsets and OffsetForLeaderEpoch: which offset is where."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from conformance.frames import (
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    TIMESTAMP_MS,
    batch,
    batch_of,
    list_offsets,
    produce,
    request,
)
from conformance.scenario import Case, Send, Settle, Topic
from fakebroker.protocol.record_batch import Record

_T = TIMESTAMP_MS


def _times(*times_ms: int, codec: int = 0, **header: Any) -> bytes:
    records = [Record(b"k", b"v", timestamp_ms=time_ms) for time_ms in times_ms]
    return batch_of(records, codec, times_ms[0], **header)


def _fill(topic: Topic, *batches: bytes) -> tuple[Send, Settle]:
    return (
        Send(tuple(produce(topic.name, data, correlation_id=900 + n) for n, data in enumerate(batches))),
        Settle(),
    )


def _asked(
    topic: str,
    timestamp: int,
    partition: int = 0,
    version: int = 7,
    correlation_id: int = 1,
    epoch: int = -1,
    replica_id: int = -1,
    isolation_level: int = 0,
) -> bytes:
    part = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": timestamp}
    values = {
        "replica_id": replica_id,
        "isolation_level": isolation_level,
        "timeout": timedelta(seconds=1),
        "topics": [{"name": topic, "partitions": [part]}],
    }
    return request(LIST_OFFSETS, version, values, correlation_id)


def _list_case(name: str, why: str, topic: Topic, batches: tuple[bytes, ...], *frames: bytes) -> Case:
    return Case(f"list-offsets/{name}", why, (*_fill(topic, *batches), Send(frames), Settle()), (topic,))


_TIMES = (_T - 1, _T, _T + 1, _T + 2, _T + 3, _T + 4, _T + 5, _T + 9, _T + 10, _T + 11, 0, 1 << 62)


def _by_time(name: str, why: str, *batches: bytes, **configs: str) -> Case:
    topic = Topic(f"list-offsets-{name}", configs={key.replace("_", "."): value for key, value in configs.items()})
    frames = [list_offsets(topic.name, at, correlation_id=n) for n, at in enumerate(_TIMES)]
    frames += [list_offsets(topic.name, at, correlation_id=50 - at) for at in (-1, -2, -3)]
    return _list_case(name, why, topic, batches, *frames)


def _version(version: int) -> Case:
    topic = Topic(f"list-offsets-v{version}")
    frames = [
        _asked(topic.name, at, version=version, correlation_id=n)
        for n, at in enumerate((-1, -2, -3, -4, -5, -6, -7, -100, _T, _T + 1))
    ]
    frames.append(_asked("list-offsets-nobody", -1, version=version, correlation_id=20))
    frames.append(_asked(topic.name, -1, 7, version, 21))
    return _list_case(
        f"v{version}",
        "all special timestamps, two timestamps of records, unknown partitions and topics",
        topic,
        (batch(b"v"),),
        *frames,
    )


_ODD = Topic("list-offsets-odd", 2)
_EPOCHS = Topic("list-offsets-epochs")
_ISOLATION = Topic("list-offsets-isolation")
_EMPTY = Topic("list-offsets-empty")
_END = Topic("epoch-end", 2)
_END_VERSIONS = Topic("epoch-end-versions")


def _part(partition: int, epoch: int, current: int = -1) -> dict[str, int]:
    return {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}


def _end(
    topic: str, parts: list[dict[str, int]], version: int = 4, correlation_id: int = 1, replica_id: int = -1
) -> bytes:
    values = {"replica_id": replica_id, "topics": [{"topic": topic, "partitions": parts}]}
    return request(OFFSET_FOR_LEADER_EPOCH, version, values, correlation_id)


CASES: list[Case] = [
    *(_version(version) for version in range(1, 12)),
    _by_time("rising", "ascending timestamps in one batch", _times(_T, _T + 1, _T + 5)),
    _by_time(
        "gaps", "a timestamp between two batches: the next record", _times(_T), _times(_T + 4, _T + 5), _times(_T + 10)
    ),
    _by_time(
        "falling", "descending timestamps: the first record that is late enough", _times(_T + 5, _T + 1, _T + 9, _T)
    ),
    _by_time("same", "equal timestamps: the first record", _times(_T, _T), _times(_T)),
    *(
        _by_time(f"codec-{codec}", "records of compressed batches are found", _times(_T, _T + 4, _T + 2, codec=codec))
        for codec in (1, 2, 3, 4)
    ),
    _by_time("untimed", "records without a timestamp are not found", _times(-1), _times(_T + 1)),
    _by_time("all-untimed", "all records are without a timestamp", _times(-1)),
    _by_time("compacted", "the offset deltas of records do not matter", _times(_T, _T + 3), cleanup_policy="compact"),
    _list_case(
        "empty",
        "an empty log has a start and an end offset, and no timestamps",
        _EMPTY,
        (),
        *(list_offsets(_EMPTY.name, at, correlation_id=n) for n, at in enumerate((-1, -2, -3, 0, _T))),
    ),
    _list_case(
        "odd",
        "unknown partitions, one twice, negative ones; invalid names",
        _ODD,
        (batch(b"v"),),
        list_offsets(_ODD.name, -1, 2, correlation_id=1),
        list_offsets(_ODD.name, -1, -1, correlation_id=2),
        list_offsets("a/b", -1, correlation_id=3),
        list_offsets("", -1, correlation_id=4),
        request(
            LIST_OFFSETS,
            7,
            {
                "replica_id": -1,
                "isolation_level": 0,
                "topics": [
                    {
                        "name": _ODD.name,
                        "partitions": [
                            {"partition_index": index, "current_leader_epoch": -1, "timestamp": at}
                            for index, at in ((0, -1), (0, -2), (1, -1), (9, -1))
                        ],
                    }
                ],
            },
            5,
        ),
        request(LIST_OFFSETS, 7, {"replica_id": -1, "isolation_level": 0, "topics": []}, 6),
        _asked(_ODD.name, -1, correlation_id=7, replica_id=-2),
    ),
    _list_case(
        "leader-epochs",
        "the leader epoch of the client: FENCED_LEADER_EPOCH if it is older, UNKNOWN_LEADER_EPOCH if it is newer",
        _EPOCHS,
        (batch(b"v"),),
        *(
            _asked(_EPOCHS.name, at, epoch=epoch, correlation_id=10 * n + epoch)
            for n, at in enumerate((-1, _T), 1)
            for epoch in (-1, 0, 1, 5)
        ),
        _asked(_EPOCHS.name, -1, epoch=-7, correlation_id=3),
    ),
    _list_case(
        "isolation",
        "read_committed without transactions",
        _ISOLATION,
        (batch(b"v"),),
        *(
            _asked(_ISOLATION.name, at, isolation_level=level, correlation_id=10 * level - at)
            for level in (0, 1, 2)
            for at in (-1, -2, -3)
        ),
    ),
    Case(
        "epoch-end/epochs",
        "the end offset of an epoch: the current one, others, none",
        (
            *_fill(_END, batch(b"1", b"2")),
            Send(
                (
                    *(_end(_END.name, [_part(0, epoch)], correlation_id=10 + epoch) for epoch in (-2, -1, 0, 1, 9)),
                    *(
                        _end(_END.name, [_part(0, 0, current)], correlation_id=30 + current)
                        for current in (-2, 0, 1, 9)
                    ),
                    _end(_END.name, [_part(1, 0), _part(0, 0), _part(5, 0), _part(-1, 0)], correlation_id=50),
                    _end("epoch-end-nobody", [_part(0, 0)], correlation_id=51),
                    _end("a/b", [_part(0, 0)], correlation_id=52),
                    _end(_END.name, [], correlation_id=53),
                    _end(_END.name, [_part(0, 0), _part(0, 1)], correlation_id=54),
                    _end(_END.name, [_part(0, 0)], correlation_id=55, replica_id=-2),
                    _end(_END.name, [_part(0, 0)], correlation_id=56, replica_id=1),
                )
            ),
            Settle(),
        ),
        (_END,),
    ),
    Case(
        "epoch-end/versions",
        "all supported versions",
        (
            *_fill(_END_VERSIONS, batch(b"1", b"2")),
            Send(tuple(_end(_END_VERSIONS.name, [_part(0, 0)], version, version) for version in (2, 3, 4))),
            Settle(),
        ),
        (_END_VERSIONS,),
    ),
]
