"""Settings: of topics, brokers, loggers, clients, users, groups and client metrics."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command
from conformance.tools.table.masks import NOT_OURS

CONFIGS = Chapter(
    "configs",
    "Settings and quotas",
    (
        Command(
            "kafka-topics --create --topic configs-a --partitions 1 --replication-factor 3 --config retention.ms=5000"
        ),
        Command("kafka-configs --describe --entity-type topics --entity-name configs-a"),
        Command("kafka-configs --describe --entity-type topics --entity-name configs-a --all"),
        Command(
            "kafka-configs --alter --entity-type topics --entity-name configs-a --add-config max.message.bytes=2000,cleanup.policy=[delete,compact]"
        ),
        Command("kafka-configs --describe --topic configs-a", until="max.message.bytes"),
        Command("kafka-configs --alter --topic configs-a --delete-config retention.ms"),
        Command("kafka-configs --describe --topic configs-a"),
        Command("kafka-configs --alter --topic configs-a --delete-config retention.ms"),
        Command("kafka-configs --alter --topic configs-a --add-config no.such=1"),
        Command("kafka-configs --alter --topic configs-a --add-config retention.ms=abc"),
        Command("kafka-configs --alter --topic configs-a --add-config-file {folder}/topic.properties"),
        Command("kafka-configs --describe --entity-type topics --entity-name configs-none"),
        Command("kafka-configs --alter --topic configs-none --add-config retention.ms=1"),
        Command("kafka-configs --describe --entity-type topics", mask=NOT_OURS),
        Command("kafka-configs --describe --entity-type brokers --entity-name 1"),
        Command("kafka-configs --describe --entity-type brokers --entity-default"),
        Command("kafka-configs --describe --broker 1 --all"),
        Command("kafka-configs --alter --entity-type brokers --entity-name 1 --add-config log.cleaner.threads=2"),
        Command("kafka-configs --alter --entity-type brokers --entity-default --add-config message.max.bytes=2000000"),
        Command("kafka-configs --describe --broker 1", until="log.cleaner.threads"),
        Command("kafka-configs --describe --entity-type brokers --entity-default", until="message.max.bytes"),
        Command("kafka-configs --describe --entity-type brokers"),
        Command("kafka-configs --alter --entity-type brokers --entity-name 1 --delete-config log.cleaner.threads"),
        Command("kafka-configs --alter --entity-type brokers --entity-default --delete-config message.max.bytes"),
        Command("kafka-configs --alter --broker 1 --add-config broker.rack=here"),
        Command("kafka-configs --describe --broker 9", limit_s=10),
        Command("kafka-configs --describe --entity-type broker-loggers --entity-name 1", mask={r"^ .*\n": ""}),
        Command("kafka-configs --alter --broker-logger 1 --add-config kafka.server.ReplicaManager=INFO"),
        Command("kafka-configs --alter --broker-logger 1 --delete-config kafka.server.ReplicaManager"),
        Command("kafka-configs --alter --broker-logger 1 --add-config no.such.Logger=INFO"),
        Command(
            "kafka-configs --alter --entity-type clients --entity-name configs-c --add-config producer_byte_rate=100000,consumer_byte_rate=200000"
        ),
        Command("kafka-configs --alter --entity-type clients --entity-default --add-config request_percentage=400"),
        Command(
            "kafka-configs --alter --entity-type users --entity-name configs-u --add-config producer_byte_rate=300000"
        ),
        Command(
            "kafka-configs --alter --entity-type users --entity-name configs-u --entity-type clients --entity-name configs-c --add-config controller_mutation_rate=10"
        ),
        Command(
            "kafka-configs --alter --entity-type ips --entity-name 10.0.0.1 --add-config connection_creation_rate=100"
        ),
        Command("kafka-configs --describe --entity-type clients --entity-name configs-c", until="consumer_byte_rate"),
        Command("kafka-configs --describe --entity-type clients", unordered=True),
        Command("kafka-configs --describe --entity-type users", unordered=True),
        Command(
            "kafka-configs --describe --entity-type users --entity-name configs-u --entity-type clients --entity-name configs-c"
        ),
        Command("kafka-configs --describe --entity-type ips"),
        Command("kafka-configs --alter --entity-type clients --entity-name configs-c --add-config no_such=1"),
        Command(
            "kafka-configs --alter --entity-type clients --entity-name configs-c --delete-config producer_byte_rate,consumer_byte_rate"
        ),
        Command("kafka-configs --alter --entity-type clients --entity-default --delete-config request_percentage"),
        Command(
            "kafka-configs --alter --entity-type ips --entity-name 10.0.0.1 --delete-config connection_creation_rate"
        ),
        Command("kafka-configs --describe --client-defaults"),
        Command("kafka-configs --describe --user-defaults"),
        Command(
            "kafka-configs --alter --entity-type groups --entity-name configs-g --add-config consumer.session.timeout.ms=50000"
        ),
        Command("kafka-configs --describe --entity-type groups --entity-name configs-g", until="50000"),
        Command("kafka-configs --describe --group configs-g --all"),
        Command("kafka-configs --alter --group configs-g --delete-config consumer.session.timeout.ms"),
        Command("kafka-configs --alter --group configs-g --add-config consumer.session.timeout.ms=1"),
        Command(
            "kafka-configs --alter --entity-type client-metrics --entity-name configs-m --add-config interval.ms=1000,metrics=[org.apache.kafka.consumer.]"
        ),
        Command("kafka-configs --describe --client-metrics configs-m", until="interval.ms"),
        Command("kafka-client-metrics --list"),
        Command("kafka-client-metrics --describe --name configs-m"),
        Command(
            "kafka-client-metrics --alter --name configs-n --metrics org.apache.kafka.producer. --interval 2000 --match client_id=app-.*"
        ),
        Command("kafka-client-metrics --describe", until="configs-n", unordered=True),
        Command("kafka-client-metrics --alter --name configs-n --interval 1"),
        Command("kafka-client-metrics --delete --name configs-n"),
        Command("kafka-client-metrics --delete --name configs-m"),
        Command("kafka-client-metrics --list"),
    ),
    {"topic.properties": "segment.bytes=2000000\nretention.bytes=12345678\n"},
)
