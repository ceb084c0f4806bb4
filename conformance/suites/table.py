"""The suites: packages with their own tests, and how each gets the addresses of the brokers."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.suites import kafka_root
from conformance.suites.go import GoSuite
from conformance.suites.python import PythonSuite
from conformance.suites.rust import RustSuite
from conformance.suites.suite import Security, Side, Suite
from conformance.tools.jvm import fetch_tools
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER


def _kgo(side: Side) -> Mapping[str, str]:
    return {
        "KGO_SEEDS": side.servers,
        "KGO_TEST_RF": "3",
        "KGO_TEST_RECORDS": "10000",  # its own default is 500,000
        "KGO_TEST_MAX_TOPIC_PARTS": "7",
    }


def _kgo_tls(side: Side) -> Mapping[str, str]:
    settings = {"KGO_TEST_SCRAM": "alice:secret", "KGO_TEST_SCRAM_SEEDS": side.secured[_SASL]}
    if side.client is not None:
        settings["KGO_TEST_TLS"] = f"ca:{side.ca},cert:{side.client.certificate},key:{side.client.key}"
    return {**_kgo(side), "KGO_SEEDS": side.secured["SSL"], **settings}


def _nothing(side: Side) -> Mapping[str, str]:
    return {}


def _kafka_python(side: Side) -> Mapping[str, str]:
    host, port = side.bootstrap[0]
    # It wants a folder of a Kafka that it would start if there was no address.
    return {"KAFKA_URI": f"kafka://{host}:{port}", "KAFKA_VERSION": "4.3.0", "KAFKA_ROOT": "/"}


def _kafka_python_secured(side: Side) -> Mapping[str, str]:
    return {"KAFKA_VERSION": "4.3.0", "KAFKA_ROOT": kafka_root.ROOT, **kafka_root.variables(side)}


def _rskafka(side: Side) -> Mapping[str, str]:
    addresses = {"KAFKA_CONNECT": side.servers, "KAFKA_SASL_CONNECT": side.secured[_SASL].split(",")[0]}
    return {"TEST_INTEGRATION": "1", "TEST_BROKER_IMPL": "kafka"} | addresses


def _rdkafka(side: Side) -> Mapping[str, str]:
    return {"KAFKA_HOST": side.servers, "KAFKA_VERSION": "4.0.0"}


def _kafka_go(side: Side) -> Mapping[str, str]:
    return {"KAFKA_VERSION": "4.0.0"}  # localhost:9092 is in its tests, and 9093 for SASL


def _confluent(side: Side) -> Mapping[str, str]:
    return {"BROKERS": side.servers, "BROKERSSASL": side.secured[_SASL], "TEST_CONSUMER_GROUP_PROTOCOL": "classic"}


def _confluent_consumer(side: Side) -> Mapping[str, str]:
    return {**_confluent(side), "TEST_CONSUMER_GROUP_PROTOCOL": "consumer"}


def _watermill(side: Side) -> Mapping[str, str]:
    return {"WATERMILL_TEST_KAFKA_BROKERS": side.servers}


def _sarama(side: Side) -> Mapping[str, str]:
    return {"TOXIPROXY_ADDR": side.toxiproxy, "KAFKA_VERSION": "4.3.1"}  # 127.0.0.1:29091 to 29095 are in its tests


_SASL = "SASL_PLAINTEXT"
# As the servers of these suites have it. Brokers, and clients of the listener in plain text, may do everything:
# they are User:ANONYMOUS.
_AUTHORIZER = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}
_ONE_REPLICA = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
# As its testconf-example.json says, and its server.properties where they matter.
_CONFLUENT_FILES = {
    "testconf.json": '{"Brokers": "$BROKERS", "BrokersSasl": "$BROKERSSASL", "SaslUsername": "testuser", '
    '"SaslPassword": "testpass", "SaslMechanism": "PLAIN", "TopicName": "test", "GroupID": "group"}'
}
_CONFLUENT_SETTINGS = {
    "num.partitions": "4",
    "default.replication.factor": "1",
    "sasl.enabled.mechanisms": "PLAIN",
    "connections.max.reauth.ms": "10000",
}
_CONFLUENT = "github.com/confluentinc/confluent-kafka-go/v2"
_KAFKA_GO = "github.com/segmentio/kafka-go"
_KAFKA_GO_SETTINGS = {
    "message.max.bytes": "200000000",
    "socket.request.max.bytes": "210000000",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
}
_KAFKA_GO_USERS = {
    "adminplain": "admin-secret",
    "adminscram256": "admin-secret-256",
    "adminscram512": "admin-secret-512",
}
_FRANZ = "github.com/twmb/franz-go"
_SARAMA = "github.com/IBM/sarama"
_SARAMA_SETTINGS = {
    "default.replication.factor": "2",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.replication.factor": "2",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "auto.create.topics.enable": "false",
}
_WATERMILL = "github.com/ThreeDotsLabs/watermill-kafka/v3"

SUITES: tuple[Suite, ...] = (
    GoSuite("kgo", "v1.22.2", _FRANZ, f"{_FRANZ}/pkg/kgo", _kgo, limit_s=240),
    GoSuite(
        "kgo-tls",
        "v1.22.2",
        _FRANZ,
        f"{_FRANZ}/pkg/kgo",
        _kgo_tls,
        broker_settings={"ssl.client.auth": "required", "sasl.enabled.mechanisms": "SCRAM-SHA-256"},
        security=Security({"SSL": None, _SASL: None}, {"alice": "secret"}),
        limit_s=240,
    ),
    GoSuite("kadm", "v1.19.0", f"{_FRANZ}/pkg/kadm", f"{_FRANZ}/pkg/kadm", _nothing),
    *(
        PythonSuite(
            name,
            "3.0.12",
            [f"test/integration/test_{tests}_integration.py" for tests in files],
            settings_of,
            ("mock", "pytest-mock", "pytest-timeout", "pytest-asyncio", "lz4", "zstandard", "python-snappy", "crc32c"),
            kafka_root.FILES,
            broker_ids=(0,),
            broker_settings={"num.partitions": "4"} | _AUTHORIZER | _ONE_REPLICA,
            fetched=fetched,
            package="kafka-python",
        )
        for name, files, settings_of, fetched in (
            ("kafka-python", ("admin", "consumer", "producer"), _kafka_python, None),
            # Each test starts a broker of its own.
            ("kafka-python-secured", ("sasl", "ssl"), _kafka_python_secured, fetch_tools),
        )
    ),
    RustSuite(
        "rskafka",
        "0.6.0",
        _rskafka,
        ("client", "consumer", "produce_consume", "producer"),
        newer=("rsasl",),
        broker_ids=(0, 1, 2),  # these and the setting as in its docker-compose-kafka.yml
        # Its records are of 1970. Old segments are deleted for the first time half a minute after the start: a test
        # that reads just then would fail on either side.
        broker_settings={
            "auto.create.topics.enable": "false",
            "log.retention.ms": "-1",
            "sasl.enabled.mechanisms": "PLAIN",
        },
        security=Security({_SASL: None}, {"admin": "admin-secret"}),
    ),
    RustSuite(
        "rdkafka",
        "0.39.0",
        _rdkafka,
        (
            "test_admin",
            "test_high_consumers",
            "test_high_producers",
            "test_low_consumers",
            "test_low_producers",
            "test_metadata",
            "test_topic_partition_list",
            "test_transactions",
        ),
        broker_ids=(0,),  # as in its docker-compose.yaml
        broker_settings={"num.partitions": "3"} | _ONE_REPLICA,
        port=9092,
    ),
    *(
        GoSuite(
            name,
            "v0.4.51",
            _KAFKA_GO,
            package,
            _kafka_go,
            broker_ids=(1,),  # this, the listeners, the users and the settings as in its docker-compose-400.yml
            broker_settings=_KAFKA_GO_SETTINGS | _AUTHORIZER | _ONE_REPLICA,
            port=9092,
            security=Security({_SASL: 9093}, _KAFKA_GO_USERS),
        )
        for name, package in (("kafka-go", _KAFKA_GO), ("kafka-go-sasl", f"{_KAFKA_GO}/sasl"))
    ),
    *(
        GoSuite(
            name,
            "v2.11.1",
            _CONFLUENT,
            f"{_CONFLUENT}/kafka",
            settings_of,
            broker_ids=(0,),
            broker_settings=_CONFLUENT_SETTINGS | _AUTHORIZER | _ONE_REPLICA,
            security=Security({_SASL: None}, {"testuser": "testpass"}),
            methods="TestIntegration",
            files=_CONFLUENT_FILES,
        )
        for name, settings_of in (
            ("confluent-kafka-go", _confluent),
            ("confluent-kafka-go-consumer", _confluent_consumer),  # the protocol of KIP-848
        )
    ),
    GoSuite(
        "sarama",
        "v1.61.1",
        _SARAMA,
        _SARAMA,
        _sarama,
        tags="functional",
        broker_ids=(1, 2, 3, 4, 5),  # these, their racks and the settings as in its docker-compose.yml
        broker_settings=_SARAMA_SETTINGS,
        port=29091,
        sources="functional_*test.go",
        racks={broker_id: str(broker_id) for broker_id in (1, 2, 3, 4, 5)},
        is_proxied=True,
        limit_s=180,
    ),
    GoSuite("watermill-kafka", "v3.0.6", _WATERMILL, f"{_WATERMILL}/pkg/kafka", _watermill, limit_s=480),
)

NOT_THERE = {
    "aiokafka": "its sdists have no tests; ten releases from 0.5.2 to 0.14.0 were checked. The suite of 0.14.0 was "
    "run manually from its repository, with one broker of fakebroker in its `kafka_server` fixture. In the files that "
    "need no SASL, 936 tests pass. 3 do not, since they need SSL certificates. All 20 tests of its transactional "
    "producer and consumer pass. Its tests of SASL, ACLs and TLS, 21 with these 3, were run manually on both sides. "
    "Both had listeners for all protocols, StandardAuthorizer, and the certificates that the suite's script creates. "
    "18 pass on fakebroker and on Apache Kafka. 2 need GSSAPI, and 1 skips itself. The suite's fixture sets a user "
    "for two SCRAM mechanisms in one request, which Kafka 4 refuses. So each mechanism was set in a request of its "
    "own.",
    "KafkaJS": "its npm package (2.2.4) has one test file, for a table of defaults. The suite was run manually from "
    "its repository. Of its 641 tests of admin, broker, cluster, consumer and producer, 487 pass. The others have "
    "three causes. Some need SASL, SSL, an authorizer, transactions or the scripts of the suite's containers. Some do "
    "not pass on Apache Kafka either, if they were run there: ListOffsets v0, a retired setting, LEADER_NOT_AVAILABLE "
    "while a topic is created. Some need a slow broker: a request that takes more than a millisecond, or a "
    "reassignment that is still in progress. Or a rebalance timeout of 0 must not expire before the next request. On "
    "Apache Kafka that depends on chance: of the files with such a timeout, offsetFetch passed, and offsetCommit and "
    "errorRecovery did not. The files about SASL, TLS, ACLs and connections were run manually on both sides. Both had "
    "three brokers, StandardAuthorizer, and listeners for SSL and SASL_SSL. Of 214 tests, 181 pass on fakebroker and "
    "180 on Apache Kafka, where one used a topic too early. 28 pass on neither. 2 of them expect null for a message "
    "that Kafka 4 leaves empty. 26 request a topic that the request itself creates, and Kafka 4 first returns "
    "UNKNOWN_TOPIC_OR_PARTITION. 5 skip themselves. With OAUTHBEARER, the other mode of these tests, 68 pass on both "
    "sides and 3 skip themselves.",
    "krafka": "its integration tests start Kafka in Docker and accept no address of other brokers.",
    "confluent-kafka": "its sdist (2.16.1) has no tests. The tests of confluent-kafka-go are run instead.",
}
