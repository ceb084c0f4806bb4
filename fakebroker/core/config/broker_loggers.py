"""The levels of a broker's loggers, which clients can describe and alter at run time (KIP-412).

Source   core/.../server/logger/RuntimeLoggerManager.scala; server/.../logger/LoggingController.java @ 4.4
Differs  There is one logger, `root`. Its level is kept and reported, and does not change the log of fakebroker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

from fakebroker.core.config.config_resource import Alteration, OpType, int_of
from fakebroker.core.errors import ConfigError, KafkaError
from fakebroker.protocol.error_code import ErrorCode

_ROOT: Final = "root"
_LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")


@final
class BrokerLoggers:
    """The loggers of one broker, from its start to its stop."""

    __slots__ = ("_levels",)

    def __init__(self) -> None:
        self._levels = {_ROOT: "INFO"}

    @property
    def levels(self) -> Mapping[str, str]:
        """The levels by logger."""
        return self._levels

    def alter(self, name: str, broker_id: int, changes: Sequence[Alteration], validate_only: bool) -> None:
        """Set the levels of some loggers of the broker with the id `name`. Raise KafkaError and change none if one is
        invalid."""
        node_id = int_of(name)
        if node_id is None:
            raise KafkaError(ErrorCode.invalid_request, f"Node id must be an integer, but it is: {name}")
        if node_id != broker_id:
            raise KafkaError(
                ErrorCode.invalid_request, f"Unexpected node id. Expected {broker_id}, but received {node_id}"
            )
        for change in changes:
            self._check(change)
        if not validate_only:
            for change in changes:
                self._levels[change.name] = (change.value or "").upper()

    def _check(self, change: Alteration) -> None:
        if change.operation in (OpType.SET, OpType.DELETE):
            if change.name not in self._levels:
                raise ConfigError(f"Logger {change.name} does not exist!")
            if change.operation == OpType.DELETE:
                raise KafkaError(ErrorCode.invalid_request, "Removing the log level of the root logger is not allowed")
            if (change.value or "").upper() not in _LEVELS:
                raise ConfigError(
                    f"Cannot set the log level of {change.name} to {change.value} as it is not a supported log level. "
                    f"Valid log levels are {', '.join(_LEVELS)}"
                )
        elif change.operation in (OpType.APPEND, OpType.SUBTRACT):
            raise KafkaError(
                ErrorCode.invalid_request,
                f"{OpType(change.operation).name} operation is not allowed for the BROKER_LOGGER resource",
            )
        else:
            raise KafkaError(
                ErrorCode.invalid_request,
                f"Unknown operation type {change.operation} is not allowed for the BROKER_LOGGER resource",
            )
