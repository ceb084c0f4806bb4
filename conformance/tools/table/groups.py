"""Groups: both protocols, with members and without."""

from __future__ import annotations

from conformance.tools.command import Chapter, Command, Stop
from conformance.tools.table.masks import COORDINATOR, FIGURES, OUR_GROUPS

_RECORDS = "".join(f"k{i}:v{i}\n" for i in range(10))
_PRODUCE = "kafka-console-producer --reader-property parse.key=true --reader-property key.separator=: --topic"


def _life(name: str, protocol: str) -> tuple[Command | Stop, ...]:
    """A group of one member from its first to its last day."""
    topic, group = f"groups-{name}-t", f"groups-{name}"
    with_group = f"--group {group} --command-property group.protocol={protocol}"
    return (
        Command(f"kafka-topics --create --topic {topic} --partitions 2 --replication-factor 3"),
        Command(f"{_PRODUCE} {topic}", stdin=_RECORDS),
        Command(
            f"kafka-console-consumer --topic {topic} {with_group} --from-beginning --max-messages 10 --timeout-ms 20000",
            unordered=True,
        ),
        Command(f"kafka-console-consumer --topic {topic} {with_group} --from-beginning --timeout-ms 3000"),
        Command(f"kafka-consumer-groups --describe --group {group}", until="has no active members"),
        Command(f"{_PRODUCE} {topic}", stdin="k1:w1\nk2:w2\nk3:w3\n"),
        Command(f"kafka-consumer-groups --describe --group {group}"),
        Command(f"kafka-consumer-groups --describe --group {group} --state", mask=COORDINATOR),
        Command(f"kafka-consumer-groups --describe --group {group} --members"),
        Command(f"kafka-console-consumer --topic {topic} {with_group}", background=name, until="w3"),
        Command(f"kafka-consumer-groups --describe --group {group} --state", until="Stable", mask=COORDINATOR),
        Command(
            f"kafka-consumer-groups --describe --group {group} --state --verbose", until="Stable", mask=COORDINATOR
        ),
        Command(f"kafka-consumer-groups --describe --group {group} --members"),
        Command(f"kafka-consumer-groups --describe --group {group} --members --verbose"),
        Command(f"kafka-consumer-groups --describe --group {group}", until=r"(?s)( 0 +\S{22,}.*){2}"),
        Command(f"kafka-consumer-groups --describe --group {group} --verbose"),
        Command(f"kafka-consumer-groups --reset-offsets --group {group} --topic {topic} --to-earliest --execute"),
        Command(f"kafka-consumer-groups --delete --group {group}"),
        Command(f"kafka-consumer-groups --delete-offsets --group {group} --topic {topic}"),
        Command("kafka-consumer-groups --list --state", until=group, unordered=True, mask=OUR_GROUPS),
        Command("kafka-consumer-groups --list --type", unordered=True, mask=OUR_GROUPS),
        Command("kafka-groups --list", unordered=True, mask=OUR_GROUPS),
        Stop(name),
        Command(f"kafka-consumer-groups --describe --group {group} --state", until="Empty", mask=COORDINATOR),
        Command("kafka-consumer-groups --list --state Empty", until=group, unordered=True, mask=OUR_GROUPS),
        Command(f"kafka-consumer-groups --delete-offsets --group {group} --topic {topic}:0"),
        Command(f"kafka-consumer-groups --describe --group {group}"),
        Command(f"kafka-consumer-groups --delete --group {group}"),
        Command(f"kafka-consumer-groups --describe --group {group}"),
        Command(f"kafka-consumer-groups --delete --group {group}"),
        Command("kafka-consumer-groups --list", unordered=True, mask=OUR_GROUPS),
    )


_RESET = "kafka-consumer-groups --reset-offsets --group groups-r --topic groups-r-t"

GROUPS = Chapter("groups", "Groups, classic protocol", _life("classic", "classic"))
GROUPS_848 = Chapter("groups-848", "Groups, KIP-848", _life("next", "consumer"))
RESETS = Chapter(
    "resets",
    "Resetting offsets",
    (
        Command("kafka-topics --create --topic groups-r-t --partitions 2 --replication-factor 3"),
        Command(f"{_PRODUCE} groups-r-t", stdin=_RECORDS),
        Command(f"{_RESET} --to-earliest --dry-run"),
        Command("kafka-consumer-groups --describe --group groups-r"),
        Command(f"{_RESET} --to-earliest --execute"),
        Command("kafka-consumer-groups --describe --group groups-r"),
        Command(f"{_RESET} --to-latest --dry-run"),
        Command(f"{_RESET} --to-latest --execute"),
        Command(f"{_RESET} --shift-by -2 --execute"),
        Command(f"{_RESET} --shift-by -200 --dry-run"),
        Command(f"{_RESET} --shift-by 200 --execute"),
        Command(f"{_RESET} --to-offset 2 --execute"),
        Command(f"{_RESET}:1 --to-offset 1 --execute"),
        Command(f"{_RESET} --to-datetime 2020-01-01T00:00:00.000 --execute"),
        Command(f"{_RESET} --to-datetime 2100-01-01T00:00:00.000 --execute"),
        Command(f"{_RESET} --by-duration P1D --execute"),
        Command(f"{_RESET} --by-duration PT0S --dry-run"),
        Command(f"{_RESET} --to-current --execute"),
        Command(f"{_RESET} --to-current --dry-run --export"),
        Command("kafka-consumer-groups --reset-offsets --group groups-r --from-file {folder}/offsets.csv --dry-run"),
        Command("kafka-consumer-groups --reset-offsets --group groups-r --from-file {folder}/offsets.csv --execute"),
        Command("kafka-consumer-groups --describe --group groups-r --offsets"),
        Command("kafka-consumer-groups --describe --group groups-r --state", mask=COORDINATOR),
        Command(
            "kafka-consumer-groups --describe --all-groups --state",
            unordered=True,
            mask=OUR_GROUPS | COORDINATOR | {r"^GROUP .*\n": ""},
        ),
        Command("kafka-consumer-groups --reset-offsets --group groups-r --all-topics --to-earliest --execute"),
        Command(
            "kafka-consumer-groups --reset-offsets --all-groups --topic groups-r-t --to-latest --dry-run",
            unordered=True,
            mask=OUR_GROUPS,
        ),
        Command("kafka-consumer-groups --reset-offsets --group groups-r --topic groups-none --to-earliest --dry-run"),
        Command(f"{_RESET} --to-earliest"),
        Command("kafka-consumer-groups --delete-offsets --group groups-r --topic groups-none"),
        Command("kafka-consumer-groups --delete-offsets --group groups-none --topic groups-r-t"),
        Command("kafka-consumer-groups --validate-regex groups.*"),
        Command("kafka-consumer-groups --describe --group groups-none"),
        Command("kafka-consumer-groups --describe --group groups-none --members"),
        Command("kafka-consumer-groups --describe --group groups-none --state", mask=COORDINATOR),
        Command("kafka-consumer-groups --delete --group groups-r"),
        Command("kafka-consumer-groups --delete --group groups-none"),
        Command("kafka-groups --list --consumer", unordered=True, mask=OUR_GROUPS),
    ),
    {"offsets.csv": "groups-r-t,0,2\ngroups-r-t,1,1\n"},
)

