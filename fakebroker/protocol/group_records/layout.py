"""Layouts of a coordinator's records: fields in their order, each with its versions.

Theory   A key begins with the number of its kind, a value with its version, both int16. From `flexible_since` on they
         are flexible, nested structs included. Strings, bytes and arrays may be None.
Source   generator/.../MessageDataGenerator.java; clients/.../common/protocol/MessageUtil.java
         toCoordinatorTypePrefixedBytes, toVersionPrefixedBytes @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct, error
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from fakebroker.protocol.codec import tables
from fakebroker.protocol.codec.decoder import Decoder
from fakebroker.protocol.codec.encoder import Encoder
from fakebroker.protocol.errors import InvalidRecordError, ProtocolError

T = TypeVar("T")

_INT16: Final = Struct(">h")
_LATEST: Final = 32_767


class FieldType(NamedTuple):
    """The type of a field. `struct` is the layout of a struct; `element` is the type of an array's elements."""

    kind: int
    struct: StructLayout[Any] | None = None
    element: FieldType | None = None
    nullable: bool = True


INT8: Final = FieldType(tables.INT8)
INT16: Final = FieldType(tables.INT16)
INT32: Final = FieldType(tables.INT32)
INT64: Final = FieldType(tables.INT64)
STRING: Final = FieldType(tables.STRING)
BYTES: Final = FieldType(tables.BYTES)
UUID_: Final = FieldType(tables.UUID_, nullable=False)  # an id of zeros is no None


def array(element: FieldType) -> FieldType:
    return FieldType(tables.ARRAY, None, element)


def nullable(struct: FieldType) -> FieldType:
    return struct._replace(nullable=True)


@dataclass(frozen=True, slots=True)
class StructField:
    """A field, with the name of the attribute. Outside of `since` to `until` it is not written, and `default` is read.
    A tagged field is not written either if it has that value."""

    name: str
    type: FieldType
    since: int = 0
    until: int = _LATEST
    default: Any = None
    tag: int = tables.UNTAGGED


class StructLayout(Generic[T]):
    """The layout of a struct. `make` is called with a value for each field, in order."""

    __slots__ = ("_fields", "_flexible_since", "_highest_version", "_make", "_tables")

    def __init__(
        self,
        make: Callable[..., T],
        fields: Sequence[StructField],
        highest_version: int = _LATEST,
        flexible_since: int = _LATEST,
    ) -> None:
        self._make = make
        self._fields = fields
        self._highest_version = highest_version
        self._flexible_since = flexible_since
        self._tables: dict[tuple[int, bool], tables.Struct] = {}

    @property
    def type(self) -> FieldType:
        """Return the layout as the type of a field of another struct, which says whether it is flexible."""
        return FieldType(tables.STRUCT, self, nullable=False)

    def encode(self, value: T, prefix: int, version: int = 0) -> bytes:
        """Encode a value behind two bytes: the kind of a key, or the version of a value."""
        encoder = Encoder(_INT16.pack(prefix))
        encoder.struct(self._table(version, version >= self._flexible_since), value)
        return encoder.body()

    def encode_value(self, value: T, version: int) -> bytes:
        return self.encode(value, version, version)

    def decode_key(self, data: bytes) -> T:
        """Decode a key behind its kind. Raises InvalidRecordError."""
        return self._decode(data, 0)

    def decode_value(self, data: bytes) -> T:
        """Decode a value behind its version. Raises InvalidRecordError."""
        if len(data) < _INT16.size:
            raise InvalidRecordError("Could not read version from value's buffer.")
        version = _INT16.unpack_from(data)[0]
        if not 0 <= version <= self._highest_version:
            raise InvalidRecordError(f"Version {version} of {self._name} is unknown.")
        return self._decode(data, version)

    @property
    def _name(self) -> str:
        return getattr(self._make, "__name__", "a record")

    def _decode(self, data: bytes, version: int) -> T:
        table = self._table(version, version >= self._flexible_since)
        try:
            return cast(T, Decoder(data, _INT16.size, repairs=False).struct(table))
        except (IndexError, error, ProtocolError, UnicodeDecodeError) as problem:
            raise InvalidRecordError(f"{self._name} of version {version} is malformed: {problem}") from None

    def _table(self, version: int, flexible: bool) -> tables.Struct:
        table = self._tables.get((version, flexible))
        if table is None:
            table = self._tables[version, flexible] = self._table_of(version, flexible)
        return table

    def _table_of(self, version: int, flexible: bool) -> tables.Struct:
        untagged: list[tables.Field] = []
        tagged: list[tables.Field] = []
        for place, field in enumerate(self._fields):
            if field.since <= version <= field.until:
                made = _field(field.name, field.type, version, flexible, field.tag)
                made.default = field.default
                made.set = _setter(place)
                (untagged if field.tag == tables.UNTAGGED else tagged).append(made)
        tagged.sort(key=lambda field: field.tag)
        defaults = [field.default for field in self._fields]
        make = self._make
        table = tables.Struct(list, flexible, untagged, tagged)
        table.new = lambda kind: defaults.copy()
        table.finish = lambda values: make(*values)
        return table


def _field(name: str, kind: FieldType, version: int, flexible: bool, tag: int = tables.UNTAGGED) -> tables.Field:
    struct = None if kind.struct is None else kind.struct._table(version, flexible)
    element = None if kind.element is None else _field("", kind.element, version, flexible)
    return tables.Field(name, kind.kind, flexible, kind.nullable, tag, struct, element)


def _setter(place: int) -> Callable[[Any, Any], None]:
    def set_value(values: Any, value: Any) -> None:
        values[place] = value

    return set_value
