"""A command of the table as data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LIMIT_S = 40.0

# The script in Kafka's bin folder: the class that it starts.
MAINS = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-application-reset": "org.apache.kafka.tools.StreamsResetter",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
    "transactional-message-copier": "org.apache.kafka.tools.TransactionalMessageCopier",
    "client-compatibility-test": "org.apache.kafka.tools.ClientCompatibilityTest",
}
KCAT = "kcat"

# Where a tool is told the brokers by another word than --bootstrap-server.
_BOOTSTRAP_OPTION = {KCAT: "-b", "kafka-replica-verification": "--broker-list"}
_NO_OPTION = {"kafka-e2e-latency"}  # it stands in the table


@dataclass(frozen=True)
class Command:
    """A line as it is typed, without the option that names the brokers.

    `{folder}` stands for a folder with the files of the chapter, `{bootstrap}` for the brokers. `stdin` is given to it.
    `until` is a regular expression: the command runs again until its output matches, as what it asks for takes time.
    `background` is a name: it runs until a Stop of that name ends it, with its stdin held open; then `until` is what it
    has printed before the next command is run.
    `keep` has a name for what a group of an expression finds in its output: `{name}` stands for it in later commands
    and in the files, and in all outputs.
    `unordered`: lines come in any order. `mask` is what else differs each time: expressions, and what stands for them.
    """

    line: str
    stdin: str = ""
    until: str = ""
    background: str = ""
    unordered: bool = False
    mask: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = LIMIT_S

    @property
    def tool(self) -> str:
        return self.line.split()[0]

    def arguments(self, bootstrap: str, folder: str) -> list[str]:
        """Return the arguments of `main`, or of the process after its name."""
        words = [
            word.replace("{bootstrap}", bootstrap).replace("{folder}", folder) for word in shlex.split(self.line)[1:]
        ]
        if self.tool in _NO_OPTION or "{bootstrap}" in self.line:
            return words
        where = 1 if self.tool in _SUBCOMMANDS else 0
        return [*words[:where], _BOOTSTRAP_OPTION.get(self.tool, "--bootstrap-server"), bootstrap, *words[where:]]


_SUBCOMMANDS = {"kafka-cluster"}


@dataclass(frozen=True)
class Stop:
    """SIGTERM to a command that runs in the background. Its output is compared now."""

    background: str


@dataclass(frozen=True)
class Open:
    """An open transaction with one record in partition 0 of a topic, in an old batch. No tool makes one. If the
    coordinator does not know of the partition, the transaction hangs."""

    topic: str
    transactional_id: str
    is_told: bool = True


@dataclass(frozen=True)
class Chapter:
    """Commands that belong together. Names of topics and groups begin with the chapter's, so that none meets another's.
    `files` are text by name. A chapter that `is_secured` runs over SASL_SSL with an authorizer (secured_sides.py);
    `{truststore}` stands for a trust store in its files.
    """

    name: str
    title: str
    steps: Sequence[Command | Stop | Open]
    files: Mapping[str, str] = field(default_factory=dict)
    is_secured: bool = False

    def commands(self) -> list[Command]:
        """Return the commands in the order in which they end."""
        background = {step.background: step for step in self.steps if isinstance(step, Command)}
        return [
            background[step.background] if isinstance(step, Stop) else step
            for step in self.steps
            if isinstance(step, Stop) or (isinstance(step, Command) and not step.background)
        ]
