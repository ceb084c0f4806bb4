"""A change of `listeners` while a broker runs: which ports open and close, what clients of a new one are told, and what
is refused."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.config_frames import APPEND, BROKER, DELETE, SET, SUBTRACT, Operation, describe, incremental
from conformance.frames import request
from conformance.scenario import ADDED, Case, CatchUp, Pause, Send, Settle, Step, Topic

_BOX = "listeners"
_TOPIC = "at-an-added-listener"
_METADATA, _FIND_COORDINATOR, _DESCRIBE_CLUSTER, _DESCRIBE_TOPIC_PARTITIONS = 3, 10, 60, 75
# The listeners of the start are known by name, so their addresses count for nothing.
_OWN = "PLAINTEXT://:1,CONTROLLER://:2"
_OUT, _OTHER = (f"{name}://{host}:{port}" for name, (host, port) in ADDED.items())
_MAP = "listener.security.protocol.map"
_KNOWN = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
_APPLIED_MS = 1_000  # Kafka opens and closes ports after its response


def _set(listeners: str, **more: str) -> list[Operation]:
    return [("listeners", SET, listeners), *((_MAP, SET, protocols) for protocols in more.values())]


def _altered(operations: Sequence[Operation], correlation_id: int = 1) -> list[Step]:
    frame = incremental((BROKER, "1", operations), correlation_id=correlation_id)
    return [Send((frame,)), Settle(), CatchUp(), Pause(_APPLIED_MS)]


def _asked(*frames: bytes, listener: str = "OUT") -> list[Step]:
    return [step for frame in frames for step in (Send((frame,), listener, listener=listener), Settle(listener))]


def _described(correlation_id: int) -> list[Step]:
    frame = describe((BROKER, "1", ("listeners",)), correlation_id=correlation_id, include_synonyms=True)
    return [Send((frame,)), Settle()]


def _metadata(version: int, correlation_id: int) -> bytes:
    return request(_METADATA, version, {"topics": [{"name": _TOPIC}]}, correlation_id)


_UNDO: list[Operation] = [("listeners", DELETE, None)]
_HARMLESS = request(_METADATA, 12, {"topics": ()}, 7)

_REFUSED: dict[str, Sequence[Operation]] = {
    "no-protocol": _set(f"{_OWN},LOST://127.0.0.97:5"),
    "nonsense": _set("nonsense"),
    "empty": _set(""),
    "name-twice": _set(f"{_OWN},{_OUT},{_OUT}"),
    "name-twice-in-another-case": _set(f"{_OWN},OUT://:5,out://:6"),
    "port-twice": _set(f"{_OWN},OUT://:5,OTHER://:5"),
    "port-of-an-address-and-a-name": _set(f"{_OWN},OUT://127.0.0.97:5,OTHER://localhost:5"),
    "port-of-two-addresses": _set(f"{_OWN},OUT://127.0.0.97:5,OTHER://127.0.0.98:5"),
    "port-of-two-families": _set(f"{_OWN},OUT://127.0.0.97:5,OTHER://[::1]:5"),
    "advertised-is-missing": _set(f"CONTROLLER://:2,{_OUT}"),
    "controller-is-missing": _set(f"PLAINTEXT://:1,{_OUT}"),
    "all-are-missing": _set(_OUT),
    "unknown-protocol": _set(f"{_OWN},{_OUT}", protocols=f"{_KNOWN},OUT:BOGUS"),
    "map-changes-the-first": [(_MAP, SET, "CONTROLLER:PLAINTEXT,PLAINTEXT:SSL")],
    "advertised": [("advertised.listeners", SET, "PLAINTEXT://:1")],
    "between-brokers": [("inter.broker.listener.name", SET, "OUT")],
    "of-controllers": [("controller.listener.names", SET, "OUT")],
}


CASES: list[Case] = [
    *(
        Case(
            f"alter-listeners/refused-{what}",
            "invalid listeners are refused before anything changes",
            (Send((incremental((BROKER, "1", operations), validate_only=True),)), Settle()),
            box=_BOX,
        )
        for what, operations in _REFUSED.items()
    ),
    Case(
        "alter-listeners/added",
        "an added listener accepts connections; its metadata names no broker, and that of other listeners stays",
        (
            *_altered(_set(f"{_OWN},{_OUT}")),
            *_asked(*(_metadata(version, version) for version in (0, 1, 5, 6, 12))),
            *_asked(
                request(_DESCRIBE_CLUSTER, 2, {"endpoint_type": 1, "include_fenced_brokers": True}, 21),
                request(_FIND_COORDINATOR, 4, {"key_type": 1, "coordinator_keys": ("t",)}, 22),
                request(
                    _DESCRIBE_TOPIC_PARTITIONS,
                    0,
                    {"topics": [{"name": _TOPIC}], "response_partition_limit": 10, "cursor": None},
                    23,
                ),
            ),
            Send((_metadata(12, 31),)),
            Settle(),
            *_altered(_UNDO, 32),
        ),
        (Topic(_TOPIC),),
        _BOX,
    ),
    Case(
        "alter-listeners/removed",
        "connections of a removed listener are closed, others stay",
        (
            *_altered(_set(f"{_OWN},{_OUT},{_OTHER}")),
            *_asked(_HARMLESS),
            *_asked(_HARMLESS, listener="OTHER"),
            *_altered(_set(f"{_OWN},{_OTHER}"), 2),
            Settle("OUT"),
            *_asked(_HARMLESS, listener="OTHER"),
            *_altered(_UNDO, 3),
            Settle("OTHER"),
        ),
        box=_BOX,
    ),
    Case(
        "alter-listeners/appended",
        "a listener is appended to the dynamic listeners, and removed again",
        (
            *_altered(_set(f"{_OWN},{_OUT}")),
            *_altered([("listeners", APPEND, _OTHER)], 2),
            *_asked(_HARMLESS, listener="OTHER"),
            *_altered([("listeners", SUBTRACT, _OTHER)], 3),
            Settle("OTHER"),
            *_altered(_UNDO, 4),
        ),
        box=_BOX,
    ),
    Case(
        "alter-listeners/described",
        "DescribeConfigs returns the dynamic listeners before those of the start",
        (
            *_altered(_set(f"{_OWN},{_OUT}")),
            *_described(2),
            *_altered(_set(f"{_OWN},OUT://127.0.0.97:5"), 3),
            *_described(4),
            *_altered(_set(f"{_OWN},{_OUT}"), 5),
            *_altered(_UNDO, 6),
            *_described(7),
        ),
        box=_BOX,
    ),
    Case(
        "alter-listeners/another-address",
        "a known listener with another address stays where it is, with its connections",
        (
            *_altered(_set(f"{_OWN},{_OUT}")),
            *_asked(_HARMLESS),
            *_altered(_set(f"{_OWN},OUT://127.0.0.97:5"), 2),
            *_asked(_HARMLESS),
            Send((_HARMLESS,), "late", listener="OUT"),
            Settle("late"),
            *_altered(_set(f"{_OWN},{_OUT}"), 3),
            *_altered(_UNDO, 4),
        ),
        box=_BOX,
    ),
    Case(
        "alter-listeners/cannot-open",
        "a listener with a port that cannot be opened is not an error of the request; the others open",
        (
            *_altered(_set(f"{_OWN},OUT://192.0.2.1:5,{_OTHER}")),
            *_asked(_HARMLESS, listener="OTHER"),
            *_altered(_UNDO, 2),
        ),
        box=_BOX,
    ),
    Case(
        "alter-listeners/protocol",
        "the protocol of an added listener cannot be changed while the listener exists",
        (
            *_altered(_set(f"{_OWN},{_OUT}")),
            *_altered([(_MAP, SET, f"{_KNOWN},OUT:SSL")], 2),
            *_altered([(_MAP, SET, _KNOWN)], 3),
            *_altered(_UNDO, 4),
        ),
        box=_BOX,
    ),
    Case(
        "alter-listeners/settings-of-its-own",
        "a listener with its own settings, except key stores, must be removed before other listeners are added",
        (
            *_altered([*_set(f"{_OWN},{_OUT}"), ("listener.name.out.ssl.client.auth", SET, "required")]),
            *_altered(_set(f"{_OWN},{_OUT},{_OTHER}"), 2),
            *_altered([("listener.name.out.ssl.client.auth", DELETE, None)], 3),
            *_altered([("listener.name.out.max.connections", SET, "100")], 4),
            *_altered(_set(f"{_OWN},{_OUT},{_OTHER}"), 5),
            *_altered([*_UNDO, ("listener.name.out.max.connections", DELETE, None)], 6),
        ),
        box=_BOX,
    ),
]
