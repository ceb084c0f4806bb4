"""Tables on a terminal: text in columns. A cell that is too wide is folded, and nothing is cut."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from textwrap import wrap

_GAP = "  "
_LEAST = 8  # columns of text; a cell is not folded to fewer


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, whole: Collection[str] = ()) -> str:
    """Return the table, a line each with its newline. Columns in `whole` are not folded, so that lines may be wider
    than `width` (columns of text)."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = width - len(_GAP) * (len(headings) - 1)
    while sum(widths) > room:
        foldable = [size for heading, size in zip(headings, widths, strict=True) if heading not in whole]
        widest = max(foldable, default=0)
        if widest <= _LEAST:
            break
        index = next(i for i, size in enumerate(widths) if size == widest and headings[i] not in whole)
        widths[index] -= 1
    return "".join(_line(cells, widths) for cells in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    folded = [wrap(cell, size, break_on_hyphens=False) for cell, size in zip(cells, widths, strict=True)]
    parts = zip_longest(*folded, fillvalue="")
    return "".join(
        _GAP.join(part.ljust(size) for part, size in zip(line, widths, strict=True)).rstrip() + "\n" for line in parts
    )
