"""Each API for three users that have logged in over TLS: one may do nothing, one may do everything but what the API
needs, and one may do exactly that.

Theory   The requests are those of `authorization`. "allowed" shows that Kafka needs no more than what stands here;
         "everything but" that a denial of one operation beats that all of them are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from conformance.frames import request
from conformance.scenario import AwaitCoordinator, AwaitTransaction, Case, Topic, placeholder
from conformance.security.denied_requests import DENIED, known_fields
from conformance.security.user_steps import asks, user_case
from fakebroker.apis import registry

_CLUSTER = "CLUSTER kafka-cluster"
_GROUP, _CONSUMERS, _TRANSACTION = "GROUP acl-group", "GROUP acl-consumers", "TRANSACTIONAL_ID acl-transaction"
_TOPIC, _ABSENT, _NEW = "TOPIC acl-there", "TOPIC acl-absent", "TOPIC acl-never-created"
# What a request needs, by its name in `authorization`. Several permissions have semicolons between.
_NEEDED = {
    **dict.fromkeys(("join-group", "heartbeat", "leave-group", "sync-group"), f"{_GROUP} READ"),
    "offset-commit-topics": f"{_GROUP} READ; {_TOPIC} READ",
    "offset-fetch-topics": f"{_GROUP} DESCRIBE; {_TOPIC} DESCRIBE",
    "offset-delete-topics": f"{_GROUP} DELETE; {_TOPIC} READ",
    "describe-groups": f"{_GROUP} DESCRIBE",
    "list-groups": f"{_GROUP} DESCRIBE",
    "delete-groups": f"{_GROUP} DELETE",
    "consumer-heartbeat-topics": f"{_CONSUMERS} READ; {_TOPIC} DESCRIBE; {_ABSENT} DESCRIBE",
    "consumer-describe": f"{_CONSUMERS} DESCRIBE",
    "find-coordinator-group": f"{_GROUP} DESCRIBE",
    "find-coordinator-transaction": f"{_TRANSACTION} DESCRIBE",
    "init-producer-id": f"{_TRANSACTION} WRITE",
    "init-producer-id-idempotent": f"{_CLUSTER} IDEMPOTENT_WRITE",
    "add-partitions-transaction": f"{_CLUSTER} CLUSTER_ACTION",
    "add-offsets-group": f"{_TRANSACTION} WRITE; {_GROUP} READ",
    "end-txn": f"{_TRANSACTION} WRITE",
    "write-txn-markers": f"{_CLUSTER} CLUSTER_ACTION",
    "txn-offset-commit-topics": f"{_TRANSACTION} WRITE; {_GROUP} READ; {_TOPIC} READ",
    "describe-transactions": f"{_TRANSACTION} DESCRIBE",
    "list-transactions": f"{_TRANSACTION} DESCRIBE",
    "describe-producers": f"{_TOPIC} READ",
    "produce": f"{_TOPIC} WRITE",
    "produce-idempotent": f"{_TOPIC} WRITE",
    "produce-in-transaction-topic": f"{_TRANSACTION} WRITE; {_TOPIC} WRITE",
    "fetch": f"{_TOPIC} READ",
    "fetch-by-a-follower": f"{_CLUSTER} CLUSTER_ACTION",
    "list-offsets": f"{_TOPIC} DESCRIBE",
    "offset-for-leader-epoch": f"{_TOPIC} DESCRIBE",
    "delete-records": f"{_TOPIC} DELETE",
    "metadata": f"{_TOPIC} DESCRIBE",
    "describe-topic-partitions": f"{_TOPIC} DESCRIBE",
    "create-topics": f"{_NEW} CREATE",
    "create-partitions": f"{_TOPIC} ALTER",
    "delete-topics": f"{_TOPIC} DELETE",
    "describe-configs-topic": f"{_TOPIC} DESCRIBE_CONFIGS",
    "alter-configs": f"{_TOPIC} ALTER_CONFIGS",
    "incremental-alter-configs": f"{_TOPIC} ALTER_CONFIGS",
    "incremental-alter-configs-loggers": f"{_CLUSTER} ALTER_CONFIGS",
    "describe-cluster": f"{_CLUSTER} DESCRIBE",
    "describe-acls": f"{_CLUSTER} DESCRIBE",
    "create-acls": f"{_CLUSTER} ALTER",
    "delete-acls": f"{_CLUSTER} ALTER",
    "alter-replica-log-dirs": f"{_CLUSTER} ALTER",
    "elect-leaders": f"{_CLUSTER} ALTER",
    "alter-partition-reassignments": f"{_CLUSTER} ALTER",
    "list-partition-reassignments": f"{_CLUSTER} DESCRIBE",
    "describe-client-quotas": f"{_CLUSTER} DESCRIBE_CONFIGS",
    "alter-client-quotas": f"{_CLUSTER} ALTER_CONFIGS",
    "describe-user-scram-credentials": f"{_CLUSTER} DESCRIBE",
    "alter-user-scram-credentials": f"{_CLUSTER} ALTER",
    "update-features": f"{_CLUSTER} ALTER",
    "unregister-broker": f"{_CLUSTER} ALTER",
}
_BY_NAME = {denied.what: denied for denied in DENIED}


def _case(what: str, needed: str) -> Case:
    denied = _BY_NAME[what]
    name = f"users-allowed/{what}"
    topic = Topic(f"users-allowed-{what}")
    names = {
        prefix: f"{prefix}-{what}" for prefix in ("acl-group", "acl-other-group", "acl-consumers", "acl-transaction")
    }
    own: dict[Any, Any] = {**names, "acl-there": topic.name, placeholder("acl-there"): topic.placeholder}
    shared = known_fields(denied)
    values = _replaced(shared, own)
    frame = request(denied.api_key, registry.load()[denied.api_key].max_version, values)
    exact = "; ".join(_own_grant(permission, own) for permission in needed.split("; "))
    but = "; ".join(_everything_but(permission) for permission in exact.split("; "))
    before = (AwaitCoordinator(names["acl-group"]), AwaitTransaction(names["acl-transaction"]))
    given = {"none": "", "but": but, "exact": exact}
    steps = (step for conn in given for step in asks(conn, frame))
    return user_case(name, f"the API needs {needed}", given, *steps, topics=(topic,), before=before)


def _own_grant(text: str, own: Mapping[Any, Any]) -> str:
    kind, name, operation = text.split(" ")
    return f"{kind} {own.get(name, name)} {operation}"


def _everything_but(text: str) -> str:
    kind, name, operation = text.split(" ")
    return f"{kind} {name} ALL; -{kind} {name} {operation}"


def _replaced(value: Any, own: Mapping[Any, Any]) -> Any:
    """Return the value with the names of this case in place of those of the tables."""
    if isinstance(value, dict):
        return {key: _replaced(item, own) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_replaced(item, own) for item in value)
    return own.get(value, value) if isinstance(value, str | UUID) else value


CASES: list[Case] = [_case(what, needed) for what, needed in _NEEDED.items()]
