"""The requests and outcomes of simulated clients, as shared by the clients, the oracle and the checks.

Units    milliseconds since the start; offsets count records. Error codes are Kafka's numbers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class RuleErrorCode(IntEnum):
    """The error codes that the rules use, with Kafka's numbers."""

    NONE = 0
    OUT_OF_RANGE = 1
    UNKNOWN_TOPIC = 3
    NOT_LEADER = 6
    TIMED_OUT = 7
    NOT_ENOUGH = 19
    NOT_ENOUGH_AFTER = 20
    INVALID_ACKS = 21
    OUT_OF_ORDER = 45
    INVALID_EPOCH = 47


Key = tuple[str, int]  # topic and partition


class Violation(AssertionError):
    """The broker broke a rule."""


class ClientBatch(NamedTuple):
    """A batch of `size` records. `ident` is unique; `producer` is (id, epoch, first sequence). If `commits` is not
    None, it is a transaction marker (COMMIT or ABORT)."""

    ident: bytes
    size: int = 1
    producer: tuple[int, int, int] | None = None
    fault: str = ""
    is_transactional: bool = False
    commits: bool | None = None


class ClientProduce(NamedTuple):
    number: int
    acks: int
    timeout_ms: int
    parts: tuple[tuple[Key, ClientBatch], ...]


class MarkersRequest(NamedTuple):
    """A WriteTxnMarkers request of a transaction coordinator: a marker for each partition, which all in-sync replicas
    must have."""

    number: int
    acks: int
    timeout_ms: int
    parts: tuple[tuple[Key, ClientBatch], ...]


class ClientFetch(NamedTuple):
    """A Fetch of a consumer from the leader, for at least one byte. `is_committed`: with isolation level
    read_committed."""

    number: int
    key: Key
    offset: int
    max_wait_ms: int
    is_committed: bool = False


class Garbage(NamedTuple):
    """Invalid bytes, which close the connection when their turn comes, or at once if they are not even a frame."""

    number: int
    is_frame: bool = True


Request = ClientProduce | MarkersRequest | ClientFetch | Garbage


class ClientOutcome(NamedTuple):
    """An outcome as a client sees it. `result` is None if the connection was closed. For a Produce it has (key, error,
    base offset) by partition, for markers the same with offset -1. For a Fetch it is (error, high watermark, idents),
    with the last stable offset after the watermark if it reads committed data."""

    connection: int
    at_ms: int
    number: int
    result: tuple[object, ...] | None
