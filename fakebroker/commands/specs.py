"""Parsers of the values of `serve`'s options: topics, settings, brokers, racks, features, quotas. Each raises Slip."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from fakebroker.commands.command_line import Slip

TOPIC_FORM = "NAME[:PARTITIONS[:REPLICATION]][,config=value...]"
_ASSIGNED_FORM = "NAME=[[BROKER,...],...][,config=value...]"
QUOTA_FORM = "ENTITY=NAME[,ENTITY=NAME],QUOTA=VALUE..."
RACK_FORM = "BROKER=RACK"
FEATURE_FORM = "NAME=LEVEL"
_ASSIGNED = re.compile(r"(?P<name>[^:=,]+)=(?P<assignments>\[.*\])(?:,(?P<settings>[^\[\]]*))?")
_ENTITY = {"user": "user", "client-id": "client_id"}


class TopicSpec(NamedTuple):
    """The value of `--topic`, as arguments of create_topic(); -1 is the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]
    assignments: list[list[int]] | None = None


class QuotaSpec(NamedTuple):
    """The value of `--quota`: its entity, and its limits."""

    user: str | None
    client_id: str | None
    quotas: dict[str, float]


def parse_topic(text: str) -> TopicSpec:
    """Read NAME[:PARTITIONS[:REPLICATION]][,config=value...], or NAME=[[BROKER,...],...][,config=value...]."""
    assigned = _ASSIGNED.fullmatch(text)
    if assigned is not None:
        settings = assigned["settings"].split(",") if assigned["settings"] is not None else []
        assignments = _assignments(text, assigned["assignments"])
        return TopicSpec(assigned["name"], -1, -1, parse_settings("--topic", settings), assignments)
    head, *settings = text.split(",")
    match = re.fullmatch(r"(?P<name>[^:]+)(?::(?P<partitions>\d+)(?::(?P<replication>\d+))?)?", head)
    if match is None:
        raise Slip(f"--topic {text!r} is not {TOPIC_FORM}, as in kafkatest:2:3,min.insync.replicas=2")
    if "=" in head:
        raise Slip(f"--topic {text!r} is not {_ASSIGNED_FORM}, as in kafkatest=[[3,1],[1,2]],min.insync.replicas=2")
    return TopicSpec(
        match["name"],
        int(match["partitions"] or -1),
        int(match["replication"] or -1),
        parse_settings("--topic", settings),
    )


def _assignments(text: str, assignments: str) -> list[list[int]]:
    try:
        read = json.loads(assignments)
    except ValueError:
        read = None
    if not isinstance(read, list) or not read or not all(map(_are_ids, read)):
        raise Slip(f"--topic {text!r} is not {_ASSIGNED_FORM}, as in kafkatest=[[3,1],[1,2]],min.insync.replicas=2")
    return read


def _are_ids(value: object) -> bool:
    return isinstance(value, list) and all(type(broker_id) is int for broker_id in value)


def parse_settings(option: str, settings: Sequence[str]) -> dict[str, str]:
    """Read `name=value` items."""
    values = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise Slip(f"{option} has {setting!r} where a setting name=value belongs, as in min.insync.replicas=2")
        values[name.strip()] = value.strip()
    return values


def parse_broker_ids(text: str) -> list[int]:
    """Read 0,1,2."""
    try:
        return [int(broker_id) for broker_id in text.split(",")]
    except ValueError:
        raise Slip(f"--broker-ids {text!r} are not whole numbers with commas between them, as in 0,1,2") from None


def parse_racks(texts: Sequence[str]) -> dict[int, str]:
    """Read BROKER=RACK."""
    racks = {}
    for text in texts:
        broker_id, equals, rack = text.partition("=")
        if not equals or not rack or not broker_id.strip().isdecimal():
            raise Slip(f"--rack {text!r} is not {RACK_FORM}, as in 1=a")
        racks[int(broker_id)] = rack
    return racks


def parse_features(texts: Sequence[str]) -> dict[str, int]:
    """Read NAME=LEVEL."""
    features = {}
    for text in texts:
        name, equals, level = text.partition("=")
        if not equals or not name or not level.strip().isdecimal():
            raise Slip(f"--feature {text!r} is not {FEATURE_FORM}, as in transaction.version=1")
        features[name.strip()] = int(level)
    return features


def parse_quota(text: str) -> QuotaSpec:
    """Read `user=NAME,client-id=NAME,quota=value...`, with one or both of the names. <default> in place of a name
    applies to all entities without a quota of their own."""
    entity: dict[str, str] = {}
    quotas: dict[str, float] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals:
            raise Slip(f"--quota {text!r} is not {QUOTA_FORM}, as in client-id=loader,producer_byte_rate=1000")
        if name in _ENTITY:
            entity[_ENTITY[name]] = value
            continue
        try:
            quotas[name] = float(value)
        except ValueError:
            raise Slip(f"--quota {text!r}: {value!r} is not a number") from None
    if not entity or not quotas:
        missing = "quota" if entity else "user or client-id"
        raise Slip(f"--quota {text!r} has no {missing}, as in client-id=loader,producer_byte_rate=1000")
    return QuotaSpec(entity.get("user"), entity.get("client_id"), quotas)
