"""Kafka's error codes and their names.

`ErrorCode` is kio's enum: its members are spelled `request_timed_out`; Kafka's name is REQUEST_TIMED_OUT.
Source   clients/src/main/java/org/apache/kafka/common/protocol/Errors.java
"""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from fakebroker.spelling import closest

__all__ = ["ErrorCode", "error_from_name", "kafka_name"]

_NAMES: dict[int, str] = {int(code): code.name.upper() for code in ErrorCode}
_BY_NAME: dict[str, ErrorCode] = {code.name.upper(): code for code in ErrorCode}


def kafka_name(code: int) -> str:
    """Return Kafka's name of an error code; a number Kafka 4.2 does not know becomes "UNKNOWN(n)"."""
    return _NAMES.get(code) or f"UNKNOWN({int(code)})"


def error_from_name(name: str) -> ErrorCode:
    """Return the error of that name, in upper or lower case. Raises ValueError for a name Kafka does not have."""
    try:
        return _BY_NAME[name.upper()]
    except KeyError:
        near = closest(name, _BY_NAME)
        meant = f": {near[0]!r} may be meant" if near else ""
        raise ValueError(f"Kafka has no error called {name!r}{meant}") from None
