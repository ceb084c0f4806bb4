"""A timeline as a picture: producers above, brokers below, time from left to right; SVG, light or dark as the viewer
prefers.

Theory   Labels are in the left column and outcomes in the right one, one row below the other, so labels cannot overlap.
         A group with many rows has thin rows that share lines, and sums instead of labels. There are no arrows if they
         would be too many. The same steps give the same bytes.
Units    milliseconds since the first step; pixels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from fakebroker.testing.producing.drawing import Drawing
from fakebroker.testing.producing.shapes import RowGroup, TimelineRow
from fakebroker.testing.producing.timeline import TimelineStep

_WIDTH, _LEFT, _RIGHT, _MARGIN = 1_125, 205, 370, 16
_ROW, _THIN_ROW, _HEAD, _GAP = 22, 5, 24, 10
_SUMS = 78  # height of its sums: four lines
_MOST_ROWS = 16  # of a group with labels
_MOST_ARROWS = 120
_CHARACTER = 6.4  # average width of a character, an upper bound
_TICKS = 8
_BARS = {"queued": "q", "flying": "f", "blocked": "b", "unread": "u", "handled": "h", "parked": "p", "throttled": "s"}
_LEGEND = (
    ("q", "waits in the producer"),
    ("f", "in flight"),
    ("b", "send() blocks"),
    ("u", "not read yet"),
    ("p", "parked"),
    ("s", "throttled"),
)
_MARK_LEGEND = (
    ("done", "done"),
    ("failed", "error"),
    ("expired", "expired"),
    ("again", "tried again"),
    ("lost", "lost"),
)
_STYLE = """\
text{font:12px Helvetica,Arial,sans-serif;fill:#24292f}.t{font-size:15px;font-weight:bold}.g{font-weight:bold}
.m{fill:#656d76}.good{fill:#1a7f37}.bad{fill:#cf222e}.open{fill:#656d76}.e{text-anchor:end}.c{text-anchor:middle}
.bg{fill:#fff}.band{fill:#f6f8fa}.grid{stroke:#d8dee4}.down{fill:#ffebe9}
.q{fill:#b6d7ff}.f{fill:#0969da}.b{fill:#e2c5ff}.u{fill:#d0d7de}.h{fill:#bf8700}.p{fill:#eac54f}.s{fill:#f0883e}
.a{stroke-width:1.2;opacity:.55}.agood{stroke:#1a7f37}.abad{stroke:#cf222e}.aopen{stroke:#656d76}
.done{fill:#1a7f37}.failed,.lost{stroke:#cf222e;stroke-width:2.2;fill:none}.expired{fill:#cf222e}
.again{fill:#bf8700}.event{fill:#8250df}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.m,.open{fill:#9198a1}.good{fill:#3fb950}.bad{fill:#ff7b72}
.bg{fill:#0d1117}.band{fill:#161b22}.grid{stroke:#30363d}.down{fill:#3c1618}
.q{fill:#1f4b80}.f{fill:#4493f8}.b{fill:#6e40aa}.u{fill:#484f58}.h{fill:#d29922}.p{fill:#9e6a03}.s{fill:#bd561d}
.agood{stroke:#3fb950}.abad{stroke:#ff7b72}.aopen{stroke:#9198a1}
.done{fill:#3fb950}.failed,.lost{stroke:#ff7b72}.expired{fill:#ff7b72}.again{fill:#d29922}.event{fill:#ab7df8}}
"""


def picture(steps: Sequence[TimelineStep], title: str = "", now_ms: int | None = None) -> str:
    """Return the steps of a `Timelines` as SVG, up to the last step, or up to now if a request is still parked."""
    return _Picture(Drawing(steps, now_ms), title).text()


class _Picture:
    def __init__(self, drawing: Drawing, title: str) -> None:
        self._drawing = drawing
        self._title = title
        self._end_ms = max(1, drawing.end_ms)
        self._back: list[str] = []
        self._front: list[str] = []
        self._middles: dict[TimelineRow, float] = {}
        self._kinds: set[str] = set()  # for the legend

    def text(self) -> str:
        at = _MARGIN
        if self._title:
            self._write(_MARGIN, at + 14, "t", self._title)
            at += 30
        top = at
        for group in self._drawing.groups:
            at = self._draw_group(group, at) + _GAP
        arrows = self._drawing.arrows
        for arrow in arrows if len(arrows) <= _MOST_ARROWS else ():
            self._draw_arrow(self._middles[arrow.start], self._middles[arrow.end], arrow.start_ms, arrow.tone)
        self._draw_axis(top, at)
        height = at + 56
        self._draw_legend(at + 42)
        name = escape(self._title or "A time line", quote=True)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{name}">\n'
            f"<style>\n{_STYLE}</style>\n"
            f'<rect class="bg" width="{_WIDTH}" height="{height}"/>\n'
            + "".join(f"{line}\n" for line in self._back + self._front)
            + "</svg>\n"
        )

    def _x(self, at_ms: int) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * at_ms / self._end_ms, 1)

    def _write(self, x: float, y: float, classes: str, text: str, room: float = _WIDTH) -> None:
        most = int(room / _CHARACTER)
        if len(text) > most:
            text = text[: most - 1] + "…"
        self._front.append(f'<text class="{classes}" x="{x:g}" y="{y:g}">{escape(text)}</text>')

    def _draw_group(self, group: RowGroup, top: int) -> int:
        is_thin = len(group.rows) > _MOST_ROWS
        row_height = _THIN_ROW if is_thin else _ROW
        places = _packed(group.rows) if is_thin else list(range(len(group.rows)))
        height = _HEAD + row_height * (max(places, default=-1) + 1) + 4
        if is_thin:
            height = max(height, _SUMS)
        self._back.append(_rect("band", _MARGIN / 2, top, _WIDTH - _MARGIN, height, 4))
        for start_ms, end_ms in group.down:
            x = self._x(start_ms)
            self._back.append(_rect("down", x, top, max(1.0, self._x(end_ms) - x), height))
        self._write(_MARGIN, top + 16, "g", group.name, _LEFT - _MARGIN)
        if is_thin:
            self._write_sums(group, top + 16, height)
        for place, row in zip(places, group.rows, strict=True):
            middle = top + _HEAD + row_height * place + row_height / 2
            self._middles[row] = middle
            self._draw_row(row, middle, row_height)
            if not is_thin:
                self._write(_MARGIN, middle + 4, "", row.label, _LEFT - _MARGIN - 8)
                self._write(_WIDTH - _RIGHT + 12, middle + 4, row.tone, row.outcome, _RIGHT - 24)
        return top + height

    def _write_sums(self, group: RowGroup, y: float, height: int) -> None:
        """Write the number of rows by kind and by outcome, instead of their labels."""
        kinds = Counter(row.label.split()[0].rstrip(":") for row in group.rows)
        tones = Counter((row.tone, row.outcome.split(" at ")[0].split(", offset")[0]) for row in group.rows)
        most = max(1, (height - 8) // 17)
        lines = [("m", f"{count:,} × {kind}") for kind, count in kinds.most_common(most - 1)]
        for index, (_, text) in enumerate(lines, 1):
            self._write(_MARGIN, y + 17 * index, "m", text, _LEFT - _MARGIN - 8)
        for index, ((tone, outcome), count) in enumerate(tones.most_common(most)):
            self._write(_WIDTH - _RIGHT + 12, y + 17 * index, tone, f"{count:,} × {outcome}", _RIGHT - 24)

    def _draw_row(self, row: TimelineRow, middle: float, row_height: int) -> None:
        height = row_height - (8 if row_height == _ROW else 1)
        for bar in row.bars:
            x = self._x(bar.start_ms)
            width = max(1.0, round(self._x(bar.end_ms) - x, 1))
            self._kinds.add(_BARS[bar.kind])
            self._front.append(_rect(_BARS[bar.kind], x, middle - height / 2, width, height))
        size = 5.0 if row_height == _ROW else 1.6
        for mark in row.marks:
            self._kinds.add(mark.kind)
            self._front.append(_mark(mark.kind, self._x(mark.at_ms), middle, size))

    def _draw_arrow(self, start: float, end: float, at_ms: int, tone: str) -> None:
        x = self._x(at_ms)
        tip = -4 if end > start else 4
        self._front.append(
            f'<path class="a a{tone}" fill="none" d="M{x:g} {start:g}V{end:g}m-3 {tip}l3 {-tip}l3 {tip}"/>'
        )

    def _draw_axis(self, top: int, bottom: int) -> None:
        step_ms = _step(self._end_ms)
        for at_ms in range(0, self._end_ms + 1, step_ms):
            x = self._x(at_ms)
            self._back.append(f'<path class="grid" d="M{x:g} {top}V{bottom}"/>')
            self._write(x, bottom + 14, "m c", f"{at_ms:,}")
        self._write(_WIDTH - _RIGHT + 30, bottom + 14, "m", "ms")

    def _draw_legend(self, y: int) -> None:
        x = float(_MARGIN)
        for kind, text in _LEGEND:
            if kind in self._kinds:
                self._front.append(_rect(kind, x, y - 10, 16, 12))
                x = self._say_in_legend(x + 22, y, text)
        for kind, text in _MARK_LEGEND:
            if kind in self._kinds:
                self._front.append(_mark(kind, x + 6, y - 4, 5.0))
                x = self._say_in_legend(x + 16, y, text)

    def _say_in_legend(self, x: float, y: int, text: str) -> float:
        self._write(x, y, "m", text)
        return round(x + len(text) * _CHARACTER + 14, 1)


def _packed(rows: Sequence[TimelineRow]) -> list[int]:
    """Return the line of each row; rows that do not overlap in time share one, the first free one."""
    free_ms: list[int] = []
    places = []
    for row in rows:
        times = [bar.start_ms for bar in row.bars] + [mark.at_ms for mark in row.marks]
        ends = [bar.end_ms for bar in row.bars] + [mark.at_ms for mark in row.marks]
        start_ms, end_ms = min(times, default=0), max(ends, default=0)
        place = next((place for place, until_ms in enumerate(free_ms) if until_ms < start_ms), len(free_ms))
        if place == len(free_ms):
            free_ms.append(0)
        free_ms[place] = end_ms
        places.append(place)
    return places


def _rect(kind: str, x: float, y: float, width: float, height: float, radius: int = 0) -> str:
    round_corners = f' rx="{radius}"' if radius else ""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect class="{kind}" {place}{round_corners}/>'


def _mark(kind: str, x: float, y: float, size: float) -> str:
    if kind in ("failed", "lost"):
        d = f"M{x - size:g} {y - size:g}l{2 * size:g} {2 * size:g}m0 {-2 * size:g}l{-2 * size:g} {2 * size:g}"
        return f'<path class="{kind}" d="{d}"/>'
    if kind in ("expired", "event"):
        size += 1
        d = f"M{x:g} {y - size:g}l{size:g} {size:g}l{-size:g} {size:g}l{-size:g} {-size:g}z"
        return f'<path class="{kind}" d="{d}"/>'
    return f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{size:g}"/>'


def _step(end_ms: int) -> int:
    """Return the milliseconds between two ticks: 1, 2 or 5, times a power of ten."""
    step_ms = 1
    while True:
        for factor in (1, 2, 5):
            if end_ms <= factor * step_ms * _TICKS:
                return factor * step_ms
        step_ms *= 10
