"""`fakebroker serve` with settings of single listeners, on the command line and in a server.properties."""

from __future__ import annotations

from pathlib import Path
from signal import SIGTERM

import confluent_kafka
import pytest
from support.command_line import run
from support.ports import free_ports
from support.serving import Serving
from support.watchdog import LIMIT_S

pytest.importorskip("joserfc", reason="the extra security is not installed")

pytestmark = pytest.mark.usefixtures("forked_serving")

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
OF_THE_LISTENER = "listener.name.outside.plain.sasl.jaas.config"
LISTENER = "OUTSIDE=SASL_PLAINTEXT://127.0.0.1:0"
PROPERTIES = f"""\
listeners=INSIDE://127.0.0.1:{{0}},OUTSIDE://127.0.0.1:{{1}}
listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:SASL_PLAINTEXT
inter.broker.listener.name=INSIDE
node.id=1
{OF_THE_LISTENER}={JAAS}
listener.name.outsdie.plain.sasl.jaas.config={JAAS}
"""


def is_sent(bootstrap: str, password: str) -> bool:
    """Send a record as alice; wait until it is delivered, or the client has an error."""
    ends: list[bool] = []
    settings = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": password,
        "error_cb": lambda _: ends.append(False),
    }
    producer = confluent_kafka.Producer(settings)
    producer.produce("t", b"value", on_delivery=lambda error, _: ends.append(error is None))
    while not ends and producer.poll(LIMIT_S):
        pass
    producer.purge()
    producer.flush()
    return ends[0]


def test_a_setting_of_a_listener_is_given_on_the_command_line() -> None:
    with Serving("--listener", LISTENER, "--config", f"{OF_THE_LISTENER}={JAAS}", "--topic", "t") as serving:
        bootstrap = serving.facts["listeners"]["OUTSIDE"]
        assert is_sent(bootstrap, "secret")
        assert not is_sent(bootstrap, "wrong")


def test_a_server_properties_has_settings_of_listeners(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    first = free_ports(2)
    file.write_text(PROPERTIES.format(first, first + 1))
    with Serving("--properties", str(file), "--topic", "t") as serving:
        assert is_sent(serving.facts["listeners"]["OUTSIDE"], "secret")
        _, _, log = serving.stop(SIGTERM)
    lost = "without effect, there is no such listener: listener.name.outsdie.plain.sasl.jaas.config"
    assert lost in log
    assert "not settings of Kafka" not in log
    assert log.count(OF_THE_LISTENER) == 0, "it has an effect"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            ["--listener", "SSL=SSL://127.0.0.1:0", "--certificates", "/proc/no"],
            "--certificates /proc/no: No such file or directory",
        ),
        (
            ["--listener", "A=SSL://127.0.0.1:0", "--toxiproxy-port", "0"],
            "--toxiproxy-port has one listener, without TLS and SASL: leave out --listener, or use faults",
        ),
        (
            ["--listener", LISTENER, "--config", "listener.name.outside.plain.sasl.jaas.conf=x"],
            "Unknown configuration 'listener.name.outside.plain.sasl.jaas.conf'",
        ),
        (
            ["--listener", LISTENER, "--config", "listener.name.outside.ssl.principal.mapping.rules=RULE:x"],
            "listener.name.outside.ssl.principal.mapping.rules: Invalid rule: `RULE:x`",
        ),
        (["--config", "ssl.principal.mapping.rules=RULE:x"], "ssl.principal.mapping.rules: Invalid rule: `RULE:x`"),
    ],
)
def test_a_mistake_is_named(line: list[str], message: str) -> None:
    refused = run("serve", "--no-control", *line) if "--toxiproxy-port" not in line else run("serve", *line)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr
