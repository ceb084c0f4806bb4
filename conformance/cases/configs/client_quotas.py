"""Cases of DescribeClientQuotas and AlterClientQuotas: quotas of users, client ids and addresses, and of defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from conformance.config_frames import one_by_one
from conformance.frames import request
from conformance.scenario import Case

_DESCRIBE, _ALTER = 48, 49
_EXACT, _DEFAULT, _ANY = 0, 1, 2
_REMOVE = None

Entity = Sequence[tuple[str, str | None]]


def _described(
    *components: tuple[str, int, str | None], strict: bool = False, version: int = 1, correlation_id: int = 1
) -> bytes:
    values: dict[str, Any] = {
        "components": [{"entity_type": kind, "match_type": how, "match": match} for kind, how, match in components],
        "strict": strict,
    }
    return request(_DESCRIBE, version, values, correlation_id)


def _altered(
    *entries: tuple[Entity, Mapping[str, float | None] | Sequence[tuple[str, float | None]]],
    version: int = 1,
    correlation_id: int = 1,
    validate_only: bool = False,
) -> bytes:
    values = {
        "entries": [
            {
                "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity],
                "ops": [
                    {"key": key, "value": 0.0 if value is _REMOVE else value, "remove": value is _REMOVE}
                    for key, value in (ops.items() if isinstance(ops, Mapping) else ops)
                ],
            }
            for entity, ops in entries
        ],
        "validate_only": validate_only,
    }
    return request(_ALTER, version, values, correlation_id)


def _case(name: str, why: str, *frames: bytes) -> Case:
    return Case(f"client-quotas/{name}", why, one_by_one(*frames), box="quotas")


_ENTITIES: tuple[Entity, ...] = (
    [("user", "u")],
    [("user", None)],
    [("client-id", "c")],
    [("client-id", None)],
    [("user", "u"), ("client-id", "c")],
    [("client-id", None), ("user", "u")],
    [("user", None), ("client-id", None)],
    [("ip", "1.2.3.4")],
    [("ip", None)],
)


def _all(version: int) -> tuple[bytes, ...]:
    quotas: list[tuple[Entity, Mapping[str, float | None]]] = [
        (entity, {"connection_creation_rate": 5.0} if entity[0][0] == "ip" else {"producer_byte_rate": 1000.0 + number})
        for number, entity in enumerate(_ENTITIES)
    ]
    gone: list[tuple[Entity, Mapping[str, float | None]]] = [
        (entity, dict.fromkeys(values, _REMOVE)) for entity, values in quotas
    ]
    describe_requests = [
        _described(*components, strict=strict, version=version, correlation_id=number)
        for number, (components, strict) in enumerate(
            (components, strict)
            for components in (
                (),
                (("user", _ANY, None),),
                (("user", _EXACT, "u"),),
                (("user", _DEFAULT, None),),
                (("client-id", _ANY, None),),
                (("client-id", _EXACT, "c"),),
                (("client-id", _DEFAULT, None),),
                (("user", _ANY, None), ("client-id", _ANY, None)),
                (("user", _EXACT, "u"), ("client-id", _DEFAULT, None)),
                (("user", _DEFAULT, None), ("client-id", _EXACT, "c")),
                (("ip", _ANY, None),),
                (("ip", _EXACT, "1.2.3.4"),),
                (("ip", _DEFAULT, None),),
                (("user", _EXACT, "nobody"),),
            )
            for strict in (False, True)
        )
    ]
    return (
        _altered(*quotas, version=version, correlation_id=90),
        *describe_requests,
        _altered(*gone, version=version, correlation_id=91),
        _described(version=version, correlation_id=92),
    )


_BAD: dict[str, tuple[Entity, Sequence[tuple[str, float | None]]]] = {
    "no-entity": ([], [("producer_byte_rate", 1.0)]),
    "unknown-type": ([("group", "g")], [("producer_byte_rate", 1.0)]),
    "empty-type": ([("", "g")], [("producer_byte_rate", 1.0)]),
    "type-twice": ([("user", "a"), ("user", "b")], [("producer_byte_rate", 1.0)]),
    "empty-name": ([("user", "")], [("producer_byte_rate", 1.0)]),
    "ip-and-user": ([("ip", "1.2.3.4"), ("user", "a")], [("connection_creation_rate", 1.0)]),
    "ip-host": ([("ip", "no.such.host.invalid")], [("connection_creation_rate", 1.0)]),
    "ip-empty": ([("ip", "")], [("connection_creation_rate", 1.0)]),
    "ip-rate": ([("ip", "1.2.3.4")], [("producer_byte_rate", 1.0)]),
    "ip-v6": ([("ip", "::1")], [("connection_creation_rate", 7.0)]),
    "user-connections": ([("user", "a")], [("connection_creation_rate", 1.0)]),
    "unknown-key": ([("user", "a")], [("nobody", 1.0)]),
    "empty-key": ([("user", "a")], [("", 1.0)]),
    "zero": ([("user", "a")], [("producer_byte_rate", 0.0)]),
    "negative": ([("user", "a")], [("request_percentage", -1.0)]),
    "fraction": ([("user", "a")], [("consumer_byte_rate", 1.5)]),
    "nearly-whole": ([("user", "a")], [("consumer_byte_rate", 1.0000001)]),
    "fraction-of-percent": ([("user", "a")], [("request_percentage", 1.5)]),
    "fraction-of-mutations": ([("user", "a")], [("controller_mutation_rate", 1.5)]),
    "fraction-of-connections": ([("ip", "1.2.3.4")], [("connection_creation_rate", 1.5)]),
    "large-connections": ([("ip", "1.2.3.4")], [("connection_creation_rate", 1e10)]),
    "large": ([("user", "a")], [("producer_byte_rate", 1e19)]),
    "largest": ([("user", "a")], [("producer_byte_rate", float(2**63))]),
    "infinite": ([("user", "a")], [("request_percentage", float("inf"))]),
    "nan": ([("user", "a")], [("request_percentage", float("nan"))]),
    "key-twice": ([("user", "a")], [("producer_byte_rate", 1.0), ("producer_byte_rate", 2.0)]),
    "set-and-remove": ([("user", "a")], [("producer_byte_rate", 1.0), ("producer_byte_rate", _REMOVE)]),
    "remove-unknown": ([("user", "a")], [("nobody", _REMOVE)]),
    "remove-absent": ([("user", "a")], [("producer_byte_rate", _REMOVE)]),
    "nothing": ([("user", "a")], []),
    "second-is-bad": ([("user", "a")], [("producer_byte_rate", 1.0), ("consumer_byte_rate", -1.0)]),
}


def _bad(what: str, entity: Entity, ops: Sequence[tuple[str, float | None]]) -> Case:
    undo = [
        (key, _REMOVE)
        for key in ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
    ]
    frames = [
        _altered((entity, ops), validate_only=True),
        _altered((entity, ops), correlation_id=2),
        _described(correlation_id=3),
    ]
    if {kind for kind, _ in entity} == {"user"}:
        frames.append(_altered((entity[-1:], undo), correlation_id=4))
    if [kind for kind, _ in entity] == ["ip"]:
        frames.append(_altered((entity, [("connection_creation_rate", _REMOVE)]), correlation_id=4))
    frames.append(_described(correlation_id=5))
    return _case(f"alter-{what}", "valid and invalid entities and quotas (ClientQuotaControlManager)", *frames)


def _orders() -> tuple[bytes, ...]:
    """Compare the order of one entity's quotas, set one by one, and the order of many entities, removed one by one."""
    both = [("user", "User1"), ("client-id", "Client1")]
    quotas = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
    users = ["alice", "User1", "bob", "carol", "dave", "eve", "AaAa", "BBBB", "AaBB", "BBAa"]
    many: list[Entity] = [*([("user", name)] for name in users), both, *_ENTITIES[:7]]
    frames: list[Callable[..., bytes]] = [
        partial(_altered, (both, dict.fromkeys(quotas[:3], 5.0))),
        partial(_described),
        *(partial(_altered, (both, {key: 6.0})) for key in quotas),
        partial(_described),
        partial(_altered, (both, {quotas[1]: _REMOVE})),
        partial(_described),
        partial(_altered, *((entity, {quotas[0]: 7.0}) for entity in many)),
        partial(_described),
        partial(_described, ("user", _ANY, None)),
        *(
            frame
            for entity in many[:4]
            for frame in (partial(_altered, (entity, {quotas[0]: _REMOVE})), partial(_described))
        ),
        partial(_altered, *((entity, {quotas[0]: _REMOVE}) for entity in many[6:])),
        partial(_described),
        partial(_altered, *((entity, dict.fromkeys(quotas, _REMOVE)) for entity in many)),
        partial(_described),
    ]
    return tuple(frame(correlation_id=number) for number, frame in enumerate(frames, 1))


