"""What a simulated client asks and sees, in the words that the clients, the oracle and the checks share.

Units    milliseconds since the start; offsets count records. Error codes are Kafka's numbers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Error(IntEnum):
    """The answers that the rules know, by Kafka's numbers."""

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
    """The broker did what no rule allows, or did not what one demands."""


class Batch(NamedTuple):
    """What a producer sends: `size` records; `ident` tells it from all others, `producer` is
    (id, epoch, first sequence). One that `commits`, or not, is the mark of a transaction."""

    ident: bytes
    size: int = 1
    producer: tuple[int, int, int] | None = None
    fault: str = ""
    is_transactional: bool = False
    commits: bool | None = None


class Produce(NamedTuple):
    number: int
    acks: int
    timeout_ms: int
    parts: tuple[tuple[Key, Batch], ...]


class Marks(NamedTuple):
    """Of a coordinator of transactions: a mark for each partition, which all in sync must have."""

    number: int
    acks: int
    timeout_ms: int
    parts: tuple[tuple[Key, Batch], ...]


class Fetch(NamedTuple):
    """Of a consumer, from the leader, of at least one byte; of what is committed, or of all."""

    number: int
    key: Key
    offset: int
    max_wait_ms: int
    is_committed: bool = False


class Garbage(NamedTuple):
    """What closes the connection when its turn comes; if it is no frame, nobody takes it in hand before."""

    number: int
    is_frame: bool = True


Request = Produce | Marks | Fetch | Garbage


class Outcome(NamedTuple):
    """What a client sees. `result` is (key, error, base offset) by partition of a Produce, with -1 as offset of Marks,
    (error, watermark, idents) of a Fetch, with the last stable offset behind the watermark if it is of what is
    committed; and None if the connection is closed."""

    connection: int
    at_ms: int
    number: int
    result: tuple[object, ...] | None
