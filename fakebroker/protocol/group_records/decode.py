"""A decoder of the records of __consumer_offsets."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any, Final

from fakebroker.protocol.errors import InvalidRecordError
from fakebroker.protocol.group_records import consumer_group, group_metadata, offset_commit
from fakebroker.protocol.group_records.layout import StructLayout

_KIND: Final = Struct(">h")

# The layouts of key and value, by the kind of the record.
KINDS: Final[Mapping[int, tuple[StructLayout[Any], StructLayout[Any]]]] = {
    0: (offset_commit.KEY, offset_commit.VALUE),
    1: (offset_commit.KEY, offset_commit.VALUE),
    2: (group_metadata.KEY, group_metadata.VALUE),
    **consumer_group.LAYOUTS,
}


def decode_record(key: bytes | None, value: bytes | None) -> tuple[Any, Any] | None:
    """Return the key and the value; the value of a tombstone is None. Return None for an unknown kind of record. Raises
    InvalidRecordError where Kafka cannot load it."""
    if key is None or len(key) < _KIND.size:
        raise InvalidRecordError("Could not read version from key's buffer.")
    layouts = KINDS.get(_KIND.unpack_from(key)[0])
    if layouts is None:
        return None
    key_layout, value_layout = layouts
    return key_layout.decode_key(key), None if value is None else value_layout.decode_value(value)
