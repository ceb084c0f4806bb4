"""Fields in which a command may differ, and why. A reason that explains nothing is an error, as is a difference without
one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """`command` is found in the line of the command; `lines` in each line that differs (`-` Kafka's, `+` ours)."""

    command: str
    lines: str
    why: str


REASONS = (
    Reason(
        r"^kafka-configs --describe --broker 1 --all",
        r"^[-+] (controller\.(listener\.names|quorum\.voters)|listener(s|\.security\.protocol\.map)|process\.roles"
        r"|log\.dirs|fakebroker\..+|log\.memory\.(bytes|full))=",
        "there are no controllers of their own and no folders here; there are settings that Kafka does not have",
    ),
    Reason(
        r"--broker-logger 1 --(add|delete)-config kafka\.server\.ReplicaManager",
        r"^[-+](status|Completed updating|Invalid broker logger)",
        "loggers are named after the classes of the broker, and ours has no kafka.server.ReplicaManager",
    ),
    Reason(
        r"^kafka-features",
        r"^[-+](status|\d out of \d|Can not"
        r"|(Feature: )?(kraft|share|streams|eligible\.leader\.replicas)\.version)",
        "a feature stands for what is served: there is no quorum of controllers to be reconfigured here, and there are"
        " no share groups, no groups of Streams and no eligible leader replicas",
    ),
    Reason(
        r"^kafka-metadata-quorum describe --status",
        r"^[-+]CurrentObservers: ",
        "brokers have no folder with a metadata log, so no id of one",
    ),
    Reason(
        r"^kafka-(share|streams)-groups --describe",
        r"^[-+](Error: |java\.|Caused by: ).*(GroupIdNotFound|UnsupportedVersion)Exception",
        "there are no share groups and no groups of Streams: their APIs are not served",
    ),
    Reason(
        r"^kafka-broker-api-versions",
        r"^- \w+\(\d+\): |^\+ \w+\(\d+\): UNSUPPORTED",
        "fakebroker serves fewer APIs than Kafka, and advertises only what it serves",
    ),
    Reason(
        r"^kafka-(acls|configs) .*carol\.properties",
        r"ClusterAuthorizationException: Request ",
        "Kafka prints the Java object of the request that is denied; here the text names the request",
    ),
)
