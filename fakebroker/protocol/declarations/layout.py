"""The elements of declarations of Kafka messages: strings, arrays and structs of one version.

Theory   A flexible version differs from an older one in two ways. A length or count is an unsigned varint of the number
         plus one, and 0 is null (older: the number itself, -1 is null). Every struct ends with a tagged section.
         `Layout` knows the version and hides the difference.

         A tagged section is a list of (tag, value). A builder leaves out fields with their default value.
Source   clients/src/main/resources/common/message/README.md; KIP-482
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from construct import (
    Array,
    Bytes,
    Construct,
    ExprAdapter,
    FocusedSeq,
    GreedyBytes,
    If,
    Int16sb,
    Int32sb,
    Prefixed,
    PrefixedArray,
    Rebuild,
    Struct,
    Switch,
    VarInt,
    this,
)

__all__ = ["COMPACT_LENGTH", "UUID_BYTES", "Layout", "Tag", "sized_array", "sized_bytes", "sized_string"]

COMPACT_LENGTH = ExprAdapter(VarInt, lambda number, context: number - 1, lambda number, context: number + 1)

UUID_BYTES = ExprAdapter(
    Bytes(16), lambda raw, context: UUID(bytes=bytes(raw)), lambda identifier, context: identifier.bytes
)


def sized_bytes(length: Construct) -> Construct:
    """Return the type of bytes behind their length; -1 is null."""
    return FocusedSeq(
        "data",
        "size" / Rebuild(length, lambda context: -1 if context.data is None else len(context.data)),
        "data" / If(this.size >= 0, Bytes(this.size)),
    )


def sized_string(length: Construct) -> Construct:
    """Return the type of UTF-8 behind the number of its bytes; -1 is null."""
    return ExprAdapter(
        sized_bytes(length),
        lambda raw, context: None if raw is None else bytes(raw).decode(),
        lambda text, context: None if text is None else text.encode(),
    )


def sized_array(length: Construct, element: Construct) -> Construct:
    """Return the type of elements behind their number; -1 is null."""
    return FocusedSeq(
        "items",
        "count" / Rebuild(length, lambda context: -1 if context["items"] is None else len(context["items"])),
        "items" / If(this.count >= 0, Array(this.count, element)),
    )


class Tag(NamedTuple):
    """A tagged field of a struct."""

    number: int
    value: Construct


class Layout:
    """The types of one version of a message."""

    def __init__(self, version: int, first_flexible: int) -> None:
        self.version = version
        self.is_flexible = version >= first_flexible
        self.string = sized_string(COMPACT_LENGTH if self.is_flexible else Int16sb)
        self.bytes = sized_bytes(COMPACT_LENGTH if self.is_flexible else Int32sb)

    def since(self, version: int, field: Construct | Tag) -> Construct | Tag | None:
        """Return the field if this version has it already."""
        return field if self.version >= version else None

    def until(self, version: int, field: Construct | Tag) -> Construct | Tag | None:
        """Return the field if this version still has it."""
        return field if self.version <= version else None

    def array(self, element: Construct) -> Construct:
        """Return the type of an array; None is null."""
        return sized_array(COMPACT_LENGTH if self.is_flexible else Int32sb, element)

    def struct(self, *rows: Construct | Tag | None) -> Struct:
        """Return the struct of the fields in order, without those this version lacks, and with the tagged section of a
        flexible version."""
        fields = [row for row in rows if row is not None and not isinstance(row, Tag)]
        if self.is_flexible:
            fields.append(tagged_section(*(row for row in rows if isinstance(row, Tag))))
        return Struct(*fields)


def tagged_section(*tags: Tag) -> Construct:
    """Return the field `tagged_fields`: a list of (tag, value), where the value of a tag unknown here is bytes."""
    known = {tag.number: tag.value for tag in tags}
    field = Struct("tag" / VarInt, "value" / Prefixed(VarInt, Switch(this.tag, known, default=GreedyBytes)))
    return "tagged_fields" / PrefixedArray(VarInt, field)
