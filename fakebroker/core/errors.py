"""The core's own exceptions. Errors for clients are `ErrorCode` values or `KafkaError`."""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

__all__ = ["ConfigError", "KafkaError", "RecordValidationError"]


class ConfigError(KafkaError):
    """A setting that Kafka would refuse; the text names it and the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.invalid_config, message)


class RecordValidationError(KafkaError):
    """Records of a batch that were refused one by one: (index in the batch, reason). `failed` is their number, if not
    all of them are listed. This is the only error of an append with a text for the client."""

    def __init__(self, code: ErrorCode, record_errors: Sequence[tuple[int, str]], failed: int = -1) -> None:
        if code is ErrorCode.invalid_timestamp:
            message = "One or more records have been rejected due to invalid timestamp"
        else:
            first_three = ", ".join(f"RecordError(batchIndex={i}, message='{text}')" for i, text in record_errors[:3])
            total = max(failed, len(record_errors))
            message = (
                f"One or more records have been rejected due to {total} record errors in total, and only showing the "
                f"first three errors at most: [{first_three}]"
            )
        super().__init__(code, message)
        self.record_errors = tuple(record_errors)
