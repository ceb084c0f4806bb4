"""A world is copied whole: what `deepcopy` would make of it, and nothing that changes is shared."""

from __future__ import annotations

from collections import deque
from copy import deepcopy

import pytest
from support import doses

from fakebroker.testing.messages import ClientOutcome
from fakebroker.testing.oracle import Oracle
from fakebroker.testing.oracle_partition import OraclePartition, OracleReplica
from fakebroker.testing.plan import random_plan
from fakebroker.testing.rules.requests import OracleConnection, OracleParkedRequest, OracleRequests
from fakebroker.testing.run import Run
from fakebroker.testing.worlds import copied

OBJECTS = (Oracle, OraclePartition, OracleReplica, OracleRequests, OracleConnection, OracleParkedRequest)
CHANGING = (*OBJECTS, list, dict, set, deque)


def shown(value: object) -> object:
    """All that there is in it, as tuples and plain values."""
    if isinstance(value, OBJECTS):
        parts = {name: part for name, part in vars(value).items() if not isinstance(part, Oracle)}
        return type(value).__name__, shown(parts)
    if isinstance(value, dict):
        return tuple((key, shown(item)) for key, item in value.items())
    if isinstance(value, (list, deque)):
        return tuple(map(shown, value))
    return frozenset(value) if isinstance(value, set) else value


def changing(value: object) -> dict[int, object]:
    """Return the mutable objects in it, itself included, by identity."""
    changing_: dict[int, object] = {}
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, CHANGING) and id(one) not in changing_:
            changing_[id(one)] = one
            inside = one if isinstance(one, (list, set, deque)) else one.values() if isinstance(one, dict) else ()
            left += [*inside, *vars(one).values()] if hasattr(one, "__dict__") else inside
    return changing_


@pytest.mark.interpreted  # looks into what is compiled
@pytest.mark.parametrize("seed", range(doses.count(8, 20)))
def test_a_world_is_copied_whole(seed: int) -> None:
    run = Run(seed)
    for action in random_plan(seed, 60):
        run.perform(action)
        [world, *_] = run.worlds.open
        world.requests.outcomes.append(ClientOutcome(1, 2, 3, ()))  # between two steps there is none
        other = copied(world)
        assert shown(other) == shown(world) == shown(deepcopy(world))
        shared = changing(other).keys() & changing(world).keys()
        assert {id(world.brokers)} >= shared
        assert all(partition.alive is other.alive for partition in other.partitions.values())
        world.requests.outcomes.clear()
