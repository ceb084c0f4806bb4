"""Tables on a terminal: text in columns, and nothing is cut.

A cell that is too wide is folded. If the terminal is too narrow for the words of each column, each row is a block.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from textwrap import fill, wrap

_GAP = "  "
_INDENT = "    "
_LONG_WORD = 20  # columns of text; a longer word may be folded in a column


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, whole: Collection[str] = ()) -> str:
    """Return the table, or a block for each row where it does not fit into `width` (columns of text). Columns in
    `whole` are not folded. They come first in a block, and only their lines may be wider."""
    lines = [headings, *rows]
    columns = list(zip(headings, zip(*lines, strict=True), strict=True))
    widths = [max(map(len, cells)) for _, cells in columns]
    least = [
        size if heading in whole else max(min(len(word), _LONG_WORD) for cell in cells for word in cell.split())
        for size, (heading, cells) in zip(widths, columns, strict=True)
    ]
    room = width - len(_GAP) * (len(headings) - 1)
    if sum(least) > room:
        return "".join(_block(headings, row, width, whole) for row in rows)
    while sum(widths) > room:
        index = max((at for at, size in enumerate(widths) if size > least[at]), key=lambda at: (widths[at], -at))
        widths[index] -= 1
    return "".join(_line(cells, widths) for cells in lines)


def _block(headings: Sequence[str], row: Sequence[str], width: int, whole: Collection[str]) -> str:
    cells = list(zip(headings, row, strict=True))
    title = _GAP.join(cell for heading, cell in cells if heading in whole)
    said = "; ".join(f"{heading}: {cell}" for heading, cell in cells if heading not in whole and cell)
    rest = fill(said, width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False)
    return f"{title}\n{rest}\n" if rest else f"{title}\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    folded = [wrap(cell, size, break_on_hyphens=False) for cell, size in zip(cells, widths, strict=True)]
    parts = zip_longest(*folded, fillvalue="")
    return "".join(
        _GAP.join(part.ljust(size) for part, size in zip(line, widths, strict=True)).rstrip() + "\n" for line in parts
    )
