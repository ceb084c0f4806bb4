"""The time line of one request as a small picture: the client above, the broker below, time from left to right.

Theory   Places are shares of the width, and letters keep their size, so it is readable on narrow and wide pages. The
         list of steps beside it explains each mark, since labels at the marks would overlap.
Shape    SVG text for the page's own style (templates/report.html), with classes for its colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from fakebroker_load.reports.examples import BROKER, CLIENT, ExampleStep

NAME, BAR, GAP, AXIS = 15, 11, 8, 20  # pixels from the top
LANE = NAME + BAR + GAP
TICKS = 4
LEFT, WIDTH = 1.5, 97.0  # percent; the rest is margin
# A bar of the named class begins at a step of this kind. It ends at the next step in this table, or at the end of the
# line. "" means no bar.
BARS = {
    CLIENT: {"intended": "delay", "sent": "flight", "answered": ""},
    BROKER: {"received": "delay", "handled": "handled", "parked": "parked", "answer": ""},
}
POINTS = ("append", "answer", "answered")
LINES = ("watermark", "deadline")
FAR = 20  # a watermark that is this many times as late as the rest is not drawn, as the rest would be one point

Place = Callable[[float], float]


def draw(steps: Sequence[ExampleStep]) -> str:
    """Draw the steps of an example. The numbers are milliseconds since the request was intended."""
    end_us = max(step.at_us for step in steps if step.kind != "watermark")
    steps = [step for step in steps if step.kind != "watermark" or step.at_us <= end_us * FAR]
    first_us = min(step.at_us for step in steps)
    span_us = max(1, max(step.at_us for step in steps) - first_us)

    def place(at_us: float) -> float:
        return LEFT + WIDTH * (at_us - first_us) / span_us

    lanes = [lane for lane in BARS if any(step.where == lane for step in steps)]
    bottom = LANE * len(lanes)
    said = escape("; ".join(f"{step.at_us / 1000:,.1f} ms: {step.where} {step.text}" for step in steps), quote=True)
    parts = [f'<svg class="line" width="100%" height="{bottom + AXIS}" role="img" aria-label="{said}">']
    for tick in range(TICKS + 1):
        at_us = first_us + span_us * tick / TICKS
        x = f"{place(at_us):.2f}%"
        anchor = "start" if tick == 0 else "end" if tick == TICKS else "middle"
        unit = " ms" if tick == TICKS else ""
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{bottom}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 14}" text-anchor="{anchor}">{_ms(at_us, span_us)}{unit}</text>')
    for number, lane in enumerate(lanes):
        of_lane = [step for step in steps if step.where == lane]
        parts += _lane(of_lane, BARS[lane], LANE * number, place, first_us + span_us)
    return "".join([*parts, "</svg>"])


def _lane(steps: Sequence[ExampleStep], bars: dict[str, str], top: int, place: Place, end_us: float) -> Iterator[str]:
    yield f'<text class="name" x="{LEFT}%" y="{top + NAME - 4}">{steps[0].where}</text>'
    limits = [step for step in steps if step.kind in bars]
    for step, following in zip(limits, [*limits[1:], None], strict=True):
        if kind := bars[step.kind]:
            start, end = place(step.at_us), place(following.at_us if following else end_us)
            shape = f'x="{start:.2f}%" y="{top + NAME}" width="{max(end - start, 0.2):.2f}%" height="{BAR}"'
            yield f'<rect class="{kind}" {shape}/>'
    for step in steps:
        x = f"{place(step.at_us):.2f}%"
        if step.kind in LINES:
            yield f'<line class="{step.kind}" x1="{x}" x2="{x}" y1="{top + NAME - 4}" y2="{top + NAME + BAR + 4}"/>'
        elif step.kind in POINTS:
            yield f'<circle class="{step.kind}" cx="{x}" cy="{top + NAME + BAR / 2}" r="4"/>'


def _ms(at_us: float, span_us: float) -> str:
    """Return milliseconds with enough digits to tell neighbours apart."""
    digits = 0 if span_us >= 20_000 else 1 if span_us >= 2_000 else 2
    return f"{at_us / 1000:,.{digits}f}"
