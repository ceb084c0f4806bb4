"""Events of groups in the journal (core/journal/group_events.py)."""

from __future__ import annotations

from support.classic_members import ClassicMembers
from support.consumer_member import ConsumerHarness
from support.group_harness import GroupHarness
from support.offsets import commit_values, with_coordinator
from support.requests import request
from support.simulation import Simulation

from fakebroker.core.journal.events import Event
from fakebroker.core.journal.group_events import (
    GenerationBegan,
    GroupStabilized,
    MemberJoined,
    MemberLeft,
    OffsetsCommitted,
    OffsetsExpired,
    RebalanceBegan,
)
from fakebroker.core.journal.journal import Journal

OFFSET_COMMIT = 8
OF_GROUPS = (
    MemberJoined,
    MemberLeft,
    RebalanceBegan,
    GenerationBegan,
    GroupStabilized,
    OffsetsCommitted,
    OffsetsExpired,
)


def recorded(simulation: Simulation) -> Journal:
    journal = Journal()
    simulation.cluster.probe.listen(journal.append)
    return journal


def of_groups(journal: Journal) -> list[Event]:
    events: list[Event] = [event for event in journal if isinstance(event, OF_GROUPS)]
    journal.clear()
    return events


def test_a_classic_group_from_its_first_member_to_its_last() -> None:
    harness = GroupHarness(config={"group.initial.rebalance.delay.ms": "0"})
    journal = recorded(harness.simulation)
    members = ClassicMembers(harness)
    [member] = members.stable()
    events = of_groups(journal)
    assert [type(event) for event in events] == [MemberJoined, RebalanceBegan, GenerationBegan, GroupStabilized]
    assert events[0][2:] == ("g", member, None, "client")
    assert events[2][2:] == ("g", 1, "range", member, (member,))
    assert events[3][2:] == ("g", 1)

    members.leave(member)
    left, began, empty = of_groups(journal)
    assert isinstance(left, MemberLeft)
    assert (left.group, left.member, left.generation) == ("g", member, 1)
    assert left.reason
    assert (type(began), type(empty), empty[-1]) == (RebalanceBegan, GenerationBegan, ())


def test_a_classic_member_that_is_not_heard_of() -> None:
    harness = GroupHarness(config={"group.initial.rebalance.delay.ms": "0"})
    journal = recorded(harness.simulation)
    [member] = ClassicMembers(harness).stable(session_ms=10_000)
    of_groups(journal)
    harness.advance(10_000)
    left = of_groups(journal)[0]
    assert isinstance(left, MemberLeft)
    assert (left.member, left.mono_ms) == (member, harness.now.mono_ms)


def test_a_consumer_group() -> None:
    harness = ConsumerHarness()
    harness.topic("t", 2)
    journal = recorded(harness.simulation)
    epoch = harness.join("a", "t").member_epoch
    joined, began = of_groups(journal)
    assert joined[2:5] == ("g", "a", None)
    assert began[2:] == ("g", epoch, "uniform", "", ("a",))

    harness.heartbeat("a", epoch)
    assert of_groups(journal) == []
    harness.heartbeat("a", -1)
    [left] = of_groups(journal)
    assert left[2:] == ("g", "a", epoch, "it has left")


def test_a_consumer_that_is_not_heard_of() -> None:
    harness = ConsumerHarness()
    harness.topic("t", 2)
    harness.join("a", "t")
    journal = recorded(harness.simulation)
    harness.advance(45_000)
    [left] = of_groups(journal)
    assert isinstance(left, MemberLeft)
    assert (left.member, "in time" in left.reason) == ("a", True)


def test_commits_and_what_becomes_of_them() -> None:
    simulation = with_coordinator(
        Simulation(brokers=1, config={"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "60000"})
    )
    simulation.topic("t", partitions=2, replicas=1)
    journal = recorded(simulation)
    client = simulation.connect()
    values = commit_values(simulation, "g", {("t", 0): 5, ("t", 1): 7})
    client.send(request(OFFSET_COMMIT, 9, values))
    simulation.settle()
    [committed] = of_groups(journal)
    assert committed[2:] == ("g", "", -1, (("t", 0, 5), ("t", 1, 7)))

    for _ in range(3):
        simulation.advance(60_000)
    [expired] = of_groups(journal)
    assert expired[2:] == ("g", (("t", 0), ("t", 1)))


def test_a_commit_that_is_refused_is_not_told() -> None:
    simulation = with_coordinator(Simulation(brokers=1))
    simulation.topic("t", partitions=2, replicas=1)
    journal = recorded(simulation)
    client = simulation.connect()
    values = commit_values(simulation, "g", {("t", 0): 5}, generation_id_or_member_epoch=3, member_id="nobody")
    client.send(request(OFFSET_COMMIT, 9, values))
    simulation.settle()
    assert of_groups(journal) == []


def test_a_long_commit_takes_the_room_of_many_events() -> None:
    journal = Journal(size=10)
    for number in range(3):
        journal.append(OffsetsCommitted(0, 0, "g", "", number, tuple(("t", index, 0) for index in range(5))))
    assert [event[4] for event in journal] == [1, 2]  # type: ignore[misc]
    assert journal.dropped == 1
