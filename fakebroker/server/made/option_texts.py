"""Parsers of options that are one text: numbers, files, topics, settings, broker ids, users, ACLs, quotas. The command
line and pytest's ini file use them.

Errors   ValueError. Its message continues a sentence that begins with the option's name: "'x' is not BROKER=RACK".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fakebroker.core.errors import KafkaError
from fakebroker.spelling import closest, did_you_mean

TOPIC_FORM = "NAME[:PARTITIONS[:REPLICATION]][,config=value...]"
_ASSIGNED_FORM = "NAME=[[BROKER,...],...][,config=value...]"
QUOTA_FORM = "ENTITY=NAME[,ENTITY=NAME],QUOTA=VALUE..."
RACK_FORM = "BROKER=RACK"
USER_FORM = "NAME=PASSWORD"
ACL_FORM = "RESOURCE=NAME,operation=OPERATION[,principal=TYPE:NAME][,KEY=VALUE...]"
_AN_ACL = "topic=orders,operation=read,principal=User:alice"
FEATURE_FORM = "NAME=LEVEL"
_ASSIGNED = re.compile(r"(?P<name>[^:=,]+)=(?P<assignments>\[.*\])(?:,(?P<settings>[^\[\]]*))?")
_ENTITY = {"user": "user", "client-id": "client_id"}
HIDDEN = "[hidden]"  # Kafka's word for the value of a password
_A_QUOTA = "client-id=loader,producer_byte_rate=1000"


class TopicSpec(NamedTuple):
    """The arguments of create_topic(); -1 is the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]
    assignments: list[list[int]] | None = None


class QuotaSpec(NamedTuple):
    """An entity and its limits."""

    user: str | None
    client_id: str | None
    quotas: dict[str, float]


