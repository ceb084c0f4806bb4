"""Rates of new connections (KIP-612): an address over its rate is refused, connections over the broker's are
delayed."""

from __future__ import annotations

from conformance.config_frames import BROKER, DELETE, SET, incremental
from conformance.frames import metadata, request
from conformance.scenario import Case, Pause, Send, Settle, Step

_ALTER_CLIENT_QUOTAS = 49
_RATE = "max.connection.creation.rate"
_APPLIED_MS = 300
_AT_ONCE = 10  # of one a second, in ten windows


def _of_address(address: str, rate: float | None, number: int) -> tuple[Step, ...]:
    op = {"key": "connection_creation_rate", "value": rate or 0.0, "remove": rate is None}
    entry = {"entity": [{"entity_type": "ip", "entity_name": address}], "ops": [op]}
    frame = request(_ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False}, number)
    return Send((frame,)), Settle(), Pause(_APPLIED_MS)


def _of_broker(rate: str | None, number: int) -> tuple[Step, ...]:
    operation = (_RATE, DELETE if rate is None else SET, rate)
    return Send((incremental((BROKER, "", [operation]), correlation_id=number),)), Settle(), Pause(_APPLIED_MS)


def _asks(conn: str, number: int) -> tuple[Step, ...]:
    return Send((metadata([], 9, number),), conn=conn), Settle(conn)


CASES: list[Case] = [
    Case(
        "connection-rate/address",
        "connections above an address's rate are not read, and closed (ConnectionQuotas); later ones are accepted",
        (
            *_of_address("127.0.0.1", 1.0, 1),
            *(step for number in range(_AT_ONCE) for step in _asks(f"early-{number}", 10 + number)),
            Send((metadata([], 9, 30),), conn="late"),
            Settle("late"),
            *_of_address("127.0.0.1", None, 2),
            *_asks("again", 31),
        ),
        (),
        "quotas",
    ),
    Case(
        "connection-rate/broker",
        "connections above the broker's rate are delayed, by one window at most, and then served",
        (
            *_of_broker("1", 1),
            *(step for number in range(_AT_ONCE + 3) for step in _asks(f"conn-{number}", 10 + number)),
            *_of_broker(None, 2),
            *_asks("after", 40),
        ),
        (),
        "quotas",
    ),
]
