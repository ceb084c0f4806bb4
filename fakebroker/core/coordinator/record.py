"""The records of a coordinator, each of which is one change of its state.

Theory   A record has a key, which names its subject, and a value; without a value it is a tombstone. Each kind of
         record has classes for both (protocol/group_records/). The first two bytes are a number: the kind of the record
         in a key, the version in a value.
Source   coordinator-common/.../common/runtime/CoordinatorRecord.java @ 4.0.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class RecordKey(Protocol):
    """The key of a record. It is hashable: a compacted log keeps the last record of each key."""

    def encode(self) -> bytes:
        """Encode the key, with the number of its kind in front."""
        ...


class RecordValue(Protocol):
    """The value of a record."""

    def encode(self) -> bytes:
        """Encode the value, with the number of its version in front."""
        ...


class CoordinatorRecord(NamedTuple):
    """A change of the state. A `value` of None is a tombstone.

    least_bytes  a lower bound of the encoded value's size, for values that may be too large to encode
    """

    key: RecordKey
    value: RecordValue | None
    least_bytes: int = 0
