"""The rate of new connections (KIP-612): above the limit of a broker they wait, above that of an address they are
refused."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask
from support.requests import metadata
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.quota.quota import DEFAULT, QuotaEntity
from fakebroker.network.connection import ChannelMuteState
from fakebroker.network.connection_quotas import ConnectionQuotas

ALTER_CLIENT_QUOTAS = 49


def of_broker(rate: int, **config: str) -> Simulation:
    return Simulation(config={"max.connection.creation.rate": str(rate), **config})


def of_address(simulation: Simulation, rate: float | None, address: str = "10.0.0.1") -> None:
    quotas = None if rate is None else {"connection_creation_rate": rate}
    simulation.cluster.members.client_quotas.alter(QuotaEntity(None, None, address), quotas)


def connected(simulation: Simulation, count: int, **kwargs: Any) -> list[SimulatedClient]:
    return [simulation.connect(1, **kwargs) for _ in range(count)]


def states(clients: list[SimulatedClient]) -> list[ChannelMuteState]:
    return [client.connection.state for client in clients]


def test_a_connection_above_the_rate_waits_and_is_served_later() -> None:
    simulation = of_broker(2)  # twenty at once are two a second, in ten windows
    connected(simulation, 20)
    late, later = connected(simulation, 2)
    late.send(metadata([]))
    later.send(metadata([]))
    assert states([late, later]) == [ChannelMuteState.WAITING] * 2
    # (2.1 - 2) / 2 of ten seconds; then the next one is judged: 22 in 10.5 s, again half a second.
    simulation.advance(2_000)
    assert [[at_ms for at_ms, _ in client.answers] for client in (late, later)] == [[500], [1_000]]


def test_no_connection_waits_for_longer_than_a_window() -> None:
    simulation = of_broker(0)
    [client] = connected(simulation, 1)
    client.send(metadata([]))
    simulation.advance(999)
    assert client.answers == []
    simulation.advance(1)
    assert len(client.answers) == 1


def test_each_broker_counts_its_own() -> None:
    simulation = of_broker(2)
    connected(simulation, 21)
    assert simulation.connect(2).connection.state is ChannelMuteState.READY


def test_a_waiting_connection_that_disconnects_leaves_its_turn_to_the_next() -> None:
    simulation = of_broker(2)
    connected(simulation, 20)
    late, later = connected(simulation, 2)
    late.disconnect()
    simulation.advance(499)
    assert later.connection.state is ChannelMuteState.WAITING
    simulation.advance(501)
    assert later.connection.state is ChannelMuteState.READY


def test_a_slot_is_waited_for_as_well() -> None:
    simulation = of_broker(2, **{"max.connections": "20"})
    first = connected(simulation, 20)
    [late] = connected(simulation, 1)
    simulation.advance(2_000)
    assert late.connection.state is ChannelMuteState.WAITING
    first[0].disconnect()
    assert late.connection.state is ChannelMuteState.READY


def test_a_rate_that_is_altered_holds_for_the_next_one() -> None:
    simulation = of_broker(2)
    connected(simulation, 20)
    late, later = connected(simulation, 2)
    simulation.cluster.admin.alter_broker_configs({"max.connection.creation.rate": "1000"}, simulation.now)
    assert late.connection.state is ChannelMuteState.WAITING
    simulation.advance(500)
    assert states([late, later]) == [ChannelMuteState.READY] * 2


def test_an_address_that_connects_too_often_is_left_unread_and_closed() -> None:
    simulation = Simulation()
    of_address(simulation, 1)
    connected(simulation, 10)
    [late] = connected(simulation, 1)
    late.send(metadata([]))
    assert (late.connection.state, late.reading_paused) == (ChannelMuteState.WAITING, True)
    simulation.advance(999)
    assert states([late]) == [ChannelMuteState.WAITING]
    simulation.advance(1)
    assert late.closed == "10.0.0.1 connects too often (connection_creation_rate)"
    assert late.answers == []


def test_a_connection_refused_for_its_address_does_not_count() -> None:
    simulation = of_broker(3)
    of_address(simulation, 1)
    connected(simulation, 10)
    connected(simulation, 20)  # all refused
    others = connected(simulation, 10, address="10.0.0.2")
    assert states(others) == [ChannelMuteState.READY] * 10
    simulation.advance(11_000)
    assert states(connected(simulation, 1)) == [ChannelMuteState.READY]


@pytest.mark.parametrize(("address", "is_refused"), [("10.0.0.1", False), ("10.0.0.2", True)])
def test_an_address_of_its_own_counts_before_the_default(address: str, is_refused: bool) -> None:
    simulation = Simulation()
    of_address(simulation, 1, DEFAULT)
    of_address(simulation, 100)
    *_, last = connected(simulation, 11, address=address)
    assert (last.connection.state is ChannelMuteState.WAITING) is is_refused


def test_a_removed_limit_of_an_address_ends_and_a_waiting_connection_may_disconnect() -> None:
    simulation = Simulation()
    of_address(simulation, 1)
    *_, last = connected(simulation, 11)
    last.disconnect()
    of_address(simulation, None)
    assert states(connected(simulation, 20)) == [ChannelMuteState.READY] * 20
    simulation.advance(5_000)


def test_over_the_wire_localhost_is_an_address() -> None:
    simulation = Simulation()
    entry = {
        "entity": [{"entity_type": "ip", "entity_name": "localhost"}],
        "ops": [{"key": "connection_creation_rate", "value": 1.0, "remove": False}],
    }
    answer = ask(simulation.connect(), ALTER_CLIENT_QUOTAS, 1, entries=[entry], validate_only=False)
    assert answer.entries[0].error_code == 0
    assert states(connected(simulation, 11, address="127.0.0.1"))[10] is ChannelMuteState.WAITING


def test_a_restart_clears_the_rate_of_connections() -> None:
    simulation = of_broker(2)
    connected(simulation, 25)
    simulation.cluster.lives.stop_broker(1, simulation.now)
    simulation.cluster.lives.start_broker(1, simulation.now)
    assert states(connected(simulation, 20)) == [ChannelMuteState.READY] * 20


def test_an_address_without_a_rate_is_not_counted() -> None:
    quotas = ConnectionQuotas()
    quotas.update_ip_connection_rate_quota("10.0.0.2", 1)
    for _ in range(100):
        assert quotas.record_ip_connection_maybe_throttle("10.0.0.1", 0) == 0
    quotas.update_ip_connection_rate_quota("10.0.0.1", 1)
    assert quotas.record_ip_connection_maybe_throttle("10.0.0.1", 0) == 0