def whole_number(least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """Return the `type` of an option with a whole number as value, within these limits if they are given."""
    limits = ("" if least is None else f" from {least}") + ("" if most is None else f" to {most}")

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or (least is not None and number < least) or (most is not None and number > most):
            raise ValueError(f"{text!r} is not a whole number{limits}")
        return number

    return read


def file_name(text: str) -> Path:
    """Return the file that an option names: the `type` of such an option."""
    if not text:
        raise ValueError("'' is not a file name")
    return Path(text)


def parse_topic(text: str) -> TopicSpec:
    """Read NAME[:PARTITIONS[:REPLICATION]][,config=value...], or NAME=[[BROKER,...],...][,config=value...]."""
    assigned = _ASSIGNED.fullmatch(text)
    if assigned is not None:
        settings = assigned["settings"].split(",") if assigned["settings"] is not None else []
        assignments = _assignments(text, assigned["assignments"])
        return TopicSpec(assigned["name"], -1, -1, _settings(settings), assignments)
    head, *settings = text.split(",")
    match = re.fullmatch(r"(?P<name>[^:]+)(?::(?P<partitions>\d+)(?::(?P<replication>\d+))?)?", head)
    if match is None:
        raise ValueError(f"{text!r} is not {TOPIC_FORM}, as in kafkatest:2:3,min.insync.replicas=2")
    if "=" in head:
        raise _no_assignments(text)
    return TopicSpec(
        match["name"], int(match["partitions"] or -1), int(match["replication"] or -1), _settings(settings)
    )


def _assignments(text: str, assignments: str) -> list[list[int]]:
    try:
        read = json.loads(assignments)
    except ValueError:
        read = None
    if not isinstance(read, list) or not read or not all(map(_are_ids, read)):
        raise _no_assignments(text)
    return read


def _no_assignments(text: str) -> ValueError:
    return ValueError(f"{text!r} is not {_ASSIGNED_FORM}, as in kafkatest=[[3,1],[1,2]],min.insync.replicas=2")


def _are_ids(value: object) -> bool:
    return isinstance(value, list) and all(type(broker_id) is int for broker_id in value)


def _settings(texts: Sequence[str]) -> dict[str, str]:
    return dict(map(parse_setting, texts))


def parse_setting(text: str) -> tuple[str, str]:
    """Read NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"has {text!r} where a setting name=value belongs, as in min.insync.replicas=2")
    return name.strip(), value.strip()


def parse_broker_ids(text: str) -> list[int]:
    """Read 0,1,2."""
    try:
        return [int(broker_id) for broker_id in text.split(",")]
    except ValueError:
        raise ValueError(f"{text!r} are not whole numbers with commas between them, as in 0,1,2") from None


def parse_rack(text: str) -> tuple[int, str]:
    """Read BROKER=RACK."""
    broker_id, equals, rack = text.partition("=")
    if not equals or not rack or not broker_id.strip().isdecimal():
        raise ValueError(f"{text!r} is not {RACK_FORM}, as in 1=a")
    return int(broker_id), rack


def parse_feature(text: str) -> tuple[str, int]:
    """Read NAME=LEVEL."""
    name, equals, level = text.partition("=")
    if not equals or not name or not level.strip().isdecimal():
        raise ValueError(f"{text!r} is not {FEATURE_FORM}, as in transaction.version=1")
    return name.strip(), int(level)


def parse_user(text: str) -> tuple[str, str]:
    """Read NAME=PASSWORD."""
    name, _, password = text.partition("=")
    if not name or not password:
        shown = f"={HIDDEN}" if password else text
        raise ValueError(f"{shown!r} is not {USER_FORM}, as in alice=secret")
    return name, password


def parse_acl(text: str) -> dict[str, str]:
    """Read `topic=NAME,operation=OPERATION,principal=TYPE:NAME,...` into the arguments of `acls.add`. A comma is a part
    of a value, as in User:CN=alice,O=x, unless the next key follows it."""
    from fakebroker.server.security.acls_in_hand import KEYS, read_acl  # imported here: few clusters have ACLs

    resource, *entries = _acl_entries(text, KEYS[2:])
    resource_type, equals, name = resource.partition("=")
    if "," in text and resource_type in KEYS[2:]:
        raise ValueError(f"{text!r} begins with {resource_type!r}: the resource comes first, as in {_AN_ACL}")
    acl = {"resource_type": resource_type, "name": name}
    for entry in entries:
        key, _, value = entry.partition("=")
        if key in acl:
            raise ValueError(f"{text!r} has {key!r} twice")
        acl[key] = value
    for key, value in acl.items():
        _refuse_items(text, key, value)
    if not equals or resource_type in KEYS or "operation" not in acl:
        raise ValueError(f"{text!r} is not {ACL_FORM}, as in {_AN_ACL}")
    if resource_type.lower() == "topic" and "," in name:
        raise ValueError(f"{text!r} has a comma in the name of a topic; name one, as in {_AN_ACL}")
    try:
        read_acl(acl, repr(text))
    except KafkaError as error:
        raise ValueError(error.message) from None
    return acl


def _acl_entries(text: str, keys: Sequence[str]) -> list[str]:
    """Split the text of an ACL at the commas that one of the keys follows. In a principal a backslash takes the meaning
    from the comma behind it, as in a distinguished name."""
    entries, begin = [], 0
    for comma in re.finditer(rf",\s*(?=(?:{'|'.join(keys)})=)", text):
        entry = text[begin : comma.start()]
        backslashes = len(entry) - len(entry.rstrip("\\"))
        if not entry.startswith("principal=") or backslashes % 2 == 0:
            entries.append(entry)
            begin = comma.end()
    return [*entries, text[begin:]]


def _refuse_items(text: str, of: str, value: str) -> None:
    """Raise ValueError if there are items of the form KEY=VALUE in the value of a key of an ACL. A principal, as in
    User:CN=alice,O=x, may have the attributes of a distinguished name."""
    from fakebroker.core.security.acl_binding import ResourceType  # imported here: few clusters have ACLs
    from fakebroker.server.made.attribute_types import is_attribute_type
    from fakebroker.server.security.acls_in_hand import KEYS

    items = re.findall(r"(?:\\.|[^,\\])+", value) if of == "principal" else value.split(",")
    for item in items[1:]:
        key, equals, _ = item.strip().partition("=")
        key = key.rstrip()
        if not equals and of == "principal" and key in KEYS:
            raise ValueError(f"{text!r} has {key!r} without a value")
        if equals and key.upper().replace("-", "_") in ResourceType.__members__:
            raise ValueError(f"{text!r} has {item.strip()!r}: an ACL has one resource, so make one more for that")
        if equals and of != "principal":
            raise ValueError(f"{text!r} has {item.strip()!r}: an ACL has no {key!r}; {did_you_mean(key, KEYS[2:])}")
        if equals and not is_attribute_type(key):
            hint = did_you_mean(key, KEYS[2:])
            raise ValueError(
                f"{text!r} has {item.strip()!r}: neither an ACL nor a certificate's name has {key!r}; {hint}"
            )
    if of == "principal" and len(items) > 1 and (slip := next((item for item in items if "=" not in item), None)):
        raise ValueError(
            f"{text!r} has {slip.strip()!r} in a principal with commas, which only a distinguished name may have: make "
            "an ACL for each principal"
        )


def parse_quota(text: str) -> QuotaSpec:
    """Read `user=NAME,client-id=NAME,quota=value...`, with one or both of the names. <default> in place of a name
    applies to all entities without a quota of their own."""
    entity: dict[str, str] = {}
    quotas: dict[str, float] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals:
            raise ValueError(f"{text!r} is not {QUOTA_FORM}, as in {_A_QUOTA}")
        if name in _ENTITY:
            entity[_ENTITY[name]] = value
            continue
        try:
            quotas[name] = float(value)
        except ValueError:
            near = closest(name, _ENTITY)
            hint = f"; did you mean {near[0]!r} with {name!r}?" if near else ""
            raise ValueError(f"{text!r}: {value!r} is not a number{hint}") from None
    if not entity or not quotas:
        missing = "quota" if entity else "user or client-id"
        raise ValueError(f"{text!r} has no {missing}, as in {_A_QUOTA}")
    return QuotaSpec(entity.get("user"), entity.get("client_id"), quotas)
