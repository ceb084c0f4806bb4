"""Commands about places of partitions: log folders, reassignments, elections."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command

_MOVE = """{"version": 1, "partitions": [
  {"topic": "partitions-a", "partition": 0, "replicas": [2, 3]},
  {"topic": "partitions-a", "partition": 1, "replicas": [3, 1]}]}"""
_ORDER = '{"version": 1, "partitions": [{"topic": "partitions-b", "partition": 0, "replicas": [3, 1, 2]}]}'
_ELECT = '{"partitions": [{"topic": "partitions-b", "partition": 0}]}'

PARTITIONS = Chapter(
    "partitions",
    "Log folders, reassignments and elections",
    (
        Command("kafka-topics --create --topic partitions-a --replica-assignment 1:2,2:3"),
        Command("kafka-topics --create --topic partitions-b --replica-assignment 1:2:3"),
        Command("kafka-console-producer --topic partitions-b", stdin="one\ntwo\n"),
        Command("kafka-log-dirs --describe --topic-list partitions-b"),
        Command("kafka-log-dirs --describe --broker-list 1,2 --topic-list partitions-a,partitions-b"),
        Command("kafka-log-dirs --describe --broker-list 9"),
        Command(
            "kafka-reassign-partitions --generate --topics-to-move-json-file {folder}/topics.json --broker-list 1,2,3",
            mask={r'"replicas":\[[\d,]+\]': '"replicas"', r'"log_dirs":\[.*?\]': '"log_dirs"'},
        ),
        Command("kafka-reassign-partitions --execute --reassignment-json-file {folder}/move.json"),
        Command(
            "kafka-reassign-partitions --verify --reassignment-json-file {folder}/move.json",
            until=r"(?s)(is completed.*){2}",
        ),
        Command("kafka-topics --describe --topic partitions-a"),
        Command("kafka-reassign-partitions --list"),
        Command("kafka-reassign-partitions --execute --reassignment-json-file {folder}/move.json --throttle 1000000"),
        Command(
            "kafka-reassign-partitions --verify --reassignment-json-file {folder}/move.json",
            until=r"(?s)(is completed.*){2}",
        ),
        Command("kafka-reassign-partitions --cancel --reassignment-json-file {folder}/move.json"),
        Command("kafka-reassign-partitions --execute --reassignment-json-file {folder}/none.json"),
        Command("kafka-reassign-partitions --execute --reassignment-json-file {folder}/broker-9.json"),
        Command("kafka-reassign-partitions --execute --reassignment-json-file {folder}/order.json"),
        Command(
            "kafka-reassign-partitions --verify --reassignment-json-file {folder}/order.json", until="is completed"
        ),
        Command("kafka-topics --describe --topic partitions-b"),
        Command("kafka-leader-election --election-type preferred --topic partitions-b --partition 0"),
        Command("kafka-topics --describe --topic partitions-b"),
        Command("kafka-leader-election --election-type preferred --topic partitions-b --partition 0"),
        Command("kafka-leader-election --election-type preferred --path-to-json-file {folder}/elect.json"),
        Command("kafka-leader-election --election-type unclean --topic partitions-b --partition 0"),
        Command("kafka-leader-election --election-type preferred --topic partitions-none --partition 0"),
        Command("kafka-leader-election --election-type preferred --all-topic-partitions", mask={r"(?s).*": ""}),
    ),
    {
        "topics.json": '{"version": 1, "topics": [{"topic": "partitions-a"}]}',
        "move.json": _MOVE,
        "order.json": _ORDER,
        "none.json": _MOVE.replace("partitions-a", "partitions-none"),
        "broker-9.json": _MOVE.replace("[2, 3]", "[9, 3]"),
        "elect.json": _ELECT,
    },
)
