"""`KafkaContainer`, as tests use testcontainers' class of that name."""

from __future__ import annotations

import re
import socket

import pytest
from support.ports import free_ports
from support.watchdog import LIMIT_S

from fakebroker import KafkaError
from fakebroker.testing import KafkaContainer


def connects(server: str) -> bool:
    host, _, port = server.partition(":")
    try:
        socket.create_connection((host, int(port)), timeout=LIMIT_S).close()
    except ConnectionRefusedError:
        return False
    return True


def test_as_a_context_manager() -> None:
    with KafkaContainer("confluentinc/cp-kafka:7.6.0").with_kraft() as kafka:
        server = kafka.get_bootstrap_server()
        assert connects(server)
        assert server == f"{kafka.get_container_host_ip()}:{kafka.get_exposed_port(9093)}"
    assert not connects(server)


def test_by_start_and_stop() -> None:
    kafka = KafkaContainer().with_kraft().with_cluster_id("an id").start()
    try:
        assert kafka.start() is kafka
        assert connects(kafka.get_bootstrap_server())
        kafka.cluster.create_topic("t")
    finally:
        kafka.stop()
    kafka.stop()


def test_variables_are_settings() -> None:
    kafka = KafkaContainer(env={"KAFKA_NUM_PARTITIONS": 3}).with_env("KAFKA_MESSAGE_MAX_BYTES", "500")
    kafka.with_envs(KAFKA_LISTENERS="PLAINTEXT://0.0.0.0:9093", KAFKA_BROKER_ID=1, KAFKA_HEAP_OPTS="-Xmx1g", TZ="UTC")
    with kafka:
        kafka.cluster.create_topic("t")
        assert [event for event in kafka.cluster.journal if "TopicCreated" in repr(event) and len(event.replicas) == 3]  # type: ignore[union-attr]


def test_a_setting_that_there_is_not() -> None:
    with pytest.raises(KafkaError, match=r"Unknown configuration 'message\.max\.byte'"):
        KafkaContainer().with_env("KAFKA_MESSAGE_MAX_BYTE", "500").start()


def test_a_port_of_the_host() -> None:
    port = free_ports(1)
    with KafkaContainer().with_bind_ports(9093, port) as kafka:
        assert kafka.get_bootstrap_server() == f"127.0.0.1:{port}"


def test_what_has_no_effect_can_be_said() -> None:
    kafka = KafkaContainer("an image", port=9093, user="root").with_name("kafka").with_network(object())
    kafka.with_network_aliases("kafka").with_exposed_ports(9093).with_kwargs(privileged=True)
    assert kafka.port == 9093


def test_before_the_start() -> None:
    with pytest.raises(RuntimeError, match="the container has not been started: use it in a `with` block"):
        KafkaContainer().get_bootstrap_server()


def test_what_is_said_to_docker_has_no_effect() -> None:
    kafka = KafkaContainer().with_command("/run.sh").with_volume_mapping("/a", "/b", "rw").with_name("k")
    assert isinstance(kafka, KafkaContainer)


def test_its_logs_tell_that_it_has_started_and_what_it_did() -> None:
    with KafkaContainer() as kafka:
        kafka.cluster.create_topic("orders")
        stdout, stderr = kafka.get_logs()
    assert re.search(r".*\[KafkaServer id=\d+\] started.*", stdout.decode())  # what testcontainers waits for
    assert b"orders" in stdout
    assert stderr == b""


def test_a_program_of_the_image_is_refused_with_what_to_do() -> None:
    with (
        KafkaContainer() as kafka,
        pytest.raises(NotImplementedError, match=r"run 'kafka-topics --list': `cluster` makes"),
    ):
        kafka.exec("kafka-topics --list")
