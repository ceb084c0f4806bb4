"""Settings of listeners that are altered while the listener is open (core/config/dynamic_broker_config.py)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest
from support.sasl_client import CONFIG, LISTENER, SaslClient
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.security.identity import SASL_PLAINTEXT, SSL, Listener

OF_SASL = "listener.name.sasl_plaintext."
ONLY_ZOE = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_zoe="pw";'
OTHER_USERS = {f"{OF_SASL}plain.sasl.jaas.config": ONLY_ZOE}
OF_SSL = Listener("SSL", SSL)
RULES = "listener.name.ssl.ssl.principal.mapping.rules"
MAP = "listener.security.protocol.map"


@pytest.fixture
def simulation() -> Simulation:
    made = Simulation(brokers=2, config=CONFIG)
    for broker_id in (1, 2):
        made.cluster.registry[broker_id].set_bound("kafka.test", 9091 + broker_id, LISTENER)
    return made


def alter(simulation: Simulation, texts: Mapping[str, str | None], broker_id: int = 1) -> None:
    simulation.cluster.now = simulation.now
    simulation.cluster.members.broker_configs.alter(texts, broker_id)
    simulation.settle()


def logs_in(simulation: Simulation, user: str, password: str, broker_id: int = 1) -> bool:
    answer = SaslClient(simulation, broker_id).plain(user, password)
    return answer is not None and answer.error_code == 0


def with_certificate(simulation: Simulation, name: str) -> SimulatedClient:
    client = simulation.connect(1, listener=OF_SSL)
    simulation.cluster.take_certificate(client.connection, name, simulation.now)
    simulation.settle()
    return client


@pytest.mark.parametrize(
    "altered",
    [
        OTHER_USERS,
        {f"{OF_SASL}plain.sasl.jaas.config": "rubbish"},
        {f"{OF_SASL}sasl.enabled.mechanisms": "OAUTHBEARER"},
        {"sasl.enabled.mechanisms": "OAUTHBEARER"},
        {f"{OF_SASL}sasl.server.max.receive.size": "10"},
    ],
)
def test_an_open_listener_lets_in_as_before(simulation: Simulation, altered: Mapping[str, str]) -> None:
    alter(simulation, altered)
    assert logs_in(simulation, "alice", "secret")
    assert not logs_in(simulation, "zoe", "pw")


def test_sessions_last_as_long_as_before(simulation: Simulation) -> None:
    alter(simulation, {f"{OF_SASL}connections.max.reauth.ms": "5000"})
    assert SaslClient(simulation).plain(version=1).session_lifetime == timedelta(0)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_broker_that_starts_again_has_the_settings_of_the_start(simulation: Simulation, end: str) -> None:
    alter(simulation, OTHER_USERS)
    getattr(simulation, end)(1)
    simulation.start(1)
    simulation.advance(30_000)  # a broker that was killed has to be fenced first
    assert logs_in(simulation, "alice", "secret")
    assert not logs_in(simulation, "zoe", "pw")


def test_a_broker_that_was_paused_has_the_settings_of_before(simulation: Simulation) -> None:
    simulation.pause(1)
    alter(simulation, OTHER_USERS)
    simulation.resume(1)
    assert logs_in(simulation, "alice", "secret")


def test_a_listener_that_is_added_has_the_present_settings(simulation: Simulation) -> None:
    added = Listener("OUT", SASL_PLAINTEXT)
    protocols = {MAP: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,OUT:SASL_PLAINTEXT"}
    jaas = {"listener.name.out.plain.sasl.jaas.config": ONLY_ZOE}

    def knows(user: str, password: str) -> bool:
        client = SaslClient(simulation)
        client.client = simulation.connect(1, listener=added)
        return client.plain(user, password) is not None

    own = "PLAINTEXT://kafka.test:9092"
    alter(simulation, {"listeners": f"{own},OUT://127.0.0.1:29092"} | protocols | jaas)
    assert knows("zoe", "pw")
    simulation.stop(1)
    alter(simulation, {"listener.name.out.plain.sasl.jaas.config": None})
    simulation.start(1)
    assert not knows("zoe", "pw")
    alter(simulation, {"listeners": own} | jaas)
    assert not knows("zoe", "pw")
    alter(simulation, {"listeners": f"{own},OUT://127.0.0.1:29092"})
    assert knows("zoe", "pw")


def test_rules_for_principals_stay(simulation: Simulation) -> None:
    alter(simulation, {RULES: "RULE:^CN=(.*)$/$1/"})
    client = with_certificate(simulation, "CN=alice")
    assert (client.closed, str(client.connection.principal)) == (None, "User:CN=alice")


def test_rules_that_are_none_have_no_effect(simulation: Simulation) -> None:
    alter(simulation, {RULES: "RULE:bad("})
    assert with_certificate(simulation, "CN=alice").closed is None


def test_an_added_listener_with_rules_that_are_none_closes_connections_with_certificates(
    simulation: Simulation,
) -> None:
    listeners = {"listeners": "PLAINTEXT://kafka.test:9092,SSL://127.0.0.1:29092"}
    protocols = {MAP: "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL"}
    alter(simulation, listeners | protocols | {RULES: "RULE:bad("})
    assert with_certificate(simulation, "CN=alice").closed == "ssl.principal.mapping.rules: Invalid rule: `RULE:bad(`"
    assert simulation.connect(1, listener=OF_SSL).closed is None
