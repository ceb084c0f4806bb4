"""The addresses of a cluster by its settings, and by its arguments, which take precedence (server/made/)."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker.core.errors import KafkaError
from fakebroker.server.made.arguments import Arguments, Place
from fakebroker.server.made.everywhere import Told
from fakebroker.server.made.spec import ClusterSpec

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
    assert made({}).place == Place("127.0.0.1", 0, "127.0.0.1", 0)
    assert made({}).notes == ()


def test_a_server_properties_is_one_broker_where_it_says() -> None:
    assert made(KRAFT).broker_ids == (7,)
    assert made(KRAFT).place == Place("", 9092, "kafka", 19092)
    assert made(KRAFT).notes == ()


def test_arguments_count_before_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fakebroker.server.made.arguments.told_of", lambda host: Told(f"told of {host!r}", True))
    assert made(KRAFT, brokers=2).broker_ids == (1, 2)
    assert made(KRAFT, broker_ids=[4]).broker_ids == (4,)
    assert made(KRAFT, port=5).place == Place("", 5, "told of ''", 0, True)
    assert made(KRAFT, port=0).place == Place("", 0, "told of ''", 0, True)
    assert made(KRAFT, host="::1").place == Place("::1", 9092, "told of '::1'", 0, True)
    assert made(KRAFT, advertised_host="a").place == Place("", 9092, "a", 19092)
    assert made(KRAFT, advertised_port=9).place == Place("", 9092, "kafka", 9)


def test_what_is_advertised_alone_says_nothing_of_where_to_listen() -> None:
    assert made({"advertised.listeners": "PLAINTEXT://kafka:9092"}).place == Place("127.0.0.1", 0, "kafka", 9092)


@pytest.mark.parametrize(
    ("listeners", "place", "note"),
    [
        ("IN://[::1]:5,PLAINTEXT://a:6", ("::1", 5), "one listener is opened, IN; not PLAINTEXT"),
        ("OUT://a:5,IN://b:6", ("b", 6), "one listener is opened, IN; not OUT"),
        ("OUT://a:5", ("a", 5), "listener OUT is opened in plain text: there is no SSL here"),
    ],
)
def test_what_is_not_opened_is_told(listeners: str, place: tuple[str, int], note: str) -> None:
    config = {"listeners": listeners, "listener.security.protocol.map": KRAFT["listener.security.protocol.map"]}
    found = made(config)
    assert (found.place.host, found.place.port) == place
    assert found.notes == (note,)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"process.roles": "controller"}, "process.roles=controller: without a broker there is nothing to serve"),
        ({"broker.id": "8"}, "You must set `node.id` to the same value as `broker.id`: 7 and 8"),
        ({"listeners": "CONTROLLER://:9093"}, "all listeners are the controllers': there is nothing to serve"),
        ({"listeners": "X://:9093"}, "No security protocol defined for listener X"),
        ({"listeners": "PLAINTEXT://:99999"}, "99999 is no port"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "cannot use the nonroutable meta-address 0.0.0.0"),
    ],
)
def test_settings_that_say_nothing_that_can_be(changes: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaError, match=message):
        made(KRAFT | changes)


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_a_broker_has_its_id_by_either_name(name: str) -> None:
    assert made({name: "0"}).broker_ids == (0,)