CASES: list[Case] = [
    *(_case(f"v{version}", "each entity type, found by each kind of filter", *_all(version)) for version in range(2)),
    *(_bad(what, entity, ops) for what, (entity, ops) in _BAD.items()),
    *(
        _case(
            f"filter-{what}",
            "invalid filters (KafkaApis.handleDescribeClientQuotas, ClientQuotasImage.describe)",
            _described(*components),
            _described(*components, version=0, strict=True, correlation_id=2),
        )
        for what, components in {
            "unknown-type": (("group", _ANY, None),),
            "empty-type": (("", _ANY, None),),
            "type-twice": (("user", _ANY, None), ("user", _EXACT, "a")),
            "match-3": (("user", 3, None),),
            "match-minus": (("user", -1, None),),
            "exact-null": (("user", _EXACT, None),),
            "any-name": (("user", _ANY, "a"),),
            "default-name": (("user", _DEFAULT, "a"),),
            "ip-and-user": (("ip", _ANY, None), ("user", _ANY, None)),
            "ip-and-client": (("client-id", _EXACT, "a"), ("ip", _EXACT, "b")),
        }.items()
    ),
    _case(
        "orders", "entities and quotas are returned in the order of hash tables (ClientQuotasDelta.apply)", *_orders()
    ),
    _case(
        "several",
        "each entity of a request is altered on its own; one entity twice; no entity",
        _altered(
            ([("user", "a")], {"producer_byte_rate": 5.0}),
            ([("user", "b")], {"producer_byte_rate": -5.0}),
            ([("client-id", "a")], {"consumer_byte_rate": 6.0, "request_percentage": 7.5}),
        ),
        _described(correlation_id=2),
        _altered(
            ([("user", "a")], {"producer_byte_rate": 6.0}),
            ([("user", "a")], {"request_percentage": 6.0}),
            correlation_id=3,
        ),
        _described(correlation_id=4),
        _altered(
            ([("user", "a"), ("client-id", "x")], {"producer_byte_rate": 6.0}),
            ([("client-id", "x"), ("user", "a")], {"producer_byte_rate": 7.0}),
            correlation_id=5,
        ),
        _described(correlation_id=6),
        _altered(correlation_id=7),
        _altered(
            ([("user", "a")], {"producer_byte_rate": _REMOVE, "request_percentage": _REMOVE}),
            ([("client-id", "a")], {"consumer_byte_rate": _REMOVE, "request_percentage": _REMOVE}),
            ([("user", "a"), ("client-id", "x")], {"producer_byte_rate": _REMOVE}),
            correlation_id=8,
        ),
        _described(correlation_id=9),
    ),
]
