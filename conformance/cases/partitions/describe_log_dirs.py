"""DescribeLogDirs: what is where, and how much of it."""

from __future__ import annotations

from conformance.frames import batch, produce, request
from conformance.scenario import Case, Send, Settle, Step, Topic
from conformance.shared_steps import warm

_KEY = 35


def _asked(topics: list[tuple[str, list[int]]] | None, version: int = 5, correlation_id: int = 1) -> bytes:
    named = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics]
    return request(_KEY, version, {"topics": named}, correlation_id)


def _case(name: str, why: str, *steps: Step, topics: tuple[Topic, ...] = (), box: str = "one") -> Case:
    return Case(f"describe-log-dirs/{name}", why, steps, topics, box)


_THREE = Topic("dirs-three", 2, 3)
_AWAY = Topic("dirs-away")

CASES: list[Case] = [
    *(
        _case(
            f"v{version}",
            "a topic with and without records, unknown partitions, no topics, a topic twice",
            Send((produce(f"dirs-v{version}", batch(b"one", b"two")),)),
            Settle(),
            Send(
                (
                    _asked([(f"dirs-v{version}", [0, 1])], version),
                    _asked([(f"dirs-v{version}", [0, 2, -1]), ("dirs-nobody", [0])], version, 2),
                    _asked([], version, 3),
                    _asked([(f"dirs-v{version}", [])], version, 4),
                    _asked([(f"dirs-v{version}", [0, 0]), (f"dirs-v{version}", [1])], version, 5),
                )
            ),
            Settle(),
            topics=(Topic(f"dirs-v{version}", 2),),
        )
        for version in range(1, 6)
    ),
    _case(
        "follower",
        "each broker describes its own directories",
        *warm(_THREE.name),
        Send((_asked([(_THREE.name, [0, 1]), (_AWAY.name, [0])]),), "b", 2),
        Settle("b"),
        topics=(_THREE, _AWAY),
        box="three",
    ),
]
