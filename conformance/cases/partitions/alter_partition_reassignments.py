"""AlterPartitionReassignments: replicas set by hand, and partitions while their replicas change."""

from __future__ import annotations

from datetime import timedelta

from conformance.cases.partitions.list_partition_reassignments import listed
from conformance.frames import batch, fetch, metadata, produce, request
from conformance.scenario import (
    AwaitIsr,
    Case,
    CatchUp,
    Freeze,
    Pause,
    ReadLog,
    Send,
    Settle,
    StartBroker,
    Step,
    StopBroker,
    Thaw,
    Topic,
)
from conformance.shared_steps import warm

_KEY = 45
_SETTLED_MS = 1_000  # until followers have what was there, and the controller was told


def reassigned(
    *partitions: tuple[str, int, list[int] | None],
    version: int = 1,
    correlation_id: int = 1,
    may_change_factor: bool = True,
) -> bytes:
    """(topic, partition, replicas) each."""
    topics: dict[str, list[dict[str, object]]] = {}
    for name, index, replicas in partitions:
        topics.setdefault(name, []).append({"partition_index": index, "replicas": replicas})
    values = {
        "timeout": timedelta(seconds=30),
        "allow_replication_factor_change": may_change_factor,
        "topics": [{"name": name, "partitions": parts} for name, parts in topics.items()],
    }
    return request(_KEY, version, values, correlation_id)


def _case(name: str, why: str, *steps: Step, topics: tuple[Topic, ...] = (), box: str = "three") -> Case:
    return Case(f"reassign/{name}", why, steps, topics, box)


def _looked_at(name: str, number: int = 90) -> tuple[Step, ...]:
    return CatchUp(), Send((metadata([name], 9, number), listed([(name, [0])], number + 1))), Settle()


def _goes_over(what: str, why: str, replicas: int, wanted: list[int] | None, may_change_factor: bool = True) -> Case:
    """A topic on the first brokers goes over to others, which do fetch."""
    topic = Topic(f"reassign-{what}", 1, replicas)
    return _case(
        what,
        why,
        *warm(topic.name),
        Send((reassigned((topic.name, 0, wanted), may_change_factor=may_change_factor),)),
        Settle(),
        Pause(_SETTLED_MS),
        *_looked_at(topic.name),
        topics=(topic,),
    )


def _frozen(what: str, why: str, replicas: int, *steps: Step, frozen: int = 3) -> Case:
    """Return a case in which a broker does not fetch meanwhile."""
    topic = Topic(f"reassign-{what}", 1, replicas)
    return _case(what, why, *warm(topic.name), Freeze(frozen), *steps, Thaw(frozen), topics=(topic,))


_BAD: dict[str, list[int]] = {
    "none": [],
    "unknown": [1, 9],
    "negative": [-1],
    "twice": [1, 1],
    "twice-and-unknown": [9, 9],
}
_AWAY = Topic("reassign-away", 1, 1)
_DEAD = Topic("reassign-dead", 1, 2)
_ONLY_DEAD = Topic("reassign-only-dead", 1, 1)
_DIES = Topic("reassign-dies", 1, 2)


