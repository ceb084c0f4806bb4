"""The addresses of a cluster by its settings, and by its arguments, which take precedence (server/made/)."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.core.errors import KafkaError
from fakebroker.core.security.identity import Listener
from fakebroker.server.made.arguments import Arguments, ListenerAddresses
from fakebroker.server.made.everywhere import AdvertisedAddress
from fakebroker.server.made.spec import ClusterSpec, OptionError

KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "7",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "7@localhost:9093",
    "listeners": "CONTROLLER://:9093,PLAINTEXT://:9092",
    "advertised.listeners": "PLAINTEXT://kafka:19092,CONTROLLER://kafka:9093",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,OUT:SSL,IN:PLAINTEXT",
    "log.dirs": "/tmp/kraft-combined-logs",
}


def made(config: dict[str, str], **given: Any) -> Arguments:
    return Arguments.read(ClusterSpec(**given, config=config))


def test_without_settings_three_brokers_take_free_ports() -> None:
    assert made({}).broker_ids == (1, 2, 3)
    assert made({}).places[0] == ListenerAddresses("127.0.0.1", 0, "127.0.0.1", 0)


def test_a_server_properties_is_one_broker_where_it_says() -> None:
    assert made(KRAFT).broker_ids == (7,)
    assert made(KRAFT).places[0] == ListenerAddresses("", 9092, "kafka", 19092)


def test_arguments_count_before_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fakebroker.server.made.arguments.told_of", lambda host: AdvertisedAddress(f"told of {host!r}", True)
    )
    assert made(KRAFT, brokers=2).broker_ids == (1, 2)
    assert made(KRAFT, broker_ids=[4]).broker_ids == (4,)
    assert made(KRAFT, port=5).places[0] == ListenerAddresses("", 5, "told of ''", 0, True)
    assert made(KRAFT, port=0).places[0] == ListenerAddresses("", 0, "told of ''", 0, True)
    assert made(KRAFT, host="::1").places[0] == ListenerAddresses("::1", 9092, "told of '::1'", 0, True)
    assert made(KRAFT, advertised_host="a").places[0] == ListenerAddresses("", 9092, "a", 19092)
    assert made(KRAFT, advertised_port=9).places[0] == ListenerAddresses("", 9092, "kafka", 9)


def test_what_is_advertised_alone_says_nothing_of_where_to_listen() -> None:
    assert made({"advertised.listeners": "PLAINTEXT://kafka:9092"}).places[0] == ListenerAddresses(
        "127.0.0.1", 0, "kafka", 9092
    )


def test_each_listener_of_the_settings_is_opened() -> None:
    config = KRAFT | {"listeners": "IN://[::1]:5,CONTROLLER://:7,OUT://a:6", "advertised.listeners": "OUT://b:16"}
    ours, theirs = made(config).places
    assert ours == ListenerAddresses("::1", 5, "::1", 0, listener=Listener("IN", "PLAINTEXT"))
    assert theirs == ListenerAddresses("a", 6, "b", 16, listener=Listener("OUT", "SSL"))


def test_arguments_cannot_say_which_of_several_listeners_they_mean() -> None:
    config = {"listeners": "PLAINTEXT://:5,SSL://:6"}
    with pytest.raises(OptionError, match="the settings have the listeners PLAINTEXT, SSL: leave out port"):
        made(config, port=7)
    assert [place.host for place in made(config, brokers=1, host="127.0.0.1").places] == ["127.0.0.1"] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"process.roles": "controller"}, "process.roles=controller: without a broker there is nothing to serve"),
        ({"broker.id": "8"}, "You must set `node.id` to the same value as `broker.id`: 7 and 8"),
        ({"listeners": "CONTROLLER://:9093"}, "all listeners are the controllers': there is nothing to serve"),
        ({"listeners": "X://:9093"}, "No security protocol defined for listener X"),
        ({"listeners": "PLAINTEXT://:99999"}, "99999 is no port"),
        ({"inter.broker.listener.name": "IN"}, "IN is none of PLAINTEXT"),
        ({"advertised.listeners": "PLAINTEXT://a:1,SSL://a:2"}, "SSL is none of PLAINTEXT"),
        (
            {"listeners": "IN://:5,OUT://:6", "advertised.listeners": "OUT://b:1", "inter.broker.listener.name": "IN"},
            "IN is none of OUT",
        ),
        (
            {"connection.failed.authentication.delay.ms": "600000"},
            "delay.ms=600000 should always be less than connections.max.idle.ms=600000",
        ),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "cannot use the nonroutable meta-address 0.0.0.0"),
    ],
)
def test_settings_that_say_nothing_that_can_be(changes: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaError, match=message):
        made(KRAFT | changes)


def test_a_delay_of_failed_logins_may_have_any_length_if_no_connection_is_idle() -> None:
    made({"connection.failed.authentication.delay.ms": "700000", "connections.max.idle.ms": "-1"})
    made({"connection.failed.authentication.delay.ms": "599999"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"listeners": ["SSL"]}, "inter.broker.listener.name must be a listener name .* NOPE is none of SSL"),
        ({"listeners": ["nope=SSL,advertised=0.0.0.0:9"]}, "cannot use the nonroutable meta-address 0.0.0.0"),
    ],
)
def test_listeners_of_the_arguments_are_checked_as_those_of_settings(given: dict[str, Any], message: str) -> None:
    with pytest.raises(KafkaError, match=message):
        made({"inter.broker.listener.name": "NOPE"}, **given)
    assert made({"inter.broker.listener.name": "NOPE"}, listeners=["nope=SSL"]).places


def test_no_client_is_sent_to_all_addresses() -> None:
    with pytest.raises(KafkaError, match=r"cannot use the nonroutable meta-address 0.0.0.0"):
        made({}, advertised_host="0.0.0.0")


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_a_broker_has_its_id_by_either_name(name: str) -> None:
    assert made({name: "0"}).broker_ids == (0,)
