"""The placement of the replicas of a new topic (core/controller/placement.py)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.placement import place_replicas
from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.errors import KafkaError


def placed(brokers: BrokerRegistry, partitions: int, factor: int) -> list[tuple[int, ...]]:
    return place_replicas(NewTopic("t", partitions, factor), brokers.broker_ids, brokers, BrokerConfig())


@pytest.mark.parametrize("racks", [{}, dict.fromkeys((1, 2, 3), "a")])
def test_without_racks_or_in_one_the_next_ones_follow(racks: dict[int, str]) -> None:
    brokers = BrokerRegistry(range(1, 4), racks)
    assert placed(brokers, 4, 2) == [(1, 2), (2, 3), (3, 1), (1, 2)]


def test_each_rack_gets_one_replica_before_any_gets_two() -> None:
    brokers = BrokerRegistry(range(1, 5), {1: "a", 2: "a", 3: "b", 4: "b"})
    assert placed(brokers, 4, 2) == [(1, 3), (2, 3), (3, 1), (4, 1)]
    assert placed(brokers, 1, 3) == [(1, 3, 2)]


def test_those_in_no_rack_are_in_one() -> None:
    assert placed(BrokerRegistry(range(1, 4), {3: "a"}), 1, 2) == [(1, 3)]


def test_stopped_ones_come_last_whatever_their_rack() -> None:
    brokers = BrokerRegistry(range(1, 5), {1: "a", 2: "a", 3: "b", 4: "b"})
    brokers.fence(3)
    brokers.fence(4)
    assert placed(brokers, 2, 3) == [(1, 2, 3), (2, 1, 4)]


def test_one_in_controlled_shutdown_gets_none() -> None:
    brokers = BrokerRegistry(range(1, 4), {})
    brokers[3].in_controlled_shutdown = True
    assert placed(brokers, 2, 2) == [(1, 2), (2, 1)]
    with pytest.raises(KafkaError, match=r"factor of 3 cannot be reached because only 2 broker\(s\)"):
        placed(brokers, 1, 3)
    brokers.fence(3)
    assert placed(brokers, 1, 3) == [(1, 2, 3)]


def test_one_that_is_about_to_be_fenced_comes_last() -> None:
    brokers = BrokerRegistry(range(1, 4), {})
    brokers[1].is_being_fenced = True
    assert placed(brokers, 2, 3) == [(2, 3, 1), (3, 2, 1)]


@given(
    racks=st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=7),
    stopped=st.sets(st.integers(1, 7), max_size=3),
    partitions=st.integers(1, 15),
    data=st.data(),
)
def test_replicas_are_spread_over_as_many_racks_as_there_are(
    racks: list[str | None], stopped: set[int], partitions: int, data: st.DataObject
) -> None:
    by_broker = dict(enumerate(racks, 1))
    brokers = BrokerRegistry(by_broker, {broker: rack for broker, rack in by_broker.items() if rack is not None})
    for broker in stopped & by_broker.keys():
        brokers.fence(broker)
    alive = brokers.alive(by_broker)
    if not alive:
        return
    factor = data.draw(st.integers(1, len(by_broker)))
    places = placed(brokers, partitions, factor)
    leaders = [place[0] for place in places]
    assert leaders == [alive[index % len(alive)] for index in range(partitions)]
    for place in places:
        assert len(set(place)) == len(place) == factor
        in_use = [broker for broker in place if broker in alive]
        assert len(in_use) == min(factor, len(alive))
        assert len({by_broker[broker] for broker in in_use}) == min(
            len(in_use), len({by_broker[broker] for broker in alive})
        )