_PERF = {r"^\d{4}-.*": "FIGURES"}
_JOINED = {r'^.*"name":"(records_consumed|offsets_committed)".*\n': "", r'"timestamp":\d+,?': ""}
_OF_APP = {
    r'(?<=\})\{"key"': '\n{"key"',
    r'^(?!.*"group":"tools-app").*"key".*\n?': "",
    r'"(commitTimestamp|currentStateTimestamp)":\d+': r'"\1":N',
    r'"topicId":"[^"]+"': '"topicId":"ID"',
    r"(?<=total of )\d+": "N",
}

GROUP_TOOLS = Chapter(
    "group-tools",
    "Tools that join groups",
    (
        Command("kafka-topics --create --topic tools-a --partitions 2 --replication-factor 3"),
        Command(
            "kafka-producer-perf-test --topic tools-a --num-records 2000 --record-size 100 --throughput -1",
            mask=FIGURES,
        ),
        Command("kafka-consumer-perf-test --topic tools-a --num-records 2000 --group tools-perf", mask=_PERF),
        Command(
            "kafka-consumer-perf-test --topic tools-a --num-records 2000 --group tools-perf-848 --command-property group.protocol=consumer --hide-header",
            mask=_PERF,
        ),
        Command(
            "kafka-verifiable-consumer --topic tools-a --group-id tools-v --max-messages 2000 --reset-policy earliest",
            mask=_JOINED,
        ),
        Command(
            "kafka-verifiable-consumer --topic tools-a --group-id tools-v-848 --group-protocol consumer --max-messages 2000 --reset-policy earliest",
            mask=_JOINED,
        ),
        Command(
            "kafka-consumer-groups --describe --group tools-v",
            until="has no active members",
            mask={r"(tools-a +\d) +\d+ +\d+ +\d+": r"\1 N N N"},
        ),
        Command("kafka-streams-application-reset --application-id tools-app --input-topics tools-a --dry-run"),
        Command("kafka-streams-application-reset --application-id tools-app --input-topics tools-a --to-earliest"),
        Command(
            "kafka-console-consumer --topic __consumer_offsets --from-beginning --timeout-ms 3000 --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter",
            mask=_OF_APP,
            unordered=True,
        ),
        Command(
            "kafka-console-consumer --topic __consumer_offsets --from-beginning --timeout-ms 3000 --formatter org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter",
            mask=_OF_APP,
            unordered=True,
        ),
    ),
)

TRANSACTIONS = Chapter(
    "transactions",
    "Transactions",
    (
        Command("kafka-topics --create --topic txn-a --partitions 1 --replication-factor 3"),
        Command("kafka-topics --create --topic txn-b --partitions 1 --replication-factor 3"),
        Command("kafka-transactions list"),
        Command("kafka-transactions describe --transactional-id txn-none"),
        Command(
            "kafka-producer-perf-test --topic txn-a --num-records 100 --record-size 10 --throughput -1 --transactional-id txn-p --transaction-duration-ms 100",
            mask=FIGURES,
        ),
        Command("kafka-transactions list", until="CompleteCommit", mask={r"(txn-p\s+)\d+\s+\d+": r"\1N N"}),
        Command("kafka-transactions describe-producers --topic txn-a --partition 0", mask={r"^\d+.*": "PRODUCER"}),
        Command("kafka-transactions find-hanging --broker 1"),
        Command(
            "kafka-console-consumer --topic txn-a --from-beginning --isolation-level read_committed --max-messages 1",
            mask={r"^[A-Z]{10}$": "RECORD"},
        ),
        Command(
            "transactional-message-copier --transactional-id txn-c --consumer-group txn-g --input-topic txn-a --input-partition 0 --output-topic txn-b --max-messages 100 --transaction-size 20 --broker-list {bootstrap}",
            mask={
                r'^.*"stage":"(?!ShutdownComplete).*\n': "",
                r'"timestamp":\d+|"time":"[^"]+"': "TIME",
                # Whether the markers of the last transaction are written by now.
                r"^.*WARN \[Producer .* Error: CONCURRENT_TRANSACTIONS .*\n?": "",
            },
        ),
    ),
)
