"""A reader of large message bodies in slices.

Theory   As in one go, all is checked first, then kio reads (check.py). Small parts are still checked and read as a
         whole. If a step finds more elements than a slice has, it raises TooMany, and the walk goes into its part: the
         fields of a struct one by one, the elements of an array in runs.
         The check makes a plan. A planned array is a list of runs with their offsets and numbers of elements; an
         element too long for a run has a plan of its own. The elements of a planned array are cut out of the bytes that
         kio reads for the enclosing struct. They are put into its field afterwards. So only repaired bytes are copied,
         one run at a time.
         The check counts the elements of the whole request, and no object is made before all are counted.
Units    offsets and sizes are bytes, from the start of the frame. A slice is a run.
Differs  If two values in a message are wrong, the error may be about the other one than in one go.
"""

from __future__ import annotations

from struct import error
from typing import Any, TypeVar, final

from kio.serial.errors import InvalidUnicode
from kio.static.protocol import Payload

from fakebroker.protocol.body.check import (
    ENDS_WITHIN,
    TextEdits,
    array_head,
    edited,
    is_there,
    message_part,
)
from fakebroker.protocol.body.fields import Edits, Part, TooMany
from fakebroker.protocol.body.shape import Array, NullableStruct, Section, Struct
from fakebroker.protocol.body.tagged import end_section, section_head, tagged_field_head, tagged_fields
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.slices import Slices
from fakebroker.protocol.varint import decode_kept_bits

__all__ = ["RUN", "read_in_slices"]

P = TypeVar("P", bound=Payload)

RUN = 128  # elements, nested ones included; a single element of more than twice as many is planned
_RUN_BYTES = 65_536
_LARGE_BYTES = 524_288  # larger parts are planned, however few elements they have


class _Run:
    """Elements in a row: their offsets, their number, and whether they need repairs."""

    __slots__ = ("count", "end", "is_edited", "start")

    def __init__(self, start: int, end: int, count: int, is_edited: bool) -> None:
        self.start = start
        self.end = end
        self.count = count
        self.is_edited = is_edited


class _StructPlan:
    """The plan of a large struct. `fields`: the parts that were cut out, by field."""

    __slots__ = ("edits", "end", "fields", "start", "struct")

    def __init__(self, struct: Struct, start: int, edits: Edits) -> None:
        self.struct = struct
        self.start = start
        self.end = start
        self.edits = edits
        self.fields: _Fields = {}


class _ArrayPlan:
    __slots__ = ("array", "runs")

    def __init__(self, array: Array) -> None:
        self.array = array
        self.runs: list[_Run | _StructPlan] = []


_Fields = dict[str, "_ArrayPlan | _Fields"]


def read_in_slices(kind: type[P], frame: bytes, offset: int, max_elements: int) -> Slices[P]:
    """Read the message at the offset. Raises what `body_check` and kio raise, and ProtocolError for more than
    `max_elements`."""
    try:
        return (yield from _read(kind, frame, offset, max_elements, Edits))
    except InvalidUnicode:
        return (yield from _read(kind, frame, offset, max_elements, TextEdits))


def _read(kind: type[P], frame: bytes, offset: int, max_elements: int, edits_type: type[Edits]) -> Slices[P]:
    checking = _Checking(frame, max_elements, edits_type)
    try:
        plan = yield from checking.message(message_part(kind), offset)
    except (IndexError, error):
        raise ProtocolError(ENDS_WITHIN) from None
    message: P = yield from _Reading(frame, edits_type).struct(plan)
    return message


