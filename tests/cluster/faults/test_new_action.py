"""A new action of faults is one class: it is read, checked and done without a change elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from support.faulty import FaultyCluster
from support.requests import produce

from fakebroker.core.faults.acting import ActionTarget, Changes
from fakebroker.core.faults.actions import VERBS, ClusterAction
from fakebroker.core.faults.fault import Fault


@pytest.fixture
def verb() -> Iterator[str]:
    @dataclass(frozen=True)
    class PauseAll(ClusterAction):
        """Pause all brokers except that of the request, or except `broker`."""

        verb = "pause_all_but"
        main = "broker"
        broker: int | None = None

        def change(self, cluster: Changes, whom: ActionTarget) -> None:
            for broker_id in {1, 2, 3} - {self.broker or whom.broker_id}:
                cluster.pause(broker_id)

    yield PauseAll.verb
    del VERBS[PauseAll.verb]


def test_it_acts(verb: str) -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce"}, verb)
    kafka.connect().send(produce("t", 0))
    assert [kafka.cluster.lives.state_of(broker) for broker in (1, 2, 3)] == ["running", "paused", "paused"]


def test_it_is_read_and_told_like_the_others(verb: str) -> None:
    fault = Fault.from_json({"when": {"api": "Produce"}, "do": {verb: 2}})
    assert fault.to_json()["do"] == {verb: 2}
    with pytest.raises(ValueError, match="'pause_all_but' does not change the bytes of a response"):
        Fault.from_json({"when": {"api": "Produce", "at": "within_answer"}, "do": verb})
