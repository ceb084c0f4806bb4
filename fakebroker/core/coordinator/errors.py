"""Errors of a coordinator that cannot handle a request.

Source   clients/.../common/protocol/Errors.java @ 4.2.
"""

from __future__ import annotations

from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def not_coordinator() -> KafkaError:
    return KafkaError(ErrorCode.not_coordinator, "This is not the correct coordinator.")


def coordinator_load_in_progress() -> KafkaError:
    return KafkaError(
        ErrorCode.coordinator_load_in_progress, "The coordinator is loading and hence can't process requests."
    )


def coordinator_not_available() -> KafkaError:
    return KafkaError(ErrorCode.coordinator_not_available, "The coordinator is not available.")


def unknown_server_error() -> KafkaError:
    return KafkaError(
        ErrorCode.unknown_server_error,
        "The server experienced an unexpected error when processing the request.",
    )
