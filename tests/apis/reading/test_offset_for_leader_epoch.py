"""OffsetForLeaderEpoch: the end of an epoch, and the brokers that respond."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import batch, produce
from support.simulation import Simulation

OFFSET_FOR_LEADER_EPOCH = 23
NONE, UNKNOWN_TOPIC, NOT_LEADER, FENCED, UNKNOWN_EPOCH = 0, 3, 6, 74, 75


@pytest.fixture
def simulation() -> Simulation:
    """Epoch 0 has the offsets 0 and 1, epoch 1 has offset 2, broker 3 leads in epoch 2, which has nothing."""
    running = Simulation()
    running.topic("t", partitions=2)
    for broker, count in ((1, 2), (2, 1)):
        running.move_leader(broker)
        for _ in range(count):
            running.connect(broker).send(produce("t", records=batch()))
    running.move_leader(3)
    return running


def asked(
    simulation: Simulation, version: int, leader_epoch: int, *, broker: int = 3, current: int = -1, partition: int = 0
) -> tuple[int, int, int]:
    answer: Any = ask(
        simulation.connect(broker),
        OFFSET_FOR_LEADER_EPOCH,
        version,
        replica_id=-1,
        topics=[
            {
                "topic": "t",
                "partitions": [{"partition": partition, "current_leader_epoch": current, "leader_epoch": leader_epoch}],
            }
        ],
    )
    ((topic,),) = (answer.topics,)
    ((end,),) = (topic.partitions,)
    assert end.partition == partition
    return int(end.error_code), end.leader_epoch, end.end_offset


@pytest.mark.parametrize("version", served_versions(OFFSET_FOR_LEADER_EPOCH))
@pytest.mark.parametrize(
    ("leader_epoch", "answer"),
    [(0, (NONE, 0, 2)), (1, (NONE, 1, 3)), (2, (NONE, 2, 3)), (3, (NONE, -1, -1)), (-1, (NONE, -1, -1))],
)
def test_where_an_epoch_ends(
    simulation: Simulation, version: int, leader_epoch: int, answer: tuple[int, int, int]
) -> None:
    assert asked(simulation, version, leader_epoch) == answer


@pytest.mark.parametrize(
    ("broker", "current", "partition", "error"),
    [(3, 2, 0, NONE), (3, 1, 0, FENCED), (3, 3, 0, UNKNOWN_EPOCH), (1, 2, 0, NOT_LEADER), (1, 1, 0, FENCED),
     (3, -1, 9, UNKNOWN_TOPIC)],
)  # fmt: skip
def test_offset_for_leader_epoch_checks_leader_and_leader_epoch(
    simulation: Simulation, broker: int, current: int, partition: int, error: int
) -> None:
    got, *end = asked(simulation, 4, 0, broker=broker, current=current, partition=partition)
    assert got == error
    assert end == ([0, 2] if error == NONE else [-1, -1])
