"""The core's own exception. Errors that a client can meet are `ErrorCode` values or `KafkaError`."""

from __future__ import annotations

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

__all__ = ["ConfigError", "KafkaError"]


class ConfigError(KafkaError):
    """A setting that Kafka would refuse; the text says which and why."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.invalid_config, message)
