"""The texts of `listeners`."""

from __future__ import annotations

from typing import Any

import pytest

from fakebroker import FakeCluster
from fakebroker.core.security.identity import Listener
from fakebroker.server.made.arguments import Arguments, ListenerAddresses
from fakebroker.server.made.listener_texts import ListenerText, parse_listener
from fakebroker.server.made.spec import ClusterSpec, OptionError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SSL", ListenerText(Listener("SSL", "SSL"))),
        ("sasl_ssl", ListenerText(Listener("SASL_SSL", "SASL_SSL"))),
        ("Inside=PLAINTEXT", ListenerText(Listener("INSIDE", "PLAINTEXT"))),
        ("SSL://0.0.0.0:5", ListenerText(Listener("SSL", "SSL"), "0.0.0.0", 5)),
        ("A=SSL://:0", ListenerText(Listener("A", "SSL"), "", 0)),
        ("A=SSL://[::1]:5,advertised=k:7", ListenerText(Listener("A", "SSL"), "::1", 5, "k", 7)),
        ("SASL_PLAINTEXT,advertised=k:0", ListenerText(Listener("SASL_PLAINTEXT", "SASL_PLAINTEXT"), None, 0, "k", 0)),
    ],
)
def test_a_text_is_read(text: str, expected: ListenerText) -> None:
    assert parse_listener(text) == expected


@pytest.mark.parametrize(
    "text", ["", "TLS", "=SSL", "A=", "SSL://", "SSL://a", "SSL://a:x", "SSL://a:70000", "SSL,a:1", "SSL,advertised=a"]
)
def test_another_text_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"a listener is NAME=PROTOCOL://HOST:PORT\[,advertised=HOST:PORT\]"):
        parse_listener(text)


def places(*listeners: str, **more: Any) -> tuple[ListenerAddresses, ...]:
    return Arguments.read(ClusterSpec(**more, listeners=listeners)).places


def test_the_places_of_listeners() -> None:
    one, other = places("SSL", "OUT=PLAINTEXT://::1:9,advertised=dialled:0", host="127.0.0.2")
    assert one == ListenerAddresses("127.0.0.2", 0, "127.0.0.2", 0, listener=Listener("SSL", "SSL"))
    assert other == ListenerAddresses("::1", 9, "::1", 0, is_dialled=True, listener=Listener("OUT", "PLAINTEXT"))
    arguments = Arguments.read(ClusterSpec(listeners=["IN=SSL", "SSL", "OUT=PLAINTEXT"]))
    assert arguments.config.listener_security_protocol_map == "IN:SSL,SSL:SSL,OUT:PLAINTEXT"
    assert [arguments.listener(name).name for name in ("ssl", "IN", "plaintext")] == ["SSL", "IN", "OUT"]


@pytest.mark.parametrize(
    ("listeners", "more", "message"),
    [
        (["SSL", "SSL"], {}, "each listener needs a different name, not SSL, SSL"),
        ([], {}, "listeners must name a listener"),
        (["SSL"], {"port": 5}, "leave out port: each of listeners has its own"),
        (["SSL"], {"advertised_host": "a"}, "leave out advertised_host"),
        (
            ["A=SSL://:5", "B=SSL://:6"],
            {"brokers": 2},
            "A and B share ports: 2 brokers have those from 5 to 6, .* or 7",
        ),
        (["SSL://:65535"], {"brokers": 2}, "the port 65535 of listeners leaves no room for 2 brokers"),
    ],
)
def test_listeners_that_cannot_be(listeners: list[str], more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        places(*listeners, **more)


def test_a_text_in_place_of_a_list_is_refused_with_the_list() -> None:
    with pytest.raises(TypeError, match=r"""^listeners must be a list of texts, as in \["SASL_SSL"\], not 'SSL'$"""):
        FakeCluster(listeners="SSL")


@pytest.mark.parametrize("listeners", ["SSL", 5, [b"SSL"]])
def test_what_is_no_list_of_texts(listeners: Any) -> None:
    with pytest.raises(TypeError, match="listeners must be a list of texts"):
        FakeCluster(listeners=listeners)


def test_a_mistake_is_told_in_the_words_of_the_command_line() -> None:
    with pytest.raises(OptionError) as refused:
        places("SSL", port=5)
    assert refused.value.on_the_command_line.startswith("leave out --port: each of --listener has its own")


def test_a_listener_is_found_by_name_or_protocol_alone() -> None:
    arguments = Arguments.read(ClusterSpec(listeners=["A=SSL", "B=SSL"]))
    assert arguments.listener("b").name == "B"
    for name, words in {"SSL": "not one listener 'SSL'", "C": "no listener 'C'"}.items():
        with pytest.raises(ValueError, match=rf"{words}: there are A \(SSL\), B \(SSL\)"):
            arguments.listener(name)


def test_brokers_listen_on_each_and_describe_them() -> None:
    with FakeCluster(brokers=2, listeners=["IN=PLAINTEXT", "OUT=PLAINTEXT"]) as kafka:
        assert [listener.name for listener in kafka.listeners] == ["IN", "OUT"]
        servers = kafka.bootstrap("IN").split(",") + kafka.bootstrap("OUT").split(",")
        assert len(set(servers)) == 4
        assert kafka.bootstrap_servers == kafka.bootstrap("IN")
        assert [endpoint.port for endpoint in kafka.endpoints] == [int(server.split(":")[1]) for server in servers[:2]]