CASES: list[Case] = [
    *(
        _case(
            f"v{version}",
            "the current assignment, nothing to cancel, an unknown partition, an empty request",
            Send(
                (
                    reassigned((f"reassign-v{version}", 0, [1, 2]), version=version),
                    reassigned((f"reassign-v{version}", 0, None), version=version, correlation_id=2),
                    reassigned(
                        (f"reassign-v{version}", 7, [1]),
                        (f"reassign-v{version}", -1, None),
                        ("reassign-nobody", 0, [1]),
                        ("a/b", 0, None),
                        version=version,
                        correlation_id=3,
                    ),
                    reassigned(version=version, correlation_id=4),
                )
            ),
            Settle(),
            topics=(Topic(f"reassign-v{version}", 2, 2),),
        )
        for version in (0, 1)
    ),
    *(
        _case(
            f"bad-{what}",
            "invalid replicas (validateManualPartitionAssignment)",
            *(
                step
                for version in (0, 1)
                for step in (Send((reassigned((f"reassign-bad-{what}", 0, wanted), version=version),)), Settle())
            ),
            topics=(Topic(f"reassign-bad-{what}", 1, 2),),
        )
        for what, wanted in _BAD.items()
    ),
    *(
        _case(
            f"factor-{what}",
            "the replication factor may not change (KIP-860)",
            Send((reassigned((f"reassign-factor-{what}", 0, wanted), may_change_factor=False),)),
            Settle(),
            topics=(Topic(f"reassign-factor-{what}", 1, 2),),
        )
        for what, wanted in {"same": [1, 2], "order": [1, 2], "fewer": [1], "more": [1, 2, 3], "bad": [1, 9]}.items()
    ),
    _goes_over(
        "order",
        "the same replicas in another order: the leader stays, and the reassignment completes at once",
        3,
        [2, 3, 1],
    ),
    _goes_over("one-more", "one more replica: the reassignment completes when it is in the ISR", 1, [1, 2]),
    _goes_over("two-more", "two more replicas, and another preferred leader", 1, [3, 1, 2]),
    _goes_over("one-less", "one replica is removed: a new leader epoch, at once", 3, [1, 2]),
    _goes_over("leader-less", "the leader is removed: the next replica leads", 3, [2, 3]),
    _goes_over("moves", "the partition moves to another broker", 1, [2]),
    _goes_over("swaps", "one replica is removed and one is added", 2, [1, 3]),
    _goes_over("swaps-leader", "the leader is removed and another replica is added", 2, [3, 2]),
    _goes_over(
        "swaps-factor", "one replica is removed and one is added, with the same replication factor", 2, [3, 1], False
    ),
    _frozen(
        "adding",
        "the added replica does not fetch: it is an adding replica in the metadata; then the reassignment is cancelled",
        2,
        Send((reassigned((("reassign-adding"), 0, [1, 2, 3])), listed([("reassign-adding", [0])], 2), listed(None, 3))),
        Settle(),
        *_looked_at("reassign-adding"),
        Send((reassigned(("reassign-adding", 0, None), correlation_id=4),)),
        Settle(),
        *_looked_at("reassign-adding", 94),
    ),
    _frozen(
        "swapping",
        "a replica is removed only after the new one is in the ISR",
        2,
        Send((reassigned(("reassign-swapping", 0, [1, 3])), listed([("reassign-swapping", [0])], 2))),
        Settle(),
        *_looked_at("reassign-swapping"),
        Thaw(3),
        AwaitIsr("reassign-swapping", (1, 3)),
        Pause(_SETTLED_MS),
        *_looked_at("reassign-swapping", 94),
    ),
    _frozen(
        "produces",
        "records appended during the reassignment wait for the old ISR only, and reach the new replica",
        2,
        Send((reassigned(("reassign-produces", 0, [3, 1])),)),
        Settle(),
        Send((produce("reassign-produces", batch(b"meanwhile"), correlation_id=2),)),
        Settle(),
        Thaw(3),
        AwaitIsr("reassign-produces", (1, 3)),
        Pause(_SETTLED_MS),
        *_looked_at("reassign-produces"),
        ReadLog("reassign-produces"),
    ),
    _frozen(
        "again",
        "another reassignment while one is in progress",
        2,
        Send((reassigned(("reassign-again", 0, [1, 3])),)),
        Settle(),
        Send(
            (
                reassigned(
                    (
                        "reassign-again",
                        0,
                        [2, 3],
                    ),
                    correlation_id=2,
                ),
                listed([("reassign-again", [0])], 3),
            )
        ),
        Settle(),
        *_looked_at("reassign-again"),
        Send((reassigned(("reassign-again", 0, [1, 2]), correlation_id=4),)),
        Settle(),
        *_looked_at("reassign-again", 94),
    ),
    _frozen(
        "factor-under-way",
        "removing replicas do not count for the replication factor (KIP-860)",
        2,
        Send((reassigned(("reassign-factor-under-way", 0, [1, 3])),)),
        Settle(),
        Send(
            tuple(
                reassigned(("reassign-factor-under-way", 0, wanted), may_change_factor=False, correlation_id=number)
                for number, wanted in ((2, [1, 2, 3]), (3, [2]), (4, None))
            )
        ),
        Settle(),
        *_looked_at("reassign-factor-under-way"),
    ),
    _frozen(
        "waits",
        "a request that waits for a removed replica completes without it",
        3,
        Send((produce("reassign-waits", batch(b"waits"), timeout_ms=9_000, correlation_id=2),)),
        Pause(250),
        Send((reassigned(("reassign-waits", 0, [1, 2])),), "b"),
        Settle("b"),
        Settle(),
        *_looked_at("reassign-waits"),
    ),
    _case(
        "reads-away",
        "a broker that has lost its replica returns an error",
        *warm(_AWAY.name),
        Send((reassigned((_AWAY.name, 0, [2])),)),
        Settle(),
        Pause(_SETTLED_MS),
        CatchUp(),
        Send((fetch(_AWAY.name, correlation_id=2), produce(_AWAY.name, batch(b"x"), correlation_id=3))),
        Settle(),
        CatchUp(2),
        Send((fetch(_AWAY.name, correlation_id=4), produce(_AWAY.name, batch(b"x"), correlation_id=5)), "b", 2),
        Settle("b"),
        topics=(_AWAY,),
    ),
    _case(
        "to-stopped",
        "to a stopped broker: the reassignment waits for it",
        *warm(_DEAD.name),
        StopBroker(3),
        Send((reassigned((_DEAD.name, 0, [1, 3])),)),
        Settle(),
        *_looked_at(_DEAD.name),
        StartBroker(3),
        AwaitIsr(_DEAD.name, (1, 3)),
        Pause(_SETTLED_MS),
        *_looked_at(_DEAD.name, 94),
        topics=(_DEAD,),
        box="stops",
    ),
    _case(
        "to-stopped-alone",
        "to a stopped broker only: the old replica keeps leading; then the reassignment is cancelled",
        *warm(_ONLY_DEAD.name),
        StopBroker(3),
        Send((reassigned((_ONLY_DEAD.name, 0, [3])),)),
        Settle(),
        *_looked_at(_ONLY_DEAD.name),
        Send((reassigned((_ONLY_DEAD.name, 0, None), correlation_id=4),)),
        Settle(),
        *_looked_at(_ONLY_DEAD.name, 94),
        StartBroker(3),
        topics=(_ONLY_DEAD,),
        box="stops",
    ),
    _case(
        "leader-stops",
        "the replica that is to be removed stops: the reassignment completes anyway",
        *warm(_DIES.name),
        StopBroker(2),
        Send((reassigned((_DIES.name, 0, [1, 3])),)),
        Settle(),
        Pause(_SETTLED_MS),
        *_looked_at(_DIES.name),
        StartBroker(2),
        topics=(_DIES,),
        box="stops",
    ),
]
