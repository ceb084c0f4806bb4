"""A consumer's Fetch: what it may read, how much, and how long it waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from conformance.frames import FETCH, batch, produce, request
from conformance.scenario import At, Case, Send, Settle, Step, Topic

_NOBODY = UUID(int=0x5555)


def _part(partition: int = 0, offset: int = 0, **values: Any) -> dict[str, Any]:
    defaults = {
        "partition_max_bytes": 1 << 20,
    }
    return {"partition": partition, "fetch_offset": offset} | defaults | values


def _fetch(
    topics: dict[str | UUID, list[dict[str, Any]]],
    version: int = 12,
    correlation_id: int = 1,
    wait_ms: int = 0,
    **values: Any,
) -> bytes:
    requested_topics = [
        ({"topic_id": topic} if isinstance(topic, UUID) else {"topic": topic}) | {"partitions": partitions}
        for topic, partitions in topics.items()
    ]
    defaults = {
        "max_wait": timedelta(milliseconds=wait_ms),
        "min_bytes": 1,
        "max_bytes": 1 << 26,
        "topics": requested_topics,
    }
    return request(FETCH, version, defaults | values, correlation_id)


def _fill(topic: Topic, *batches: bytes, partition: int = 0) -> tuple[Step, ...]:
    frames = (
        produce(topic.name, {partition: data}, correlation_id=900 + number) for number, data in enumerate(batches)
    )
    return Send(tuple(frames)), Settle()


def _case(
    name: str,
    why: str,
    topic: Topic,
    batches: tuple[bytes, ...],
    *frames: bytes,
    timed: tuple[At, ...] = (),
    version: int = 12,
) -> Case:
    return Case(f"fetch/{name}", why, (*_fill(topic, *batches), Send(frames), Settle()), (topic,), timed=timed)


def _version(version: int) -> Case:
    topic = Topic(f"fetch-v{version}", 2)
    name = topic.placeholder if version >= 13 else topic.name
    nobody = _NOBODY if version >= 13 else "fetch-nobody"
    frames = (
        _fetch({name: [_part()]}, version, 1),
        _fetch({name: [_part(0, 2)]}, version, 2),
        _fetch({name: [_part(0, 3)]}, version, 3),
        _fetch({name: [_part(0, 4)]}, version, 4),
        _fetch({name: [_part(0, -1)]}, version, 5),
        _fetch({name: [_part(1)]}, version, 6),
        _fetch({name: [_part(2)]}, version, 7),
        _fetch({nobody: [_part()]}, version, 8),
        _fetch({name: [_part()], nobody: [_part()]}, version, 9),
        _fetch({}, version, 10),
    )
    why = (
        "offsets 0, 2, the end, beyond it and -1; an empty partition, an unknown one, an unknown topic, both, no topics"
    )
    return _case(f"v{version}", why, topic, (batch(b"1", b"2"), batch(b"3")), *frames)


def _topic(name: str, partitions: int = 1) -> Topic:
    return Topic(f"fetch-{name}", partitions)


_THREE = tuple(batch(value * 100) for value in (b"a", b"b", b"c"))
_SIZE = len(_THREE[0])

_OFFSETS = _topic("offsets")
_CUT = _topic("cut")
_CUT_OLD = _topic("cut-old")
_TOTAL = _topic("total", 3)
_WAIT = _topic("wait")
_MIN = _topic("min-bytes")
_WAKE = _topic("wake")
_EPOCHS = _topic("epochs")
_DIVERGING = _topic("diverging")
_SESSIONS = _topic("sessions")
_SESSIONS_OLD = _topic("sessions-old")
_ISOLATION = _topic("isolation")
_NAMES = _topic("names")
_TWICE = _topic("twice")
_WAITS_NOT = _topic("waits-not", 2)
_COMPRESSED = _topic("compressed")

CASES: list[Case] = [
    *(_version(version) for version in range(4, 19)),
    _case(
        "offsets",
        "a Fetch starts with the batch that contains the offset",
        _OFFSETS,
        (batch(b"1", b"2", b"3"), batch(b"4", b"5")),
        *(_fetch({_OFFSETS.name: [_part(0, offset)]}, correlation_id=offset + 100) for offset in range(-2, 8)),
        _fetch({_OFFSETS.name: [_part(0, (1 << 63) - 1)]}, correlation_id=200),
        _fetch({_OFFSETS.name: [_part(0, -(1 << 63))]}, correlation_id=201),
    ),
    _case(
        "cut",
        "partition_max_bytes limits the response, but the first batch is complete (KIP-74)",
        _CUT,
        _THREE,
        *(
            _fetch({_CUT.name: [_part(partition_max_bytes=size)]}, correlation_id=number)
            for number, size in enumerate(
                (0, 1, -1, _SIZE - 1, _SIZE, _SIZE + 1, 2 * _SIZE - 1, 2 * _SIZE, 2 * _SIZE + 50, 3 * _SIZE, 1 << 30)
            )
        ),
    ),
    _case(
        "cut-total",
        "max_bytes limits the response too",
        _CUT_OLD,
        _THREE,
        *(
            _fetch({_CUT_OLD.name: [_part()]}, correlation_id=number, max_bytes=size)
            for number, size in enumerate((0, 1, -1, _SIZE, _SIZE + 1, 2 * _SIZE, (1 << 31) - 1))
        ),
    ),
    Case(
        "fetch/total",
        "max_bytes is the limit of all partitions together, in the order of the request",
        (
            *_fill(_TOTAL, *_THREE),
            *_fill(_TOTAL, *_THREE, partition=1),
            Send(
                tuple(
                    _fetch(
                        {_TOTAL.name: [_part(index) for index in order]},
                        correlation_id=number,
                        max_bytes=size,
                    )
                    for number, (size, order) in enumerate(
                        (
                            (_SIZE, (0, 1)),
                            (_SIZE, (1, 0)),
                            (2 * _SIZE, (0, 1)),
                            (4 * _SIZE, (0, 1, 2)),
                            (4 * _SIZE + 10, (2, 1, 0)),
                            (1, (2, 0, 1)),
                        )
                    )
                )
            ),
            Settle(),
        ),
        (_TOTAL,),
    ),
    _case(
        "wait",
        "nothing to read: the response comes after max_wait",
        _WAIT,
        (batch(b"1"),),
        _fetch({_WAIT.name: [_part(0, 1)]}, wait_ms=200),
        timed=(At(1, 200),),
    ),
    _case(
        "min-bytes",
        "less than min_bytes to read: the response comes after max_wait, with the available records",
        _MIN,
        (batch(b"1"),),
        _fetch({_MIN.name: [_part()]}, wait_ms=150, min_bytes=100_000),
        _fetch({_MIN.name: [_part()]}, wait_ms=10_000, min_bytes=60, correlation_id=2),
        _fetch({_MIN.name: [_part(0, 1)]}, wait_ms=10_000, min_bytes=0, correlation_id=3),
        _fetch({_MIN.name: [_part(0, 1)]}, wait_ms=10_000, min_bytes=-1, correlation_id=4),
        _fetch({_MIN.name: [_part(0, 1)]}, wait_ms=-1, correlation_id=5),
        timed=(At(1, 150),),
    ),
    Case(
        "fetch/wake",
        "a parked Fetch completes when enough records have arrived",
        (
            Send((_fetch({_WAKE.name: [_part()]}, wait_ms=20_000, min_bytes=100),), conn="reader"),
            *_fill(_WAKE, batch(b"1"), batch(b"2")),
            Settle("reader"),
        ),
        (_WAKE,),
    ),
    _case(
        "waits-not",
        "an error of a partition completes the Fetch at once, but an unknown partition does not",
        _WAITS_NOT,
        (batch(b"1"),),
        _fetch({_WAITS_NOT.name: [_part(0, 1), _part(7)]}, wait_ms=200),
        _fetch({_WAITS_NOT.name: [_part(0, 9), _part(1)]}, wait_ms=20_000, correlation_id=2),
        _fetch({}, wait_ms=20_000, correlation_id=3),
        timed=(At(1, 200),),
    ),
    _case(
        "epochs",
        "the leader epoch of the client: none, the current one, and a newer one (UNKNOWN_LEADER_EPOCH)",
        _EPOCHS,
        (batch(b"1"),),
        *(
            _fetch({_EPOCHS.name: [_part(current_leader_epoch=epoch)]}, version, correlation_id=10 * version + epoch)
            for version in (9, 11, 12)
            for epoch in (-1, 0, 1)
        ),
    ),
    _case(
        "diverging",
        "the epoch of the last record that the client has (KIP-595)",
        _DIVERGING,
        (batch(b"1"), batch(b"2")),
        *(
            _fetch({_DIVERGING.name: [_part(0, offset, last_fetched_epoch=epoch)]}, correlation_id=10 * offset + epoch)
            for offset in (0, 1, 2, 5)
            for epoch in (0, 1, 5)
        ),
    ),
    *(
        _case(
            f"sessions-v{version}",
            "a request for a session, and a request with an unknown session (KIP-227)",
            topic,
            (batch(b"1"),),
            _fetch({topic.name: [_part()]}, version, 1, session_id=0, session_epoch=0),
            _fetch({topic.name: [_part()]}, version, 2, session_id=12345, session_epoch=1),
            _fetch({topic.name: [_part()]}, version, 3, session_id=12345, session_epoch=-1),
            _fetch({topic.name: [_part()]}, version, 4, session_id=0, session_epoch=1),
            _fetch({topic.name: [_part()]}, version, 5, session_id=12345, session_epoch=0),
        )
        for version, topic in ((7, _SESSIONS_OLD), (12, _SESSIONS))
    ),
    _case(
        "isolation",
        "read_committed without transactions; an unknown isolation level",
        _ISOLATION,
        (batch(b"1"),),
        *(_fetch({_ISOLATION.name: [_part()]}, isolation_level=level, correlation_id=level) for level in (0, 1, 2)),
        _fetch({_ISOLATION.name: [_part()]}, 4, 10, isolation_level=1),
    ),
    _case(
        "names",
        "invalid names, negative partitions",
        _NAMES,
        (batch(b"1"),),
        *(
            _fetch({name: [_part(partition)]}, correlation_id=number)
            for number, (name, partition) in enumerate(
                (("", 0), ("a/b", 0), ("x" * 300, 0), (_NAMES.name, -1), (_NAMES.name, 1 << 30))
            )
        ),
    ),
    _case(
        "twice",
        "one partition twice in one request",
        _TWICE,
        (batch(b"1"), batch(b"2")),
        _fetch({_TWICE.name: [_part(0, 0), _part(0, 1)]}),
    ),
    _case(
        "compressed",
        "compressed batches are returned complete, as stored",
        _COMPRESSED,
        tuple(batch(b"x" * 100, b"y" * 100, codec=codec) for codec in (1, 2, 3, 4)),
        *(_fetch({_COMPRESSED.name: [_part(0, offset)]}, correlation_id=offset) for offset in range(8)),
        _fetch({_COMPRESSED.name: [_part()]}, 4, 20),
        _fetch({_COMPRESSED.name: [_part(0, 6)]}, 9, 21),
    ),
]
