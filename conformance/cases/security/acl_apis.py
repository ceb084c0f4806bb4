"""The APIs of ACLs with an authorizer, the decisions that follow, and changes while requests wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from conformance import session_steps
from conformance.frames import batch, fetch, produce, request
from conformance.scenario import Case, Pause, Send, Settle, Step, Topic
from conformance.security.acl_steps import CLIENT, IN_FORCE, acl, acl_case, admin, create_acls, host_of
from conformance.session_steps import ONE, Partitions

_DESCRIBE_ACLS, _DELETE_ACLS, _DESCRIBE_TOPICS, _DESCRIBE_TRANSACTIONS = 29, 31, 75, 65
_VERSIONS = (1, 2, 3)
_UNKNOWN_CODE = 99


def _filter(**values: Any) -> dict[str, Any]:
    """Return a filter of DescribeAcls or DeleteAcls; without values it matches everything."""
    defaults = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    return defaults | values


def _describe(version: int = 3, **values: Any) -> bytes:
    return request(_DESCRIBE_ACLS, version, _filter(**values))


def _delete(*filters: Mapping[str, Any], version: int = 3) -> bytes:
    return request(_DELETE_ACLS, version, {"filters": filters})


def _read(name: str, **values: Any) -> dict[str, Any]:
    return acl("TOPIC", name, "READ", **values)


# Entries that are refused, and a few that look so.
_GOOD = _read("acl-bad", principal="User:acl-bad", host="acl-bad")
_BAD: tuple[dict[str, Any], ...] = (
    _GOOD,
    _GOOD,
    _GOOD | {"resource_type": _UNKNOWN_CODE},
    _GOOD | {"resource_type": 4},
    _GOOD | {"resource_type": 4, "resource_name": ""},
    _GOOD | {"resource_name": ""},
    _GOOD | {"resource_pattern_type": _UNKNOWN_CODE},
    _GOOD | {"operation": 15},
    _GOOD | {"operation": 16},
    _GOOD | {"permission_type": _UNKNOWN_CODE},
    _GOOD | {"principal": ""},
    _GOOD | {"principal": "acl-bad"},
    _GOOD | {"principal": ":"},
    _GOOD | {"principal": "Group:a:b"},
    _GOOD | {"host": ""},
    _GOOD | {"host": "not.an.address"},
    _GOOD | {"host": "*x"},
    _GOOD | {"resource_name": "not a topic's name / at all"},
)
_INDEFINITE = (
    ("resource-type", "resource_type", 1),
    ("pattern-type", "resource_pattern_type", 1),
    ("pattern-type-match", "resource_pattern_type", 2),
    ("operation", "operation", 1),
    ("permission", "permission_type", 1),
)
_NETWORKS = (
    "10.0.0.0/8", "10.0.0.0/0", "10.0.0.0/32", "10.0.0.0/33", "10.0.0/8", "10.0.0.256/8", "/", "10.0.0.0/", "/8",
    "10.0.0.0/8/8", "10.0.0.0/-1", "010.0.0.0/8", "2001:db8::/32", "2001:db8::/129", "2001:db8::/x", "::/0",
    "1::2::3/8", "10.0.0.0/255.0.0.0", " 10.0.0.0/8",
)  # fmt: skip

_OF_FILTERS = (
    _read("acl-f-one", principal="User:acl-f", host="acl-f"),
    _read("acl-f", principal="User:acl-f", pattern="PREFIXED"),
    _read("acl-f-one", principal="User:acl-g", permission="DENY"),
    acl("GROUP", "acl-f-one", "DELETE", principal="User:acl-f"),
    acl("TOPIC", "acl-f-two", "ALL", principal="User:acl-f"),
    acl("TRANSACTIONAL_ID", "*", "WRITE", principal="User:acl-f"),
    acl("USER", "User:acl-f", "CREATE_TOKENS", principal="User:acl-f"),
)
_FILTERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("all-of-a-principal", {"principal_filter": "User:acl-f"}),
    ("topics", {"principal_filter": "User:acl-f", "resource_type_filter": 2}),
    ("literal", {"pattern_type_filter": 3, "resource_name_filter": "acl-f-one"}),
    ("any-pattern", {"pattern_type_filter": 1, "resource_name_filter": "acl-f-one"}),
    ("prefixed", {"pattern_type_filter": 4, "resource_name_filter": "acl-f"}),
    ("prefixed-longer", {"pattern_type_filter": 4, "resource_name_filter": "acl-f-one"}),
    ("match", {"pattern_type_filter": 2, "resource_name_filter": "acl-f-one", "principal_filter": "User:acl-f"}),
    ("match-group", {"pattern_type_filter": 2, "resource_type_filter": 3, "resource_name_filter": "acl-f-one"}),
    ("match-any-name", {"pattern_type_filter": 2, "principal_filter": "User:acl-g"}),
    ("host", {"host_filter": "acl-f"}),
    ("operation", {"operation": 2, "principal_filter": "User:acl-f"}),
    ("permission", {"permission_type": 2, "principal_filter": "User:acl-g"}),
    ("other-permission", {"permission_type": 3, "principal_filter": "User:acl-g"}),
    ("wildcard", {"resource_name_filter": "*", "principal_filter": "User:acl-f"}),
    ("unknown-type", {"resource_type_filter": _UNKNOWN_CODE, "principal_filter": "User:acl-f"}),
    ("unknown-pattern", {"pattern_type_filter": _UNKNOWN_CODE, "principal_filter": "User:acl-f"}),
    ("unknown-operation", {"operation": _UNKNOWN_CODE, "principal_filter": "User:acl-f"}),
    ("nobody", {"principal_filter": "User:acl-nobody"}),
)


def _managed(name: str, why: str, *frames: bytes, before: tuple[Step, ...] = ()) -> Case:
    """Return a case in which the harness asks, one request after the other."""
    steps: tuple[Step, ...] = ()
    for frame in frames:
        steps += (*admin(frame), *IN_FORCE)
    return acl_case(f"acl-apis/{name}", why, before=(*before, *steps))


_MANAGED = [
    *(
        _managed(
            f"create-errors-v{version}",
            "errors of AclApis and AclControlManager.validateNewAcl",
            create_acls(*_BAD, version=version),
            _describe(host_filter="acl-bad"),
            _delete(_filter(host_filter="acl-bad"), _filter(principal_filter="User:acl-bad")),
        )
        for version in _VERSIONS
    ),
    *(
        _managed(
            f"create-network-{number}",
            "valid and invalid hosts and networks (AclControlManager.validateHostPattern)",
            create_acls(_GOOD | {"principal": f"User:acl-network-{number}", "host": host}),
            _describe(principal_filter=f"User:acl-network-{number}"),
        )
        for number, host in enumerate(_NETWORKS)
    ),
    *(
        _managed(
            f"create-any-{what}",
            "the constructors of ResourcePattern and AccessControlEntry throw",
            create_acls(_GOOD, _GOOD | {field: code}),
            _describe(host_filter="acl-bad"),
        )
        for what, field, code in _INDEFINITE
    ),
    _managed("create-nothing", "an empty list", create_acls()),
    *(
        _managed(
            f"create-type-0-{field}",
            "CreateAclsRequest.validate throws, and the connection is closed",
            create_acls(_GOOD, _GOOD | {field: 0}),
        )
        for field in ("resource_type", "operation")
    ),
    *(
        _managed(
            f"describe-{what}",
            "filters of ACLs (ResourcePatternFilter, AccessControlEntryFilter)",
            create_acls(*_OF_FILTERS),
            *(_describe(version, **values) for version in _VERSIONS),
        )
        for what, values in _FILTERS
    ),
    *(
        _managed(
            f"delete-{what}",
            "filters of ACLs (ResourcePatternFilter, AccessControlEntryFilter)",
            create_acls(*_OF_FILTERS),
            _delete(_filter(**values), _filter(**values), version=1 + number % 3),
            _describe(principal_filter="User:acl-f"),
        )
        for number, (what, values) in enumerate(_FILTERS)
    ),
    _managed("delete-nothing", "no filter", _delete()),
]


# Decisions: what a client may do on topics, and on transactional ids, by random grants.


def _topics(*names: str) -> bytes:
    topics = [{"name": name} for name in names]
    return request(_DESCRIBE_TOPICS, 0, {"topics": topics, "response_partition_limit": 100, "cursor": None})


def _transactions(*names: str) -> bytes:
    return request(_DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": names})


_OPERATIONS = ("ALL", "READ", "WRITE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "CREATE")


def _walk(seed: int) -> Case:
    """Return a case of random grants, asked for before and after some of them are deleted."""
    random = Random(f"acls {seed}")
    what = f"acl-decisions/random-{seed}"
    host, stem = host_of(what), f"walk-{seed}-"
    names = [stem + name for name in ("", "a", "ab", "abc", "b", "bc")]
    network = host.rpartition(".")[0] + ".0/24"
    grants: list[dict[str, Any]] = []
    for _ in range(random.randint(3, 9)):
        name = random.choice([*names, "*"])
        operation = random.choice(_OPERATIONS)
        only_here = name == "*" or operation in ("ALL", "WRITE")  # else others might write some topic (InitProducerId)
        grants.append(
            acl(
                random.choice(("TOPIC", "TOPIC", "TRANSACTIONAL_ID")),
                name,
                operation,
                host=host if only_here else random.choice((host, "*", network, "127.0.0.9", "10.0.0.0/8")),
                permission=random.choice(("ALLOW", "ALLOW", "ALLOW", "DENY")),
                pattern="LITERAL" if name == "*" else random.choice(("LITERAL", "PREFIXED")),
                principal=random.choice(("User:ANONYMOUS", "User:ANONYMOUS", "User:*", "User:another")),
            )
        )
    requests = _topics(*names), _transactions(*(name for name in names if name))
    deleted = random.sample(grants, len(grants) // 2)
    filters = [
        _filter(
            resource_type_filter=grant["resource_type"],
            resource_name_filter=grant["resource_name"],
            pattern_type_filter=grant["resource_pattern_type"],
            principal_filter=grant["principal"],
            host_filter=grant["host"],
            operation=grant["operation"],
            permission_type=grant["permission_type"],
        )
        for grant in deleted
    ]
    again = tuple(step for frame in requests for step in (Send((frame,), CLIENT, host=host), Settle(CLIENT)))
    return acl_case(
        what,
        "StandardAuthorizerData.findAclRule",
        *requests,
        before=(*admin(create_acls(*grants)), *IN_FORCE),
        after=(*admin(_delete(*filters)), *IN_FORCE, *again),
    )


# Changes while a request waits, and between the requests of a session.


def _revoke(topic: str) -> tuple[Step, ...]:
    """Return the steps by which the harness takes back what a client may do with a topic."""
    mine = _filter(resource_name_filter=topic, resource_type_filter=2)
    return (*admin(_delete(mine)), *IN_FORCE)


def _asked(host: str, *frames: bytes) -> tuple[Step, ...]:
    return tuple(step for frame in frames for step in (Send((frame,), CLIENT, host=host), Settle(CLIENT)))


def _parked_fetch() -> Case:
    name, topic = "acl-changes/fetch-parked", Topic("acl-parked")
    host = host_of(name)
    return acl_case(
        name,
        "a parked Fetch keeps the permissions that it had; the next Fetch is denied (handleFetchRequest)",
        grants=f"TOPIC {topic.name} READ",
        topics=(topic,),
        before=(Send((fetch(topic.name, max_wait_ms=8_000, correlation_id=5),), CLIENT, host=host), Pause(300)),
        after=(
            *_revoke(topic.name),
            *admin(produce(topic.name, batch())),
            Settle(CLIENT),
            *_asked(host, fetch(topic.name, correlation_id=6)),
        ),
    )


def _session() -> Case:
    name, topic = "acl-changes/fetch-session", Topic("acl-session", partitions=2)
    host = host_of(name)
    wanted: Partitions = {topic.name: {0: 0, 1: 0}}
    return acl_case(
        name,
        "each request of a fetch session is authorized again (handleFetchRequest)",
        session_steps.fetch(1, wanted),
        session_steps.fetch(2, id=ONE, epoch=1),
        grants=f"TOPIC {topic.name} READ",
        topics=(topic,),
        after=(
            *_revoke(topic.name),
            *_asked(
                host,
                session_steps.fetch(3, id=ONE, epoch=2),
                session_steps.fetch(4, {topic.name: {0: 0}}, id=ONE, epoch=3),
            ),
        ),
    )


def _unauthorized_session() -> Case:
    name, topic = "acl-changes/fetch-session-granted-later", Topic("acl-session-later")
    host = host_of(name)
    return acl_case(
        name,
        "a fetch session may contain partitions that the client may not read yet",
        session_steps.fetch(1, {topic.name: {0: 0}}),
        session_steps.fetch(2, id=ONE, epoch=1),
        topics=(topic,),
        after=(
            *admin(create_acls(acl("TOPIC", topic.name, "READ", host=host))),
            *IN_FORCE,
            *_asked(host, session_steps.fetch(3, id=ONE, epoch=2)),
        ),
    )


def _decision(name: str, grants: str, names: Sequence[str]) -> Case:
    return acl_case(
        f"acl-decisions/{name}",
        "StandardAuthorizerData.findResult",
        _topics(*names),
        _transactions(*names),
        grants=grants,
    )


_DECISIONS = [
    *(
        _decision(f"implied-by-{operation.lower().replace('_', '-')}", f"TOPIC implied READ; TOPIC implied {operation}",
                  ("implied",))
        for operation in ("ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
    ),
    *(
        _decision(f"only-{operation.lower().replace('_', '-')}",
                  f"TOPIC only {operation}; TRANSACTIONAL_ID only {operation}", ("only", "only-2"))
        for operation in (*_OPERATIONS, "IDEMPOTENT_WRITE", "CLUSTER_ACTION")
    ),
    _decision("prefix", "TOPIC pre* READ; -TOPIC prefixed* WRITE; TOPIC prefixed WRITE",
              ("pre", "pr", "prefixed", "prefixed-2", "xpre")),
    _decision("wildcard", "TOPIC * ALL; -TOPIC secret* READ; -TOPIC secret-2 DESCRIBE",
              ("open", "secret", "secret-2", "*")),
    _decision("denied-describe", "TOPIC shown READ; -TOPIC shown DESCRIBE", ("shown",)),
    _decision("denied-all", "TOPIC shown READ; -TOPIC shown ALL", ("shown",)),
]  # fmt: skip
_CHANGES = [_parked_fetch(), _session(), _unauthorized_session()]

CASES: list[Case] = [*_MANAGED, *_DECISIONS, *(_walk(seed) for seed in range(30)), *_CHANGES]
