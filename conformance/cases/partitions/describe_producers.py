"""DescribeProducers: the producers that have written to a partition."""

from __future__ import annotations

from conformance.frames import batch, produce, request
from conformance.scenario import Case, MoveLeader, Send, Settle, Step, Topic
from conformance.shared_steps import warm

_KEY = 61


def _asked(*topics: tuple[str, list[int]], correlation_id: int = 1) -> bytes:
    values = {"topics": [{"name": name, "partition_indexes": indexes} for name, indexes in topics]}
    return request(_KEY, 0, values, correlation_id)


def _by(producer_id: int, epoch: int, sequence: int, *values: bytes) -> bytes:
    return batch(*(values or (b"v",)), producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def _case(name: str, why: str, *steps: Step, topics: tuple[Topic, ...] = (), box: str = "one") -> Case:
    return Case(f"describe-producers/{name}", why, steps, topics, box)


_NONE = Topic("producers-none", 2)
_SOME = Topic("producers-some", 2)
_EPOCH = Topic("producers-epoch")
_THREE = Topic("producers-three", 1, 3)
_AWAY = Topic("producers-away")
_MOVED = Topic("producers-moved", 1, 3)

CASES: list[Case] = [
    _case(
        "none",
        "no producer, or no idempotent one; unknown partitions; a partition twice",
        Send((produce(_NONE.name, batch(b"x")),)),
        Settle(),
        Send((_asked((_NONE.name, [0, 1, 2, -1]), (_NONE.name, [0])),)),
        Settle(),
        topics=(_NONE,),
    ),
    _case(
        "unknown",
        "unknown and invalid names: they have their own messages",
        Send((_asked(("producers-nobody", [0, 1]), ("a/b", [0]), ("", [0]), ("x" * 250, [0]), ("..", [0])),)),
        Settle(),
    ),
    _case(
        "nothing",
        "no topics, and no partitions",
        Send((_asked(), _asked((_NONE.name, []), correlation_id=2))),
        Settle(),
    ),
    _case(
        "some",
        "epoch, last sequence and last timestamp of each",
        Send(
            (
                produce(_SOME.name, _by(7001, 0, 0, b"a", b"b", b"c")),
                produce(_SOME.name, _by(7001, 0, 3, b"d"), correlation_id=2),
                produce(_SOME.name, _by(7002, 5, 100), correlation_id=3),
                produce(_SOME.name, {1: _by(7003, 1, 2**31 - 1, b"x", b"y")}, correlation_id=4),
            )
        ),
        Settle(),
        Send((_asked((_SOME.name, [0, 1])),)),
        Settle(),
        topics=(_SOME,),
    ),
    _case(
        "epoch",
        "a new epoch starts anew, and a refused batch changes nothing",
        Send(
            (
                produce(_EPOCH.name, _by(7001, 0, 0, b"a", b"b")),
                produce(_EPOCH.name, _by(7001, 1, 0), correlation_id=2),
                produce(_EPOCH.name, _by(7001, 0, 2), correlation_id=3),
                produce(_EPOCH.name, _by(7001, 1, 7), correlation_id=4),
            )
        ),
        Settle(),
        Send((_asked((_EPOCH.name, [0])),)),
        Settle(),
        topics=(_EPOCH,),
    ),
    _case(
        "follower-asked",
        "a follower returns the producers too, a broker without a replica NOT_LEADER_OR_FOLLOWER",
        *warm(_THREE.name),
        Send((produce(_THREE.name, _by(7001, 0, 0)),)),
        Settle(),
        Send((_asked((_THREE.name, [0]), (_AWAY.name, [0])),), "b", 2),
        Settle("b"),
        topics=(_THREE, _AWAY),
        box="three",
    ),
    _case(
        "moved",
        "a new leader returns the producers",
        *warm(_MOVED.name),
        Send((produce(_MOVED.name, _by(7001, 3, 0, b"a", b"b")),)),
        Settle(),
        MoveLeader(_MOVED.name, 2),
        Send((_asked((_MOVED.name, [0])),), "b", 2),
        Settle("b"),
        topics=(_MOVED,),
        box="three",
    ),
]
