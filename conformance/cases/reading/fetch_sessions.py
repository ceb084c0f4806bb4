"""Fetch sessions (KIP-227): which requests get one, its responses and their order, and which requests are refused."""

from __future__ import annotations

from datetime import timedelta

from conformance.frames import FETCH, request
from conformance.scenario import At, Case, Pause, Send, Settle, Topic
from conformance.session_steps import NOBODY, ONE, SIZE, TWO, Partitions, asked, fetch, fill, part_of, session_case


def _version(version: int) -> Case:
    topic = Topic(f"fetch-session-v{version}", 3)
    name = topic.placeholder if version >= 13 else topic.name
    nobody = NOBODY if version >= 13 else "fetch-session-nobody"
    return session_case(
        f"v{version}",
        "a session from start to end: responses have only changes (FetchContext.java)",
        topic,
        *fill(topic),
        *asked(
            fetch(1, {name: {0: 0, 1: 0}}, version=version),
            fetch(2, version=version, id=ONE, epoch=1),
            fetch(3, {name: {0: 1}}, version=version, id=ONE, epoch=2),
            fetch(4, {name: {2: 0, 7: 0}, nobody: {0: 0}}, version=version, id=ONE, epoch=3),
            fetch(5, version=version, id=ONE, epoch=4),
        ),
        *fill(topic, 1),
        *asked(
            fetch(6, version=version, id=ONE, epoch=5),
            fetch(7, {name: {1: 1}}, {name: [0, 7], nobody: [0]}, version=version, id=ONE, epoch=6),
            fetch(8, version=version, id=ONE, epoch=7),
            fetch(9, {name: {1: 9}}, version=version, id=ONE, epoch=8),
            fetch(10, {name: {1: 1}}, version=version, id=ONE, epoch=9),
            fetch(11, {name: {0: 0}}, version=version, id=ONE, epoch=-1),
            fetch(12, version=version, id=ONE, epoch=10),
        ),
    )


def _errors(version: int) -> Case:
    topic = Topic(f"fetch-session-errors-v{version}")
    name = topic.placeholder if version >= 13 else topic.name
    other = 12 if version >= 13 else 13
    other_name = topic.name if version >= 13 else topic.placeholder
    wanted: Partitions = {name: {0: 0}}
    return session_case(
        f"errors-v{version}",
        "an unknown session, another epoch, names instead of ids, session ids of all shards (FetchManager.java)",
        topic,
        *fill(topic),
        *asked(
            fetch(1, wanted, version=version, id=5, epoch=1),
            fetch(2, wanted, version=version, id=-5, epoch=1),
            fetch(3, wanted, version=version, id=(1 << 31) - 1, epoch=1),
            fetch(4, wanted, version=version, id=-(1 << 31), epoch=1),
            fetch(5, wanted, version=version, id=(1 << 31) - 1, epoch=0),
            fetch(6, wanted, version=version, id=(1 << 31) - 1, epoch=-1),
            fetch(7, wanted, version=version, id=0, epoch=1),
            fetch(8, wanted, version=version, id=0, epoch=-2),
            fetch(9, wanted, version=version, id=5, epoch=-1),
            fetch(10, wanted, version=version),
            fetch(11, version=version, id=ONE, epoch=2),
            fetch(12, version=version, id=ONE, epoch=-2),
            fetch(13, {other_name: {0: 0}}, version=other, id=ONE, epoch=1),
            fetch(14, version=version, id=ONE, epoch=1),
            fetch(15, version=version, id=ONE, epoch=1),
            fetch(16, version=version, id=ONE, epoch=2, isolation_level=2),
            fetch(17, version=version, id=ONE, epoch=2),
            fetch(18, version=version, id=ONE, epoch=3),
            fetch(19, wanted, version=version, id=ONE, epoch=0, isolation_level=2),
            fetch(20, version=version, id=ONE, epoch=4),
            fetch(21, {}, version=version),
            fetch(22, wanted, version=version, id=TWO, epoch=1),
            fetch(23, wanted, version=version, id=TWO, epoch=2),
        ),
    )


