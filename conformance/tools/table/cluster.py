"""The cluster itself; and what is refused on one without security."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command

_QUORUM = {
    r"CONTROLLER://[^\"]+": "CONTROLLER://ADDRESS",
    r"(HighWatermark:|LeaderEpoch:|MaxFollowerLag:|MaxFollowerLagTimeMs:|Epoch:)\s+\d+": r"\1 N",
    r"^(\d\s+\S{22}\s+)\d+\s+\d+": r"\1N N",
    r"\d+ ms ago": "N ms ago",
}
_PORTS = {r"(127\.0\.0\.1 +)\d+": r"\1PORT"}

CLUSTER = Chapter(
    "cluster",
    "The cluster",
    (
        Command("kafka-cluster cluster-id"),
        Command("kafka-cluster list-endpoints", mask=_PORTS),
        Command("kafka-cluster unregister --id 9"),
        Command("kafka-broker-api-versions", unordered=True),
        Command("kafka-metadata-quorum describe --status", mask=_QUORUM),
        Command("kafka-metadata-quorum describe --replication", mask=_QUORUM),
        Command("kafka-metadata-quorum describe --replication --human-readable", mask=_QUORUM),
        Command("kafka-features describe", mask={r"Epoch: \d+": "Epoch: N"}),
        Command("kafka-features upgrade --dry-run --feature kraft.version=1"),
        Command("kafka-features upgrade --dry-run --release-version 4.3"),
        Command("kafka-features downgrade --dry-run --feature share.version=0"),
        Command("kafka-features disable --dry-run --feature share.version"),
        Command("kafka-features upgrade --dry-run --feature no.such=1"),
        Command("kafka-features version-mapping --release-version 4.3"),
        Command("kafka-features feature-dependencies --feature transaction.version=2"),
        Command("kafka-topics --create --topic cluster-a"),
        Command(
            "client-compatibility-test --topic cluster-a --offsets-for-times-supported true --cluster-id-supported true --expect-record-too-large-exception true --num-cluster-nodes 3 --create-topics-supported true --describe-acls-supported true --describe-configs-supported true --idempotent-producer-supported true"
        ),
    ),
)

SECURITY = Chapter(
    "security",
    "Security, share and streams groups",
    (
        Command("kafka-acls --list"),
        Command("kafka-acls --add --allow-principal User:a --operation Read --topic t"),
        Command("kafka-acls --remove --force --allow-principal User:a --operation Read --topic t"),
        Command(
            "kafka-delegation-tokens --create --max-life-time-period -1 --command-config {folder}/admin.properties --renewer-principal User:a"
        ),
        Command("kafka-delegation-tokens --describe --command-config {folder}/admin.properties"),
        Command(
            "kafka-configs --alter --entity-type users --entity-name a --add-config 'SCRAM-SHA-256=[iterations=4096,password=a]'"
        ),
        Command("kafka-configs --describe --entity-type users --entity-name a"),
        Command("kafka-configs --alter --entity-type users --entity-name a --delete-config SCRAM-SHA-256"),
        Command("kafka-share-groups --list"),
        Command("kafka-share-groups --describe --group security-s"),
        Command("kafka-streams-groups --list"),
        Command("kafka-streams-groups --describe --group security-s"),
    ),
    {"admin.properties": "client.id=security\n"},
)
