"""What a coordinator writes into its log, and what its state is made of: one record for each change.

Theory   A record has a key, which says what it is about, and a value; without a value it is a tombstone. Both are of a
         class for each kind of record (protocol/group_records/). The layout's number
         stands in the first two bytes: of a key it is the kind of the record, of a value its version.
Source   coordinator-common/.../common/runtime/CoordinatorRecord.java @ 4.0.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class RecordKey(Protocol):
    """What a record is about. Hashable: a compacted log has the last record of each key."""

    def encode(self) -> bytes:
        """With the number of its kind before it."""
        ...


class RecordValue(Protocol):
    """What is known of it from now on."""

    def encode(self) -> bytes:
        """With the number of its version before it."""
        ...


class CoordinatorRecord(NamedTuple):
    """A change. None as value: it is gone.

    least_bytes  a lower bound of the encoded value's size, of values that may be too large to be worth encoding
    """

    key: RecordKey
    value: RecordValue | None
    least_bytes: int = 0
