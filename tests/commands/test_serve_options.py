"""`fakebroker serve` with a server.properties, and all that says which brokers there are and what is in them."""

from __future__ import annotations

from pathlib import Path
from signal import SIGTERM

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.command_line import run
from support.messages import decode_response
from support.ports import free_ports
from support.raw_client import RawClient
from support.raw_login import login_at
from support.requests import METADATA, metadata
from support.serving import Serving
from support.watchdog import LIMIT_S

import fakebroker.serving

KRAFT = """\
# The settings of Apache Kafka's own config/server.properties, by and large.
process.roles=broker,controller
node.id=7
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:9093
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
num.network.threads=3
log.dirs=/tmp/kraft-combined-logs
num.partitions=5
log.message.format.version=3.0
replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
broker.rack=eu-1
group.initial.rebalance.delay.ms=0
transaction.state.log.min.isr=1
"""


def topics(serving: Serving) -> dict[str, dict[int, list[int]]]:
    """Return for each topic the replicas of each partition, the leader first."""
    topics_ = AdminClient({"bootstrap.servers": serving.facts["bootstrap_servers"]}).list_topics(timeout=LIMIT_S).topics
    return {
        name: {index: list(partition.replicas) for index, partition in topic.partitions.items()}
        for name, topic in topics_.items()
    }


def test_the_server_properties_of_a_kafka_can_be_used_again(tmp_path: Path) -> None:
    port = free_ports(1)
    file = tmp_path / "server.properties"
    file.write_text(KRAFT.format(port=port))
    with Serving("--properties", str(file), "--topic", "t") as serving:
        assert serving.facts["brokers"] == [{"id": 7, "host": "127.0.0.1", "port": port}]
        assert topics(serving)["t"] == {index: [7] for index in range(5)}
        _, _, log = serving.stop(SIGTERM)
    assert "not settings of Kafka 4.4, without effect here: log.message.format.version" in log
    assert "kept and shown only, without effect here: " in log
    assert "num.network.threads" in log
    assert "num.partitions" not in log


def test_an_option_counts_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(KRAFT.format(port=1) + "auto.create.topics.enable=false\n")
    line = ["--properties", str(file), "--port", "0", "--brokers", "2", "--config", "num.partitions=2", "--topic", "t"]
    with Serving(*line) as serving:
        assert [broker["id"] for broker in serving.facts["brokers"]] == [1, 2]
        assert len(topics(serving)["t"]) == 2


def test_brokers_racks_topics_and_quotas() -> None:
    line = ["--port", "0", "--broker-ids", "0,4", "--rack", "4=b", "--topic", "t=[[4,0],[0]]"]
    refused = run("serve", *line)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--topic t: The manual partition assignment includes a partition with 1 replica(s)" in refused.stderr

    line[-1] = "t=[[4,0],[0,4]],min.insync.replicas=2"
    with Serving(*line, "--quota", "client-id=loader,producer_byte_rate=1000") as serving:
        assert [broker["id"] for broker in serving.facts["brokers"]] == [0, 4]
        assert topics(serving)["t"] == {0: [4, 0], 1: [0, 4]}
        with RawClient(serving.endpoint(0)) as client:
            _, answer = decode_response(METADATA, 12, client.ask(metadata([], 12)))
            assert [(broker.node_id, broker.rack) for broker in answer.brokers] == [(0, None), (4, "b")]


