"""Very many faults that act on one request: other clients are served between them."""

from __future__ import annotations

from typing import Any

import pytest
from support.faulty import FaultyCluster
from support.requests import produce

from fakebroker.network.effects import Send

MANY = 700  # a turn of a connection takes 256 of them, and more than two turns are looked at
ACTIONS = [
    ({"api": "Produce", "topic": "t"}, "NOT_ENOUGH_REPLICAS"),
    ({"api": "Produce", "topic": "t"}, "freeze"),
    ({"api": "Produce", "at": "after_append"}, "REQUEST_TIMED_OUT"),
    ({"api": "Produce", "at": "before_answer"}, "NOT_LEADER_OR_FOLLOWER"),
    ({"api": "Produce", "at": "within_answer"}, "duplicate"),
]


@pytest.mark.parametrize(("when", "do"), ACTIONS)
def test_others_are_answered_before_the_last_one_has_acted(when: dict[str, Any], do: Any) -> None:
    kafka = FaultyCluster(partitions=1)
    slow, quick = kafka.connect(), kafka.connect()
    armed = [kafka.add(when | {"connection": slow.connection.number}, do) for _ in range(MANY)]
    kafka.cluster.receive(slow.connection, produce("t"), kafka.now)
    assert 0 < sum(fault.hits for fault in armed) < MANY
    assert kafka.cluster.has_work
    kafka.cluster.receive(quick.connection, produce("t", acks=1), kafka.now)
    assert sum(fault.hits for fault in armed) < MANY
    sent = [effect.connection for effect in kafka.cluster.take_effects() if isinstance(effect, Send)]
    assert sent == [quick.connection]
    kafka.advance(100)
    assert all(fault.hits == 1 for fault in armed)
    if do != "freeze":
        assert len(slow.frames) == (MANY + 1 if do == "duplicate" else 1)


def test_the_work_of_a_lost_connection_is_dropped() -> None:
    kafka = FaultyCluster(partitions=1)
    client = kafka.connect()
    for _ in range(MANY):
        kafka.add({"api": "Produce", "topic": "t"}, "NOT_ENOUGH_REPLICAS")
    kafka.cluster.receive(client.connection, produce("t"), kafka.now)
    kafka.cluster.connection_lost(client.connection, kafka.now)
    kafka.advance(100)
    assert not kafka.cluster.has_work
    other = kafka.connect()
    other.send(produce("t"))
    assert len(other.produced()) == 1
