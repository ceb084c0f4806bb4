"""A folder that stands for an installation of Kafka, for a suite that starts its brokers itself.

Scripts   `kafka-run-class.sh` starts `fakebroker serve` or Apache Kafka with the properties of the suite, by a variable
          that names the side. `kafka-storage.sh` formats a broker of Kafka; ours needs no disk. `kafka-topics.sh` is
          Kafka's own tool on both sides.
Files     kafka-python has left those that its fixture needs out of its sdist: they are here, in our words.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import fakebroker
from conformance.suites.sides import OURS
from conformance.suites.suite import Side
from conformance.targets.kafka_box import cache_folder, kafka_version
from conformance.tools.jvm import tools_version

ROOT = "kafka"  # beside the tests
_USER = "alice=alice-secret"  # the one of kafka-python's fixture

_RUN_CLASS = f"""\
#!/bin/sh
if [ -n "$SUITE_OURS" ]; then
    grep -q "^sasl.enabled.mechanisms" "$2" && users="--user {_USER}"
    PYTHONPATH="$SUITE_OURS" exec "$SUITE_PYTHON" -c "from fakebroker.cli import main; main()" serve \\
        --brokers 1 --properties "$2" --no-control $users
fi
exec java $KAFKA_OPTS -Xmx512m -cp "$SUITE_KAFKA/*" "$@"
"""
_STORAGE = """\
#!/bin/sh
[ -n "$SUITE_OURS" ] || exec java -Xmx512m -cp "$SUITE_KAFKA/*" kafka.tools.StorageTool "$@"
"""
_TOPICS = """\
#!/bin/sh
exec java -Xmx512m -cp "$SUITE_TOOLS/*" org.apache.kafka.tools.TopicCommand "$@"
"""
_PROPERTIES = """\
process.roles=broker,controller
node.id={broker_id}
controller.quorum.bootstrap.servers={host}:{controller_port}
controller.listener.names=CONTROLLER
listeners={transport}://{host}:{port},CONTROLLER://{host}:{controller_port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,{transport}:{transport}
inter.broker.listener.name={transport}
log.dirs={tmp_dir}/kafka-logs
num.partitions={partitions}
default.replication.factor={replicas}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
super.users=User:ANONYMOUS
{sasl_config}
{ssl_config}
{acl_config}
"""
_JAAS = "KafkaServer {{\n{jaas_config}\n}};\n"
_COMMAND = "security.protocol={transport}\nsasl.mechanism={sasl_mechanism}\nsasl.jaas.config={jaas_config}\n"
# A broker has started when it accepts connections on the port in its properties.
_SERVICE = """\
import re
import socket
import subprocess
import time


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    start = stop = close = dump_logs = open


class SpawnedService:
    def __init__(self, args, env):
        self.args, self.env = args, env

    def start(self):
        self.child = subprocess.Popen(self.args, env=self.env)

    def wait_for(self, pattern, timeout):
        with open(self.args[-1]) as properties:
            port = int(re.search(r"listeners=[^:]+://[^:]+:(\\d+)", properties.read())[1])
        end = time.monotonic() + max(timeout, 30)
        while time.monotonic() < end and self.child.poll() is None:
            try:
                socket.create_connection(("localhost", port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.1)
        return False

    def stop(self):
        self.child.kill()
        self.child.wait()

    def dump_logs(self):
        pass
"""
_RESOURCES = "servers/resources/default"
FILES: Mapping[str, str] = {
    "test/__init__.py": "",
    "test/service.py": _SERVICE,
    f"{ROOT}/bin/kafka-run-class.sh": _RUN_CLASS,
    f"{ROOT}/bin/kafka-storage.sh": _STORAGE,
    f"{ROOT}/bin/kafka-topics.sh": _TOPICS,
    f"{_RESOURCES}/kafka.properties": _PROPERTIES,
    f"{_RESOURCES}/kafka_server_jaas.conf": _JAAS,
    f"{_RESOURCES}/sasl_command.conf": _COMMAND,
}


def variables(side: Side) -> Mapping[str, str]:
    """Return what the scripts need to know."""
    ours = Path(fakebroker.__file__).parents[1] if side.name == OURS else ""
    return {
        "SUITE_OURS": str(ours),
        "SUITE_PYTHON": sys.executable,
        "SUITE_KAFKA": str(cache_folder() / f"kafka-{kafka_version()}"),
        "SUITE_TOOLS": str(cache_folder() / f"kafka-tools-{tools_version()}"),
    }
