"""Parts of a response in its bytes, and damage to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fakebroker.cluster.faults.tree import Path, Tree, at, replaced
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response

_ERRORS: Final = ("error_code", "partition_error_code")


def position_of_part(tree: Tree, response: Any, correlation_id: int, part: int) -> int:
    """Return where in the frame the error code of the n-th part is; the frame's end if there are fewer parts."""
    paths = [path for path in tree.leaves(response) if path]
    frame = encode_response(response, correlation_id)
    if part > len(paths):
        return len(frame)
    other = encode_response(_with_other_error(response, paths[part - 1]), correlation_id)
    for position, (one, another) in enumerate(zip(frame, other, strict=False)):
        if one != another:
            return position
    return len(frame)


def _with_other_error(node: Any, path: Path) -> Any:
    if path:
        (field, index), *rest = path
        items = list(getattr(node, field))
        items[index] = _with_other_error(items[index], tuple(rest))
        return replaced(node, **{field: tuple(items)})
    for name in _ERRORS:
        if hasattr(node, name):
            code = getattr(node, name)
            # -1 differs from every other code in both of its bytes.
            other = ErrorCode.unknown_server_error if code is not ErrorCode.unknown_server_error else ErrorCode.none
            return replaced(node, **{name: other})
    return node


def corrupted(tree: Tree, response: Any, paths: Sequence[Path]) -> Any:
    """Return a Fetch response with a bit flipped at the end of the records of these parts."""
    for top in paths:
        for leaf in tree.leaves(at(response, top), top):
            records = getattr(at(response, leaf), "records", None)
            if records:
                flipped = bytes(records[:-1]) + bytes([records[-1] ^ 1])
                response = _with_records(response, leaf, flipped)
    return response


def _with_records(node: Any, path: Path, records: bytes) -> Any:
    if not path:
        return replaced(node, records=records)
    (field, index), *rest = path
    items = list(getattr(node, field))
    items[index] = _with_records(items[index], tuple(rest), records)
    return replaced(node, **{field: tuple(items)})
