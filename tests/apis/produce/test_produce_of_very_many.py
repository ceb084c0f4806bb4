"""Produce requests of very many partitions, as the journal tells them: their answers are put together in slices."""

from __future__ import annotations

import pytest
from support.requests import produce
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from fakebroker.core.in_turns import InTurns
from fakebroker.core.journal.events import Answer, ConnectionClosed, Produce
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.slices import Slices

MANY = 1_000  # partitions, of which the first four are there


def simulated() -> tuple[Simulation, Journal]:
    simulation, journal = Simulation(), Journal()
    simulation.cluster.probe.listen(journal.append)
    simulation.topic("t", partitions=4)
    return simulation, journal


def test_the_journal_has_the_results_of_all_partitions_in_order() -> None:
    simulation, journal = simulated()
    client = simulation.connect()
    client.send(produce("t", partitions=dict.fromkeys(range(MANY), b""), acks=1))
    client.send(produce("t", partitions={4: b""}, acks=1))
    simulation.advance(1)
    [event, _] = [event for event in journal.events() if isinstance(event, Produce)]
    [many, one] = [event for event in journal.events() if isinstance(event, Answer)]
    assert [index for _, index in event.partitions] == list(range(MANY))
    assert sorted(partition.partition for partition in many.partitions) == list(range(MANY))
    assert {partition.error for partition in many.partitions if partition.partition >= 4} == {
        "UNKNOWN_TOPIC_OR_PARTITION"
    }
    assert [partition.partition for partition in one.partitions] == [4]


def test_a_closed_connection_names_ten_of_very_many_partitions() -> None:
    simulation, journal = simulated()
    simulation.connect().send(produce("t", partitions=dict.fromkeys(range(4, MANY), b""), acks=0))
    [closed] = [event for event in journal.events() if isinstance(event, ConnectionClosed)]
    assert closed.reason.endswith("UNKNOWN_TOPIC_OR_PARTITION on t-13 and 986 more")


@pytest.mark.interpreted
@pytest.mark.parametrize("records", [b"", None])  # refused each, or the request as a whole
def test_no_slice_of_an_answer_grows_with_its_partitions(
    records: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def all_at_once(self: InTurns, where: str, slices: Slices[None]) -> None:
        calls[-1] = max(calls[-1], most_calls_of_a_slice(lambda: slices))

    monkeypatch.setattr(InTurns, "go_on", all_at_once)
    for size in (MANY, MANY, 3 * MANY):
        calls.append(0)
        simulation, journal = simulated()
        simulation.connect().send(produce("t", partitions=dict.fromkeys(range(size), records), acks=1))
        [answer] = [event for event in journal.events() if isinstance(event, Answer)]
        assert len(answer.partitions) == size
    assert 0 < calls[2] < 1.5 * calls[1]
