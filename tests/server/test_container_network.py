"""The example of two listeners in docs/security.md, in a network like Docker's."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from support.container_network import HOST, ContainerNetwork, skip_without_namespaces
from support.serving import COMMAND

ROOT = Path(__file__).parents[2]
BROKER, APPLICATION = "kafka", "application"
CLIENT = """
import json, sys

from confluent_kafka import Consumer, Producer

settings, value = json.loads(sys.argv[1]), sys.argv[2].encode()
producer = Producer(settings)
producer.produce("orders", value)
assert producer.flush(60) == 0
consumer = Consumer(settings | {"group.id": sys.argv[2], "auto.offset.reset": "earliest"})
consumer.subscribe(["orders"])
values = []
while value not in values:
    message = consumer.poll(60)
    assert message is not None and message.error() is None, message and message.error()
    values.append(message.value())
consumer.close()
print(b",".join(values).decode())
"""


def documented_command() -> list[str]:
    """Return the arguments of the command with an inside and an outside listener."""
    text = (ROOT / "docs" / "security.md").read_text()
    [command] = re.findall(r"^\$ fakebroker (serve .*--listener INSIDE=.*)$", text, re.MULTILINE)
    return shlex.split(command)


@pytest.mark.nightly
def test_the_documented_listeners_serve_the_container_network_and_the_host(tmp_path: Path) -> None:
    """Nightly: it needs root, and starts six processes."""
    skip_without_namespaces()
    with ContainerNetwork([BROKER, APPLICATION], tmp_path) as network:
        network.start(BROKER, [*COMMAND, *documented_command()])
        network.map_port(BROKER, 9093)
        inside = {"bootstrap.servers": f"{BROKER}:29092"}
        outside = {
            "bootstrap.servers": "localhost:9093",
            "security.protocol": "SSL",
            "ssl.ca.location": str(tmp_path / "certificates" / "ca.pem"),
        }
        client = [sys.executable, "-c", CLIENT]
        assert network.run(APPLICATION, [*client, json.dumps(inside), "from-inside"]) == "from-inside\n"
        assert network.run(HOST, [*client, json.dumps(outside), "from-outside"]) == "from-inside,from-outside\n"
