"""DescribeTopicPartitions: pages of partitions, and where the next one begins."""

from __future__ import annotations

from typing import Any

from conformance.frames import request
from conformance.scenario import Case, Send, Settle, StartBroker, StopBroker, Topic

_KEY = 75


def _asked(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None, correlation_id: int = 1) -> bytes:
    values: dict[str, Any] = {
        "topics": [{"name": name} for name in names],
        "response_partition_limit": limit,
        "cursor": None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]},
    }
    return request(_KEY, 0, values, correlation_id)


def _case(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), box: str = "one") -> Case:
    return Case(f"describe-topic-partitions/{name}", why, (Send(frames), Settle()), topics, box)


def _pages(what: str) -> tuple[Topic, Topic, Topic]:
    return Topic(f"pages-{what}-a", 2), Topic(f"pages-{what}-b", 3), Topic(f"pages-{what}-c")


_PLAIN = Topic("pages-plain", 2)
_THREE = Topic("pages-three", 2, 3)
_STOPPED = Topic("pages-stopped", 1, 3)

CASES: list[Case] = [
    _case(
        "known",
        "a topic, twice in one request, with unknown ones",
        _asked(_PLAIN.name),
        _asked(_PLAIN.name, _PLAIN.name, correlation_id=2),
        _asked("pages-nobody", _PLAIN.name, "a/b", "x" * 250, correlation_id=3),
        topics=(_PLAIN,),
    ),
    _case("empty-name", "a topic without a name: UNKNOWN_SERVER_ERROR for all", _asked("pages-nobody", "")),
    _case("three", "replicas and ISR", _asked(_THREE.name), topics=(_THREE,), box="three"),
    *(
        _case(
            f"limit-{limit}",
            "the limit of partitions in one response: at least one, and at most the broker's limit",
            _asked(*(topic.name for topic in _pages(f"limit-{limit}")), limit=limit),
            topics=_pages(f"limit-{limit}"),
        )
        for limit in (0, -1, 1, 2, 3, 4, 5, 6, 7, 2**31 - 1)
    ),
    *(
        _case(
            f"cursor-{what}",
            "the cursor: where the response starts",
            _asked(*(topic.name for topic in _pages(what)), cursor=(cursor[0].format(what), cursor[1]), limit=limit),
            topics=_pages(what),
        )
        for what, cursor, limit in (
            ("first", ("pages-{}-a", 0), 2),
            ("second", ("pages-{}-a", 1), 2),
            ("middle", ("pages-{}-b", 1), 1),
            ("middle-on", ("pages-{}-b", 1), 9),
            ("last", ("pages-{}-c", 0), 9),
            ("behind-partitions", ("pages-{}-b", 3), 9),
            ("far-behind", ("pages-{}-b", 100), 9),
            ("negative", ("pages-{}-b", -1), 9),
            ("not-asked", ("pages-{}-bb", 0), 9),
            ("behind-all", ("pages-{}-d", 0), 9),
            ("empty-name", ("", 0), 9),
        )
    ),
    _case(
        "cursor-unknown",
        "the topic of the cursor is requested and unknown",
        _asked("pages-nobody", "pages-someone", cursor=("pages-nobody", 2)),
    ),
    _case(
        "unknown-fill-no-page",
        "unknown topics do not count for the limit",
        _asked("pages-n1", "pages-n2", "pages-room", limit=1),
        topics=(Topic("pages-room", 2),),
    ),
    _case(
        "unknown-behind-a-full-page",
        "the cursor points to an unknown topic after a full page",
        _asked("pages-full", "pages-zzz", limit=2),
        topics=(Topic("pages-full", 2),),
    ),
    Case(
        "describe-topic-partitions/stopped",
        "a stopped broker: not in the ISR, and offline",
        (StopBroker(3), Send((_asked(_STOPPED.name),)), Settle(), StartBroker(3)),
        (_STOPPED,),
        "stops",
    ),
]
