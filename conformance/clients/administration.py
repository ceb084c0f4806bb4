"""Calls to the administrator of each client. A program makes the calls that its client has, and reports those that it
lacks.

A call is {"call": NAME, ...}; README.md has their arguments and answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.clients.stage import Stage

_OFFSETS = {"0": 5, "1": 7}


def calls(topic: str, group: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls in their order, each with its subject. `topic` has 2 partitions of 10 records each."""
    made = f"{topic}-made"

    def create(name: str, partitions: int, replicas: int, **configs: str) -> dict[str, Any]:
        sizes = {"partitions": partitions, "replicas": replicas}
        return {"call": "create_topic", "topic": name, **sizes, "configs": configs}

    def alter(change: dict[str, str], delete: list[str]) -> dict[str, Any]:
        return {"call": "alter_topic_configs", "topic": made, "set": change, "delete": delete}

    def offsets(spec: str, partition: int = 0) -> dict[str, Any]:
        return {"call": "list_offsets", "topic": topic, "partition": partition, "spec": spec}

    settings = ["cleanup.policy", "max.message.bytes", "retention.ms"]
    describe_made = {"call": "describe_topic", "topic": made}
    of_group = {"group": group, "topic": topic}

    yield "create", create(made, 3, 2, **{"retention.ms": "60000"})
    yield "create what is there", create(made, 3, 2)
    yield "create with a bad name", create(f"{topic} bad!", 1, 1)
    yield "create with too many replicas", create(f"{topic}-more", 1, 9)
    yield "create with a bad setting", create(f"{topic}-set", 1, 1, **{"retention.ms": "never"})
    yield "describe", describe_made
    yield "describe what is not there", {"call": "describe_topic", "topic": f"{topic}-none"}
    yield "list", {"call": "list_topics", "prefix": topic}
    yield "more partitions", {"call": "create_partitions", "topic": made, "total": 5}
    yield "fewer partitions", {"call": "create_partitions", "topic": made, "total": 2}
    yield "partitions of nothing", {"call": "create_partitions", "topic": f"{topic}-none", "total": 2}
    yield "describe with more", describe_made
    yield "alter settings", alter({"max.message.bytes": "5000"}, ["retention.ms"])
    yield "a setting that is none", alter({"no.such.setting": "1"}, [])
    yield "a value that is none", alter({"cleanup.policy": "burn"}, [])
    yield "settings", {"call": "describe_topic_configs", "topic": made, "names": settings}
    yield "settings of nothing", {"call": "describe_topic_configs", "topic": f"{topic}-none", "names": settings}
    yield (
        "settings of a broker",
        {"call": "describe_broker_configs", "broker": 1, "names": ["message.max.bytes", "num.partitions"]},
    )
    yield "earliest", offsets("earliest")
    yield "latest", offsets("latest")
    yield "delete records", {"call": "delete_records", "topic": topic, "offsets": {"0": 4}}
    yield "delete too many records", {"call": "delete_records", "topic": topic, "offsets": {"0": 99}}
    yield "earliest after that", offsets("earliest")
    yield "earliest of the other", offsets("earliest", 1)
    yield "alter offsets", {"call": "alter_group_offsets", **of_group, "offsets": _OFFSETS}
    yield "offsets", {"call": "group_offsets", **of_group}
    yield "list groups", {"call": "list_groups", "prefix": group}
    yield "describe a group", {"call": "describe_group", "group": group}
    yield "describe no group", {"call": "describe_group", "group": f"{group}-none"}
    yield "delete offsets", {"call": "delete_group_offsets", **of_group, "partition": 1}
    yield "offsets after that", {"call": "group_offsets", **of_group}
    yield "delete a group", {"call": "delete_group", "group": group}
    yield "delete no group", {"call": "delete_group", "group": f"{group}-none"}
    yield "list groups after that", {"call": "list_groups", "prefix": group}
    yield "log directories", {"call": "describe_log_dirs", "topic": topic}
    yield "cluster", {"call": "describe_cluster"}
    yield "elect leaders", {"call": "elect_leader", "topic": topic, "partition": 0}
    yield "reassignments", {"call": "list_reassignments", "topic": topic}
    yield "set a quota", {"call": "alter_quota", "client_id": topic, "key": "producer_byte_rate", "value": 1e9}
    yield "quotas", {"call": "describe_quota", "client_id": topic}
    yield "set a credential", {"call": "alter_scram", "user": topic, "iterations": 5000}
    yield "credentials", {"call": "describe_scram", "user": topic}
    yield "access", {"call": "describe_acls"}
    yield "delete", {"call": "delete_topic", "topic": made}
    yield "delete what is not there", {"call": "delete_topic", "topic": f"{topic}-none"}
    yield "list after that", {"call": "list_topics", "prefix": topic}


def administer(stage: Stage) -> None:
    """All calls, with what each was answered. What a client lacks is told by the one row "lacks"."""
    stage.feed("record", 10, 2)
    ask = stage.administrator()
    lacks = []
    for what, call in calls(stage.topic, stage.group):
        answer = ask(call)
        if answer.get("unsupported"):
            lacks.append(call["call"])
        else:
            stage.see(what, answer.get("error") or answer.get("result"))
    stage.see("lacks", sorted(set(lacks)))
