"""Topics, and the records of one: everything that needs no group."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command, Stop
from conformance.tools.table.masks import FIGURES, LATEST, PLACED, PLACES

TOPICS = Chapter(
    "topics",
    "Topics",
    (
        Command("kafka-topics --create --topic topics-a --partitions 3 --replication-factor 3"),
        Command(
            "kafka-topics --create --topic topics-b --partitions 2 --replication-factor 1"
            " --config retention.ms=100000 --config cleanup.policy=compact"
        ),
        Command("kafka-topics --create --topic topics-c --replica-assignment 1:2,2:3,3:1"),
        Command("kafka-topics --create --topic topics-d"),
        Command("kafka-topics --create --topic topics-a"),
        Command("kafka-topics --create --topic topics-a --if-not-exists"),
        Command("kafka-topics --create --topic topics-bad --partitions 0"),
        Command("kafka-topics --create --topic topics-bad --replication-factor 4"),
        Command("kafka-topics --create --topic topics-bad --config no.such=1"),
        Command("kafka-topics --create --topic topics/bad"),
        Command("kafka-topics --create --topic topics.dot_and_underscore"),
        Command("kafka-topics --list"),
        Command("kafka-topics --list --exclude-internal --topic 'topics-[ab]'"),
        Command("kafka-topics --describe --topic topics-a", mask=PLACED),
        Command("kafka-topics --describe --topic topics-b", mask=PLACED),
        Command("kafka-topics --describe --topic topics-c"),
        Command("kafka-topics --describe --topic topics-c --under-replicated-partitions"),
        Command("kafka-topics --describe --topic topics-c --unavailable-partitions"),
        Command("kafka-topics --describe --topic topics-c --at-min-isr-partitions"),
        Command("kafka-topics --describe --topic topics-c --under-min-isr-partitions"),
        Command("kafka-topics --describe --topics-with-overrides", unordered=True),
        Command("kafka-topics --describe --topic topics-none"),
        Command("kafka-topics --describe --topic topics-none --if-exists"),
        Command("kafka-topics --alter --topic topics-c --partitions 5"),
        Command("kafka-topics --alter --topic topics-c --partitions 2"),
        Command("kafka-topics --alter --topic topics-c --partitions 6 --replica-assignment 1:2,2:3,3:1,1:2,2:3,3:1"),
        Command("kafka-topics --alter --topic topics-none --partitions 2"),
        Command(
            "kafka-topics --describe --topic topics-c",
            until="PartitionCount: 6",
            mask={r"(Partition: [34]\t).*": r"\1"},
        ),
        Command("kafka-topics --delete --topic topics-d"),
        Command("kafka-topics --delete --topic topics-none"),
        Command("kafka-topics --delete --topic topics-none --if-exists"),
        Command("kafka-topics --list --topic 'topics-.*'"),
        Command("kafka-topics --create"),
        Command("kafka-topics --version"),
    ),
)

_VALUES = "".join(f"k{i}:v{i}\n" for i in range(10))

RECORDS = Chapter(
    "records",
    "Producing and consuming without a group",
    (
        Command("kafka-topics --create --topic records-a --partitions 1 --replication-factor 3"),
        Command("kafka-topics --create --topic records-b --partitions 3 --replication-factor 1"),
        Command("kafka-topics --create --topic records-c --partitions 1 --replication-factor 3"),
        Command("kafka-console-producer --topic records-a", stdin="one\ntwo\nthree\n"),
        Command("kafka-console-producer --topic records-a --sync --compression-codec zstd", stdin="four\n"),
        Command(
            "kafka-console-producer --topic records-a --producer-property acks=all --batch-size 1", stdin="five\nsix\n"
        ),
        Command(
            "kafka-console-producer --topic records-a --reader-property parse.key=true --reader-property key.separator=:",
            stdin=_VALUES,
        ),
        Command(
            "kafka-console-producer --topic records-b --reader-property parse.key=true --reader-property key.separator=:"
            " --compression-codec lz4",
            stdin=_VALUES,
        ),
        Command(
            "kafka-console-producer --topic records-c --reader-property parse.headers=true --request-required-acks 1",
            stdin="h1:a,h2:b\tvalue\n",
        ),
        Command("kafka-console-consumer --topic records-a --from-beginning --max-messages 16"),
        Command("kafka-console-consumer --topic records-a --partition 0 --offset 3 --max-messages 2"),
        Command("kafka-console-consumer --topic records-a --partition 0 --offset earliest --max-messages 1"),
        Command("kafka-console-consumer --topic records-a --partition 0 --offset latest --timeout-ms 1500"),
        Command(
            "kafka-console-consumer --topic records-a --partition 0 --offset 6 --max-messages 4"
            " --formatter-property print.key=true --formatter-property print.offset=true"
            " --formatter-property print.partition=true --formatter-property print.timestamp=true"
        ),
        Command("kafka-console-consumer --topic records-b --from-beginning --max-messages 10", unordered=True),
        Command(
            "kafka-console-consumer --topic records-c --from-beginning --max-messages 1 --formatter-property print.headers=true"
        ),
        Command(
            "kafka-console-consumer --topic records-c --from-beginning --max-messages 1 --isolation-level read_committed"
        ),
        Command("kafka-console-consumer --include 'records-[ac]' --from-beginning --max-messages 17", unordered=True),
        Command(
            "kafka-console-consumer --topic records-a --from-beginning --max-messages 2 --formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter"
        ),
        Command("kafka-console-consumer --topic records-a --partition 9 --offset 0 --timeout-ms 1500"),
        Command(
            "kafka-console-consumer --topic records-none --from-beginning --timeout-ms 1500",
            mask={r"^.*The metadata response from the cluster reported a recoverable.*\n": ""},
        ),
        Command("kafka-verifiable-producer --topic records-b --max-messages 12 --acks -1", mask=PLACES, unordered=True),
        Command(
            "kafka-verifiable-producer --topic records-c --max-messages 5 --acks 1 --value-prefix 7 --repeating-keys 2",
            mask=PLACES,
            unordered=True,
        ),
        Command(
            "kafka-producer-perf-test --topic records-c --num-records 1000 --record-size 100 --throughput -1",
            mask=FIGURES,
        ),
        Command(
            "kafka-producer-perf-test --topic records-c --num-records 200 --record-size 100 --throughput 10000 --command-property acks=1 --print-metrics",
            mask=FIGURES | {r": +-?(NaN|[\d.E+-]+)$": " : N", r".*node-id=node-.*\n": ""},
            unordered=True,
        ),
        Command(
            "kafka-e2e-latency {bootstrap} records-c 20 all 100",
            mask={r"^(Avg latency:|Percentiles:|\d+[\t ]).*": r"\1"},
        ),
        Command("kafka-get-offsets --topic records-a"),
        Command("kafka-get-offsets --topic records-a --time -1"),
        Command("kafka-get-offsets --topic records-a --time latest"),
        Command("kafka-get-offsets --topic records-a --time earliest"),
        Command("kafka-get-offsets --topic records-a --time -3", mask=LATEST),
        Command("kafka-get-offsets --topic records-a --time max-timestamp", mask=LATEST),
        Command("kafka-get-offsets --topic records-a --time earliest-local"),
        Command("kafka-get-offsets --topic records-a --time latest-tiered"),
        Command("kafka-get-offsets --topic records-a --time 0"),
        Command("kafka-get-offsets --topic records-a --time 9999999999999"),
        Command("kafka-get-offsets --topic-partitions records-[ab]:0-2 --time earliest"),
        Command("kafka-get-offsets --topic records-none"),
        Command("kafka-get-offsets --topic records-b --partitions 1,2 --time earliest"),
        Command("kafka-delete-records --offset-json-file {folder}/delete.json"),
        Command("kafka-get-offsets --topic records-a --time earliest"),
        Command("kafka-delete-records --offset-json-file {folder}/delete-bad.json"),
        Command("kafka-delete-records --offset-json-file {folder}/delete-all.json"),
        Command("kafka-get-offsets --topic records-c --time earliest", mask={r":\d+$": ":N"}),
        Command("kafka-console-consumer --topic records-a --from-beginning --max-messages 1"),
        Command(
            "kafka-replica-verification --topics-include records-a --time -2 --report-interval-ms 500",
            background="verification",
            until="max lag",
            mask={r"(?s)(max lag.*?\n).*": r"\1", r"WARN .*": "WARN"},
        ),
        Stop("verification"),
    ),
    {
        "delete.json": '{"version": 1, "partitions": [{"topic": "records-a", "partition": 0, "offset": 4}]}',
        "delete-bad.json": '{"version": 1, "partitions": [{"topic": "records-a", "partition": 0, "offset": 400}]}',
        "delete-all.json": '{"version": 1, "partitions": [{"topic": "records-c", "partition": 0, "offset": -1}]}',
    },
)
