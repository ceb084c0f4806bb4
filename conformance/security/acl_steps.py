"""Steps of cases with ACLs: the harness grants, and a client at an address of its own tries.

Theory   Each client of a PLAINTEXT listener is User:ANONYMOUS, the brokers included. So ACLs tell them apart by their
         address: the harness and the brokers are at 127.0.0.1, and may do everything from the first case on; the client
         of a case is at another address of the loopback, which is made of the name of the case. It may do what the case
         grants it, and nothing else. What it may not do is the same whatever other cases granted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.frames import request
from conformance.scenario import LOOPBACK, Case, CatchUp, Pause, Send, Settle, Step, Topic
from conformance.transactions.steps import numbered
from fakebroker.core.security.acl_binding import AclOperation, AclPermissionType, PatternType, ResourceType

CREATE_ACLS = 30
ADMIN, CLIENT = "admin", "client"  # connections
# Kafka's brokers have the new metadata a moment before their authorizer has its ACLs (BrokerMetadataPublisher).
IN_FORCE: tuple[Step, ...] = (CatchUp(), Pause(20))
_CONCRETE = ("TOPIC", "GROUP", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")


def acl(
    kind: str,
    name: str,
    operation: str,
    *,
    host: str = "*",
    permission: str = "ALLOW",
    pattern: str = "LITERAL",
    principal: str = "User:ANONYMOUS",
) -> dict[str, Any]:
    """Return an entry of CreateAcls."""
    return {
        "resource_type": ResourceType[kind],
        "resource_name": name,
        "resource_pattern_type": PatternType[pattern],
        "principal": principal,
        "host": host,
        "operation": AclOperation[operation],
        "permission_type": AclPermissionType[permission],
    }


def create_acls(*creations: Mapping[str, Any], version: int = 3, correlation_id: int = 1) -> bytes:
    return request(CREATE_ACLS, version, {"creations": creations}, correlation_id)


def host_of(name: str) -> str:
    """Return the address of the client of a case."""
    digest = hashlib.sha256(name.encode()).digest()
    return f"127.{1 + digest[0] % 250}.{digest[1]}.{1 + digest[2] % 250}"


def acl_case(
    name: str,
    why: str,
    *frames: bytes,
    grants: str = "",
    topics: tuple[Topic, ...] = (),
    before: tuple[Step, ...] = (),
    after: tuple[Step, ...] = (),
) -> Case:
    """Return a case: the harness grants, does the steps `before`, the client sends the frames, one after the other,
    then come the steps `after`. Grants are "TOPIC t READ" or "-TOPIC t READ" (denied), with semicolons between; a name
    that ends in "*" is a prefix, unless it is only that."""
    host = host_of(name)
    admin = [acl("CLUSTER", "kafka-cluster", "ALL", host=LOOPBACK)]
    admin += [acl(kind, "*", "ALL", host=LOOPBACK) for kind in _CONCRETE]
    granted = [_granted(text.strip(), host) for text in grants.split(";") if text.strip()]
    request_steps: list[Step] = []
    for frame in numbered(frames):
        request_steps += [Send((frame,), CLIENT, host=host), Settle(CLIENT)]
    steps = (Send((create_acls(*admin, *granted),), ADMIN), Settle(ADMIN), *IN_FORCE, *before, *request_steps, *after)
    return Case(name, why, steps, topics, box="acls")


def admin(*frames: bytes) -> tuple[Step, ...]:
    """Return steps of the harness, which may do everything."""
    return Send(numbered(frames), ADMIN), Settle(ADMIN)


def by_version(api_key: int, versions: Sequence[int], values: Mapping[str, Any]) -> list[bytes]:
    return [request(api_key, version, values) for version in versions]


def _granted(text: str, host: str) -> dict[str, Any]:
    kind, name, operation = text.removeprefix("-").split(" ")
    is_prefix = name.endswith("*") and name != "*"
    return acl(
        kind,
        name.removesuffix("*") if is_prefix else name,
        operation,
        host=host,
        permission="DENY" if text.startswith("-") else "ALLOW",
        pattern="PREFIXED" if is_prefix else "LITERAL",
    )