_ORDER = Topic("fetch-session-order", 4)
_FORGET = Topic("fetch-session-forget", 3)
_EMPTIED = Topic("fetch-session-emptied", 2)
_ANEW = Topic("fetch-session-anew", 2)
_TWICE = Topic("fetch-session-twice", 2)
_WAIT = Topic("fetch-session-wait", 2)
_OVERTAKEN = Topic("fetch-session-overtaken")
_MAX_BYTES = Topic("fetch-session-max-bytes", 3)
_EARLY = Topic("fetch-session-early")
_TWO_TOPICS = (Topic("fetch-session-a", 2), Topic("fetch-session-b", 2))


CASES: list[Case] = [
    *(_version(version) for version in range(7, 19)),
    *(_errors(version) for version in (7, 12, 13, 18)),
    session_case(
        "order",
        "a partition with records in a response moves to the end (IncrementalFetchContext)",
        _ORDER,
        *(step for index in range(4) for step in fill(_ORDER, index, 3, 900 + 10 * index)),
        *asked(
            fetch(1, {_ORDER.name: {0: 0, 1: 0, 2: 0, 3: 0}}, max_bytes=SIZE),
            *(fetch(2 + n, id=ONE, epoch=1 + n, max_bytes=SIZE) for n in range(6)),
            fetch(10, {_ORDER.name: {2: 1}}, id=ONE, epoch=7, max_bytes=2 * SIZE),
            fetch(11, id=ONE, epoch=8, max_bytes=2 * SIZE),
            fetch(12, id=ONE, epoch=9, max_bytes=1 << 20),
            fetch(13, id=ONE, epoch=10, max_bytes=1),
        ),
    ),
    session_case(
        "max-bytes",
        "max_bytes and partition_max_bytes in a session",
        _MAX_BYTES,
        *(step for index in range(3) for step in fill(_MAX_BYTES, index, 2, 900 + 10 * index)),
        *asked(
            fetch(1, {_MAX_BYTES.name: {0: 0, 1: 0, 2: 0}}, max_bytes=3 * SIZE),
            fetch(2, {_MAX_BYTES.name: {1: 0}}, id=ONE, epoch=1, part={"partition_max_bytes": 1}),
            fetch(3, {_MAX_BYTES.name: {0: 0}}, id=ONE, epoch=2, part={"partition_max_bytes": SIZE + 3}),
            fetch(4, id=ONE, epoch=3, max_bytes=SIZE + 3),
            fetch(5, id=ONE, epoch=4, max_bytes=0),
            fetch(6, {_MAX_BYTES.name: {0: 0, 1: 0, 2: 0}}, id=ONE, epoch=5, part={"partition_max_bytes": -1}),
            fetch(7, id=ONE, epoch=6),
        ),
    ),
    session_case(
        "two-topics",
        "consecutive partitions of one topic share an entry, in the order of the session",
        _TWO_TOPICS,
        *(step for topic in _TWO_TOPICS for index in range(2) for step in fill(topic, index, 1, 900 + 10 * index)),
        *asked(
            fetch(1, {_TWO_TOPICS[0].name: {0: 0}, _TWO_TOPICS[1].name: {0: 0}}),
            fetch(2, {_TWO_TOPICS[0].name: {1: 0}, _TWO_TOPICS[1].name: {1: 0}}, id=ONE, epoch=1),
            fetch(3, id=ONE, epoch=2, max_bytes=1),
            fetch(4, id=ONE, epoch=3),
            fetch(5, {"fetch-session-nobody": {0: 0}, _TWO_TOPICS[1].name: {5: 0}}, id=ONE, epoch=4),
            fetch(6, id=ONE, epoch=5),
        ),
    ),
    session_case(
        "forget",
        "forgotten partitions are not returned any more; forgetting an unknown partition has no error",
        _FORGET,
        *fill(_FORGET),
        *asked(
            fetch(1, {_FORGET.name: {0: 0, 1: 0, 2: 0}}),
            fetch(2, {}, {_FORGET.name: [0]}, id=ONE, epoch=1),
            fetch(3, {}, {_FORGET.name: [0, 9, -1], "fetch-session-nobody": [0]}, id=ONE, epoch=2),
            fetch(4, {_FORGET.name: {0: 0}}, {_FORGET.name: [0]}, id=ONE, epoch=3),
            fetch(5, {_FORGET.name: {0: 0}}, id=ONE, epoch=4),
            fetch(6, {_FORGET.name: {0: 0}}, {_FORGET.name: [0, 1]}, epoch=0),
            fetch(7, id=TWO, epoch=1),
        ),
    ),
    session_case(
        "emptied",
        "a session without partitions ends; the partitions of that request get a response anyway",
        _EMPTIED,
        *fill(_EMPTIED),
        *asked(
            fetch(1, {_EMPTIED.name: {0: 0}}),
            fetch(2, {}, {_EMPTIED.name: [0]}, id=ONE, epoch=1),
            fetch(3, id=ONE, epoch=2),
            fetch(4, id=ONE, epoch=1),
            fetch(5, {_EMPTIED.name: {0: 0}}),
            fetch(6, {_EMPTIED.name: {1: 0}}, {_EMPTIED.name: [0, 1]}, id=TWO, epoch=1),
            fetch(7, id=TWO, epoch=2),
        ),
    ),
    session_case(
        "anew",
        "a full fetch request ends the session that it names",
        _ANEW,
        *fill(_ANEW),
        *asked(
            fetch(1, {_ANEW.name: {0: 0}}),
            fetch(2, {_ANEW.name: {1: 0}}, id=ONE, epoch=0),
            fetch(3, id=ONE, epoch=1),
            fetch(4, id=TWO, epoch=1),
            fetch(5, {_ANEW.name: {1: 0}}, id=TWO, epoch=-1),
            fetch(6, id=TWO, epoch=2),
        ),
    ),
    session_case(
        "twice",
        "one partition twice in one request: the last one counts",
        _TWICE,
        *fill(_TWICE, 0, 3),
        *asked(
            request(
                FETCH,
                12,
                {
                    "replica_id": -1,
                    "max_wait": timedelta(0),
                    "min_bytes": 1,
                    "max_bytes": 1 << 20,
                    "isolation_level": 0,
                    "session_id": 0,
                    "session_epoch": 0,
                    "topics": [
                        {"topic": _TWICE.name, "partitions": [part_of(0, 0, {}), part_of(1, 0, {}), part_of(0, 2, {})]},
                        {"topic": _TWICE.name, "partitions": [part_of(1, 7, {})]},
                    ],
                    "forgotten_topics_data": [],
                    "rack_id": "",
                },
                1,
            ),
            fetch(2, id=ONE, epoch=1),
        ),
    ),
    session_case(
        "wait",
        "a parked session fetch: it times out, or completes with records; a new high watermark alone does not "
        "complete it",
        _WAIT,
        *fill(_WAIT),
        *asked(
            fetch(1, {_WAIT.name: {0: 1, 1: 0}}),
            fetch(2, id=ONE, epoch=1, wait_ms=150),
        ),
        Send((fetch(3, id=ONE, epoch=2, wait_ms=20_000),), conn="reader"),
        *fill(_WAIT, 1),
        Settle("reader"),
        *asked(fetch(4, {_WAIT.name: {1: 1}}, id=ONE, epoch=3, wait_ms=150)),
        timed=(At(2, 150), At(4, 150)),
    ),
    session_case(
        "overtaken",
        "a parked fetch overtaken by the next request of its session gets INVALID_FETCH_SESSION_EPOCH, with "
        "the session id",
        _OVERTAKEN,
        *asked(fetch(1, {_OVERTAKEN.name: {0: 0}})),
        Send((fetch(2, id=ONE, epoch=1, wait_ms=20_000),), conn="slow"),
        Pause(200),
        Send((fetch(3, {_OVERTAKEN.name: {0: 0}}, id=ONE, epoch=2),), conn="other"),
        Settle("other"),
        *fill(_OVERTAKEN),
        Settle("slow"),
        *asked(fetch(4, id=ONE, epoch=3), fetch(5, id=ONE, epoch=3)),
    ),
    session_case(
        "early",
        "a parked full fetch: its session starts with the response",
        _EARLY,
        Send((fetch(1, {_EARLY.name: {0: 0}}, wait_ms=20_000),), conn="reader"),
        *fill(_EARLY),
        Settle("reader"),
        *asked(fetch(2, {_EARLY.name: {0: 1}}, id=ONE, epoch=1), fetch(3, id=ONE, epoch=2)),
    ),
]
