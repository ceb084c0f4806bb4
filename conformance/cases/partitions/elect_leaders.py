"""ElectLeaders: the preferred replica, or any."""

from __future__ import annotations

from datetime import timedelta

from conformance.cases.partitions.alter_partition_reassignments import reassigned
from conformance.frames import metadata, request
from conformance.scenario import (
    AwaitIsr,
    Case,
    CatchUp,
    Send,
    Settle,
    StartBroker,
    Step,
    StopBroker,
    Topic,
)
from conformance.shared_steps import warm

_KEY = 43
_PREFERRED, _UNCLEAN = 0, 1


def _asked(
    topics: list[tuple[str, list[int]]] | None, kind: int = _PREFERRED, version: int = 2, correlation_id: int = 1
) -> bytes:
    named = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics]
    values = {"election_type": kind, "topic_partitions": named, "timeout": timedelta(seconds=30)}
    return request(_KEY, version, values, correlation_id)


def _case(name: str, why: str, *steps: Step, topics: tuple[Topic, ...] = (), box: str = "one") -> Case:
    return Case(f"elect-leaders/{name}", why, steps, topics, box)


def _led(name: str, number: int = 99) -> tuple[Step, ...]:
    return CatchUp(), Send((metadata([name], 9, number),)), Settle()


_FIRST = Topic("elect-first", 1, 2)
_BACK = Topic("elect-back", 1, 3)

CASES: list[Case] = [
    *(
        _case(
            f"v{version}",
            "no election needed, unknown partitions, no partitions, other election types",
            Send(
                (
                    _asked([(f"elect-v{version}", [0, 1])], version=version),
                    _asked(
                        [(f"elect-v{version}", [0, 2, -1]), ("elect-nobody", [0]), ("a/b", [0])],
                        version=version,
                        correlation_id=2,
                    ),
                    _asked([], version=version, correlation_id=3),
                    _asked([(f"elect-v{version}", [])], version=version, correlation_id=4),
                    *(
                        _asked([(f"elect-v{version}", [0]), ("elect-nobody", [1])], kind, version, 5 + number)
                        for number, kind in enumerate((_UNCLEAN, 2, -1, 127) if version else ())
                    ),
                    _asked(
                        [(f"elect-v{version}", [0, 0]), (f"elect-v{version}", [1])], version=version, correlation_id=20
                    ),
                )
            ),
            Settle(),
            topics=(Topic(f"elect-v{version}", 2),),
        )
        for version in range(3)
    ),
    _case(
        "leader-stops",
        "the preferred replica is stopped: PREFERRED_LEADER_NOT_AVAILABLE; then it is in the ISR and is elected",
        *warm(_BACK.name),
        Send((reassigned((_BACK.name, 0, [3, 1, 2])),)),
        Settle(),
        StopBroker(3),
        Send((_asked([(_BACK.name, [0])]), _asked([(_BACK.name, [0])], _UNCLEAN, correlation_id=2))),
        Settle(),
        StartBroker(3),
        AwaitIsr(_BACK.name, (1, 2, 3)),
        Send((_asked([(_BACK.name, [0])], correlation_id=3),)),
        Settle(),
        Send((_asked([(_BACK.name, [0])], correlation_id=4),)),
        Settle(),
        *_led(_BACK.name),
        topics=(_BACK,),
        box="stops",
    ),
    _case(
        "preferred",
        "the first replica leads after the request",
        *warm(_FIRST.name),
        Send((reassigned((_FIRST.name, 0, [2, 1])), _asked([(_FIRST.name, [0])], correlation_id=2))),
        Settle(),
        *_led(_FIRST.name),
        topics=(_FIRST,),
        box="three",
    ),
]
