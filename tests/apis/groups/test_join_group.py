"""JoinGroup, every version (apis/groups/join_group.py)."""

from __future__ import annotations

import struct
from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.handling import received
from support.messages import decode_response
from support.requests import request
from support.simulation import Simulation
from support.slices import most_calls_of_a_slice

from fakebroker.apis import registry

JOIN_GROUP = 11
REQUEST: dict[str, Any] = {
    "group_id": "g",
    "session_timeout": timedelta(seconds=10),
    "rebalance_timeout": timedelta(seconds=20),
    "member_id": "",
    "group_instance_id": None,
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b"said"}],
    "reason": "a test",
}
INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED = 24, 25, 26, 79


@pytest.fixture
def simulation() -> Simulation:
    simulation = Simulation(brokers=1, config={"group.initial.rebalance.delay.ms": "100"})
    simulation.topic("__consumer_offsets", 1, 1)
    return simulation


@pytest.mark.parametrize("version", served_versions(JOIN_GROUP))
def test_a_new_member_joins(simulation: Simulation, version: int) -> None:
    client = simulation.connect()
    values = REQUEST
    if version >= 4:
        refused = ask(client, JOIN_GROUP, version, **REQUEST)
        assert refused.error_code == MEMBER_ID_REQUIRED
        values = REQUEST | {"member_id": refused.member_id}
    client.answers.clear()
    client.send(request(JOIN_GROUP, version, values, correlation_id=5))
    simulation.advance(99)
    assert not client.answers
    simulation.advance(1)

    [(_, frame)] = client.answers
    _, answer = decode_response(JOIN_GROUP, version, frame)
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 1, answer.member_id)
    assert [(member.member_id, member.metadata) for member in answer.members] == [(answer.member_id, b"said")]


@pytest.mark.parametrize("version", served_versions(JOIN_GROUP))
@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"group_id": ""}, INVALID_GROUP_ID),
        ({"session_timeout": timedelta(milliseconds=5_999)}, INVALID_SESSION_TIMEOUT),
        ({"session_timeout": timedelta(milliseconds=1_800_001)}, INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, UNKNOWN_MEMBER_ID),
    ],
)
def test_what_is_refused(simulation: Simulation, version: int, values: dict[str, Any], error: int) -> None:
    answer = ask(simulation.connect(), JOIN_GROUP, version, **REQUEST | values)

    assert (answer.error_code, answer.generation_id, answer.members) == (error, -1, ())
    assert answer.protocol_name == (None if version >= 7 else "")


def test_many_protocols_are_read_in_slices(simulation: Simulation) -> None:
    protocols = [{"name": f"protocol {number}", "metadata": b""} for number in range(2_000)]
    answer = ask(simulation.connect(), JOIN_GROUP, 9, **REQUEST | {"protocols": protocols})
    assert answer.error_code == MEMBER_ID_REQUIRED


def test_a_member_that_disconnects_during_a_join_does_not_disturb_the_others(simulation: Simulation) -> None:
    client = simulation.connect()
    client.send(request(JOIN_GROUP, 0, REQUEST))
    client.disconnect()
    simulation.advance(10_101)  # the delay, and the session of the member
    assert simulation.cluster.brokers[1].groups is not None


@pytest.mark.interpreted
def test_metadata_with_very_many_topics_are_read_in_slices(simulation: Simulation) -> None:
    api = registry.load()[JOIN_GROUP]

    def most_calls(count: int) -> int:
        metadata = struct.pack(">hi", 0, count) + b"".join(b"\0\5%05d" % number for number in range(count)) + b"\0" * 4
        values = REQUEST | {"protocols": [{"name": "range", "metadata": metadata}]}
        _, context, decoded = received(simulation, request(JOIN_GROUP, 3, values)[4:])
        return most_calls_of_a_slice(lambda: api.handle(context, decoded))

    assert most_calls(20_000) < 1.2 * most_calls(5_000)