def test_kafkas_defaults() -> None:
    with Serving("--port", "0", "--defaults", "kafka", "--topic", "t") as serving:
        assert topics(serving)["t"] == {0: [1]}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["--quota", "client-id=a,no_such=1"], "--quota: Invalid configuration key no_such"),
        (["--quota", "client-id=a,producer_byte_rate=0"], "--quota: Quota producer_byte_rate must be greater than 0"),
        (["--defaults", "ours"], "defaults are fakebroker, kafka, test, not 'ours'"),
        (["--rack", "9=a"], "there is no broker 9: the ids are 1 to 3"),
        (["--feature", "transaction.version=3"], "transaction.version has the levels 0 to 2, not 3"),
        (
            ["--brokers", "2", "--broker-ids", "1,2,3"],
            "--brokers is 2, but --broker-ids names 3 brokers: leave out one of both",
        ),
        (
            ["--config", "replica.lag.time.max.ms="],
            "--config replica.lag.time.max.ms=: Invalid value '' for configuration replica.lag.time.max.ms: Not a",
        ),
        (["--config", "num.partitions=0"], "--config num.partitions=0: Invalid value 0 for configuration num.part"),
        (
            ["--config", "min.insync.replica=2"],
            "--config min.insync.replica: Unknown configuration 'min.insync.replica'. Near to it: min.insync.",
        ),
        (
            ["--topic", "t,min.insync.replica=2"],
            "--topic t: Unknown topic config name: min.insync.replica. Near to it: min.insync.replicas",
        ),
        (
            ["--topic", "t,qqqqq=2"],
            "--topic t: Unknown topic config name: qqqqq. `fakebroker configs` lists them.",
        ),
        (["--topic", "t,retention.ms="], "--topic t: Invalid value '' for configuration retention.ms: Not a number"),
        (
            ["--advertised-port", "65535"],
            "--advertised-port 65535 leaves no room for 3 brokers: use 0, or 1 to 65533",
        ),
        (["--port", "65535"], "--port 65535 leaves no room for 3 brokers: use 0, or 1 to 65533"),
        (["--port", "65535", "--toxiproxy-port", "0"], "--port 65535 leaves no room for 3 brokers"),
        (["--broker-ids", "1,1"], "each broker needs a different id, not 1, 1"),
        (["--properties", "none"], "--properties none: No such file or directory"),
        (["--config", "process.roles=controller"], "process.roles=controller: without a broker"),
    ],
)
def test_a_slip_is_one_sentence_and_status_2(line: list[str], sentence: str) -> None:
    done = run("serve", "--port", "0", *line)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"fakebroker: {sentence}")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--toxiproxy-port", "0", "--no-control"], "--toxiproxy-port"),
        (["--toxiproxy-port", "0"], "--toxiproxy-port"),
        (["--control-port", "0"], "the control"),
        (["--clock", "manual"], "the control"),
    ],
)
def test_without_fastapi_the_option_that_needs_it_is_named(
    options: list[str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fakebroker.serving, "missing", lambda: "fastapi")
    how = "pip install '.[control]' in the checkout of fakebroker"
    refused = run("serve", "--port", "0", *options)
    assert refused == (2, "", f"fakebroker: {what} needs fastapi, which is not installed: {how}\n")


GUARDED = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin
"""


def test_acls_of_the_command_line_are_those_of_the_cluster() -> None:
    ours = ("--acl", "topic=orders,operation=write", "--acl", "group=g,operation=read,principal=User:CN=a,O=b")
    with Serving("--brokers", "1", "--port", "0", "--control-port", "0", *ours) as serving:
        acls = httpx.get(f"{serving.facts['control_url']}/v1/acls", timeout=LIMIT_S, verify=False).json()["acls"]
    assert [(acl["resource_type"], acl["name"], acl["operation"], acl["principal"]) for acl in acls] == [
        ("topic", "orders", "write", "User:*"),
        ("group", "g", "read", "User:CN=a,O=b"),
    ]


def test_a_server_properties_with_an_authorizer_and_users_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(GUARDED)
    with Serving(
        "--brokers", "1", "--port", "0", "--properties", str(path), "--user", "admin=x", "--user", "bob=y=z"
    ) as serving:
        servers = serving.facts["bootstrap_servers"]
        assert login_at(servers, "bob", "y=z", "SCRAM-SHA-512") == 0
        settings = {"bootstrap.servers": servers, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN"}
        made = []
        for user, password in (("bob", "y=z"), ("admin", "x")):
            admin = AdminClient(settings | {"sasl.username": user, "sasl.password": password})
            future = admin.create_topics([NewTopic(f"of-{user}", 1, 1)])[f"of-{user}"]
            made.append(future.exception(timeout=LIMIT_S) is None)
    assert made == [False, True]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--user", "alice"), "--user 'alice' is not NAME=PASSWORD, as in alice=secret"),
        (("--user", "=geheim"), "--user '=[hidden]' is not NAME=PASSWORD, as in alice=secret"),
        (("--user", "a=x", "--user", "a=y"), "--user is given twice for 'a': leave out one of both"),
        (("--rack", "1=x", "--rack", "1=y"), "--rack is given twice for 1: leave out one of both"),
        (
            ("--acl", "cluster=orders,operation=alter"),
            "--acl 'cluster=orders,operation=alter': The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        (
            ("--acl", "topic=a,group=b,operation=read"),
            "--acl 'topic=a,group=b,operation=read' has 'group=b': an ACL has one resource, so make one more for that",
        ),
        (
            ("--acl", "topic=a,operation=read,principal=User:a,permision=deny"),
            "--acl 'topic=a,operation=read,principal=User:a,permision=deny' has 'permision=deny': neither an ACL nor a "
            "certificate's name has 'permision'; did you mean 'permission'?",
        ),
        (
            ("--acl", "topic=a,operation=read", "--config", "authorizer.class.name="),
            "--acl needs an authorizer: leave out authorizer.class.name",
        ),
        (
            ("--user", "a=b", "--listener", "SSL"),
            "a listener with SASL is missing, which --user needs: add SASL_PLAINTEXT to --listener",
        ),
    ],
)
def test_users_and_acls_that_cannot_be_are_one_sentence(options: tuple[str, ...], sentence: str) -> None:
    assert run("serve", *options) == (2, "", f"fakebroker: {sentence}\n")


@pytest.mark.parametrize(
    "setting",
    [
        "fakebroker.aws.msk.iam.credentials=geheim",
        "listener.name.a.ssl.keystore.pasword=geheim",
        "listener.name.sasl_plaintext.plain.sasl.jaas.conf=geheim",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config=x required y=geheim",
    ],
)
def test_a_mistake_in_a_setting_does_not_repeat_its_secret(setting: str) -> None:
    exit_code, out, err = run("serve", "--listener", "SASL_PLAINTEXT", "--config", setting)
    assert (exit_code, out) == (2, "")
    assert "geheim" not in err