@final
class _Checking:
    """The check of one message."""

    def __init__(self, frame: bytes, max_elements: int, edits_type: type[Edits]) -> None:
        self._frame = frame
        self._elements = 0
        self._max_elements = max_elements
        self._edits_type = edits_type

    def message(self, part: Part, offset: int) -> Slices[_StructPlan]:
        assert isinstance(part.inside, Struct)
        edits = self._edits()
        try:
            end = part.step(self._frame, offset, edits)
        except TooMany:
            return (yield from self._struct_plan(part.inside, offset))
        if end - offset > _LARGE_BYTES:
            return (yield from self._struct_plan(part.inside, offset))
        self._take(edits.elements)
        plan = _StructPlan(part.inside, offset, edits)
        plan.end = end
        return plan

    def _edits(self) -> Edits:
        edits = self._edits_type()
        edits.limit = 2 * RUN
        return edits

    def _take(self, elements: int) -> None:
        self._elements += elements
        if self._elements > self._max_elements:
            raise ProtocolError(
                f"it has {self._elements} elements or more (of arrays, and tagged fields),"
                f" and one request may have {self._max_elements}"
            )

    def _struct_plan(self, struct: Struct, offset: int) -> Slices[_StructPlan]:
        plan = _StructPlan(struct, offset, self._edits())
        plan.end = yield from self._struct(struct, offset, plan.edits, plan.fields)
        return plan

    def _struct(self, struct: Struct, offset: int, edits: Edits, fields: _Fields) -> Slices[int]:
        for name, part in struct.parts:
            offset = yield from self._part(name, part, offset, edits, fields)
        return offset

    def _part(self, name: str, part: Part, offset: int, edits: Edits, fields: _Fields) -> Slices[int]:
        """Walk over a field of a planned struct."""
        if edits.elements >= RUN:
            edits.elements = 0
            yield
        before, put_right = edits.elements, len(edits)
        inside = part.inside
        try:
            end = part.step(self._frame, offset, edits)
            if end - offset <= _LARGE_BYTES or not isinstance(inside, Array):
                self._take(edits.elements - before)
                return end
        except TooMany:
            pass
        del edits[put_right:]
        edits.elements = before
        if isinstance(inside, Array):
            return (yield from self._array(name, inside, offset, edits, fields))
        if isinstance(inside, Section):
            return (yield from self._section(inside, offset, edits, fields))
        nested = fields[name] = _Fields()
        if isinstance(inside, NullableStruct):
            assert is_there(self._frame, offset, edits)
            inside = inside.struct.inside
            offset += 1
        assert isinstance(inside, Struct)
        return (yield from self._struct(inside, offset, edits, nested))

    def _array(self, name: str, array: Array, start: int, edits: Edits, fields: _Fields) -> Slices[int]:
        put_right = len(edits)
        count, offset = array_head(array, self._frame, start, edits)
        del edits[put_right:]
        self._take(count)
        plan = fields[name] = _ArrayPlan(array)
        if array.element.is_fixed:
            end = offset + count * array.element.smallest
            plan.runs.append(_Run(offset, end, count, is_edited=False))
            offset = end
        else:
            offset = yield from self._runs(plan, count, offset)
        edits.append((start, offset, array.empty))
        return offset

    def _runs(self, plan: _ArrayPlan, count: int, offset: int) -> Slices[int]:
        """Walk over the elements of an array."""
        frame, step = self._frame, plan.array.element.step
        left = count
        while left:
            start, walked = offset, 0
            edits = self._edits()
            is_too_long = False
            while walked < left and walked + edits.elements < RUN and offset - start < _RUN_BYTES:
                elements, put_right = edits.elements, len(edits)
                try:
                    end = step(frame, offset, edits)
                    is_too_long = end - offset > _LARGE_BYTES and isinstance(plan.array.element.inside, Struct)
                except TooMany:
                    is_too_long = True
                if is_too_long:
                    del edits[put_right:]
                    edits.elements = elements
                    break
                offset = end
                walked += 1
            self._take(edits.elements)
            if walked:
                plan.runs.append(_Run(start, offset, walked, bool(edits)))
                left -= walked
            yield
            if is_too_long:
                struct = plan.array.element.inside
                assert isinstance(struct, Struct)
                element = yield from self._struct_plan(struct, offset)
                plan.runs.append(element)
                offset = element.end
                left -= 1
        return offset

    def _section(self, section: Section, start: int, edits: Edits, fields: _Fields) -> Slices[int]:
        """Walk over a tagged section."""
        frame, known = self._frame, section.known
        count, offset = section_head(frame, start)
        count_end = offset
        self._take(count)
        left, unknown = count, 0
        while left:
            most = min(left, RUN)
            elements, put_right, last = edits.elements, len(edits), edits[-1:]
            try:
                offset, found = tagged_fields(known, frame, offset, edits, most)
            except TooMany:
                del edits[max(put_right - 1, 0) :]  # the last one of adjacent cuts may have grown
                edits += last
                edits.elements = elements
                break
            self._take(edits.elements - elements)
            edits.elements = 0
            left -= most
            unknown += found
            yield
        for _ in range(left):
            tag = decode_kept_bits(frame, offset)[0]
            if tag in known:
                _, offset, _ = tagged_field_head(known, frame, offset, edits)
                name, part = known[tag]
                fields.pop(name, None)  # a repeated field: the last one counts
                offset = yield from self._part(name, part, offset, edits, fields)
            else:
                offset, found = tagged_fields(known, frame, offset, edits, 1)
                unknown += found
            edits.elements += 1
            if edits.elements >= RUN:
                edits.elements = 0
                yield
        end_section(frame, start, count_end, edits, count, unknown)
        return offset


@final
class _Reading:
    """The reading of a plan by kio."""

    def __init__(self, frame: bytes, edits_type: type[Edits]) -> None:
        self._frame = frame
        self._edits_type = edits_type

    def struct(self, plan: _StructPlan) -> Slices[Any]:
        frame, offset = self._frame, plan.start
        if plan.edits:
            frame, offset = edited(frame, offset, plan.end, plan.edits), 0
        message = plan.struct.read(frame, offset)[0]
        yield from self._fill(message, plan.fields)
        return message

    def _fill(self, struct: Any, fields: _Fields) -> Slices[None]:
        """Put the parts that were cut out into their fields."""
        for name, cut in fields.items():
            if isinstance(cut, _ArrayPlan):
                # The dataclass is frozen, but no other code has it yet.
                object.__setattr__(struct, name, (yield from self._array(cut)))
            else:
                yield from self._fill(getattr(struct, name), cut)

    def _array(self, plan: _ArrayPlan) -> Slices[tuple[Any, ...]]:
        elements: list[Any] = []
        read = plan.array.read
        for run in plan.runs:
            if isinstance(run, _StructPlan):
                elements.append((yield from self.struct(run)))
                yield
                continue
            frame, offset = self._frame, run.start
            if run.is_edited:
                frame, offset = self._put_right(plan.array, run), 0
            for number in range(1, run.count + 1):
                element, size = read(frame, offset)
                offset += size
                elements.append(element)
                if number % RUN == 0:
                    yield
            yield
        return tuple(elements)

    def _put_right(self, array: Array, run: _Run) -> bytes:
        edits = self._edits_type()
        offset = run.start
        for _ in range(run.count):
            offset = array.element.step(self._frame, offset, edits)
        return edited(self._frame, run.start, run.end, edits)
