"""The pictures of a report, as SVG for a page.

Theory   Lines and letters take the page's own text colour (`currentColor`), so a picture is readable on light and dark
         pages. The input is counts and quantiles, not rows: a picture of a million requests is as big as one of a
         thousand.
Units    as the axes say.
"""

from __future__ import annotations

import io
import logging
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

INK = "#010203"  # replaced by the page's text colour in the SVG
PALETTE = ("#2563eb", "#d97706", "#0d9488", "#9333ea", "#db2777", "#65a30d", "#0891b2", "#b45309")
ANSWER_COLOURS = {
    "REQUEST_TIMED_OUT": "#d97706",
    "NONE": "#0d9488",
    "silent": "#94a3b8",
    "read": "#2563eb",
    "read again": "#9333ea",
    "done": "#65a30d",
}
UNEXPECTED_COLOURS = ("#dc2626", "#7c3aed", "#be185d", "#1d4ed8", "#111827")

STYLE: Any = {  # a dict; matplotlib's types for its keys change from release to release
    "svg.fonttype": "none",  # text stays text: small, selectable, in the page's font
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.12,
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.6,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}

DASHES = ("-", (0, (4, 2)), (0, (1, 1.5)))  # one for each pass through the palette
NINES_OF_HALF = math.log10(2)
SHORTEST_US = 10  # a log scale has no zero
MAX_TICKS = 9  # of a log scale; enough for three decades

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # otherwise it logs its font cache


def answer_colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each answer. Answers that the bundled scenarios do not expect get loud colours."""
    others = [name for name in names if name not in ANSWER_COLOURS]
    loud = {name: UNEXPECTED_COLOURS[number % len(UNEXPECTED_COLOURS)] for number, name in enumerate(others)}
    return {name: ANSWER_COLOURS.get(name) or loud[name] for name in names}


def line_styles(labels: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return the colour and the number of the dashes of each label, as percentiles() draws it."""
    return [
        (label, PALETTE[number % len(PALETTE)], number // len(PALETTE) % len(DASHES))
        for number, label in enumerate(labels)
    ]


def lateness_histogram(counts: Mapping[str, Mapping[int, int]], bins_per_decade: int) -> str:
    """Draw a histogram of lateness: by group, bin number (log10 of microseconds, times bins_per_decade) -> count."""
    figure, axes = new_figure(5.4, 3.3)
    bottom: dict[int, int] = {}
    for number, (group, bins) in enumerate(counts.items()):
        lefts = [10 ** (bin_ / bins_per_decade) / 1000 for bin_ in bins]
        widths = [left * (10 ** (1 / bins_per_decade) - 1) for left in lefts]
        axes.bar(
            lefts,
            list(bins.values()),
            widths,
            [bottom.get(bin_, 0) for bin_ in bins],
            align="edge",
            color=PALETTE[number % len(PALETTE)],
            label=group,
            linewidth=0,
        )
        for bin_, count in bins.items():
            bottom[bin_] = bottom.get(bin_, 0) + count
    edges = [10 ** (bin_ / bins_per_decade) / 1000 for bin_ in (min(bottom, default=0), max(bottom, default=0) + 1)]
    log_scale(axes, "x", *edges)
    axes.set_xlabel("lateness, ms")
    axes.set_ylabel("answers")
    axes.grid(visible=False, axis="x")
    return to_svg(figure)


def percentiles(curves: Mapping[str, Sequence[tuple[float, float]]], what: str) -> str:
    """Draw points of (how many nines, microseconds) by label. The scale gives each further nine the same room. A curve
    ends at its greatest value: the more values, the further to the right."""
    figure, axes = new_figure(5.4, 3.3)
    for (_, colour, dashes), points in zip(line_styles(list(curves)), curves.values(), strict=True):
        values = [max(value, SHORTEST_US) / 1000 for _, value in points]
        axes.plot([x for x, _ in points], values, color=colour, linestyle=DASHES[dashes], linewidth=1.6)
        axes.plot(points[-1][0], values[-1], "o", color=colour, markersize=3.5)
    all_us = [max(value, SHORTEST_US) for points in curves.values() for _, value in points] or [SHORTEST_US]
    log_scale(axes, "y", min(all_us) / 1000, max(all_us) / 1000)
    end = max((points[-1][0] for points in curves.values()), default=0.0)
    marked = [NINES_OF_HALF, *range(1, max(2, int(end) + 1))]
    axes.set_xticks(marked)
    axes.set_xticklabels([f"{100 * (1 - 10**-nines):.12g}" for nines in marked])
    axes.set_xlim(0, max(end, 1) * 1.03)
    axes.set_xlabel("percentile")
    axes.set_ylabel(f"{what}, ms")
    return to_svg(figure)


def waits(points: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """Draw each response as a dot: (timeout of the request, time since it was handled), both in ms, by answer."""
    figure, axes = new_figure(11, 3.6)
    colours = answer_colours(list(points))
    top = max((timeout for dots in points.values() for timeout, _ in dots), default=1)
    axes.plot([0, top], [0, top], color=INK, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for name, dots in points.items():
        axes.scatter(
            [x for x, _ in dots],
            [y for _, y in dots],
            s=5,
            color=colours[name],
            alpha=0.6,
            linewidths=0,
            rasterized=True,  # thousands of dots are smaller as an image
            zorder=2,
        )
    axes.set_xlim(0, top * 1.01)
    axes.set_ylim(bottom=0)
    plain_numbers(axes, "x")
    plain_numbers(axes, "y")
    axes.set_xlabel("timeout in the request, ms")
    axes.set_ylabel("answered after, ms")
    return to_svg(figure)


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    with rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.subplots()


def new_strip(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a wide picture, with sizes in inches. If several are stacked, equal times are aligned."""
    left, right, bottom, top = 0.85, 0.15, 0.48, 0.12
    with rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        room = width - left - right, height - bottom - top
        return figure, figure.add_axes((left / width, bottom / height, room[0] / width, room[1] / height))


def plain_numbers(axes: Axes, which: str) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(lambda value, _: f"{value:,.12g}")
    axis.set_minor_formatter(lambda value, _: "")


def log_scale(axes: Axes, which: str, low: float, high: float) -> None:
    """Set a logarithmic scale that begins and ends at labelled ticks, however near the two are. Ticks are at 1, 2 or 5
    times a power of ten."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [float(f"{digit}e{exponent}") for exponent in exponents for digit in (1, 2, 5)]
    first = max(at for at, step in enumerate(steps) if step <= low or at == 0)
    last = min(at for at, step in enumerate(steps) if (step >= high and at > first) or at == len(steps) - 1)
    ticks = steps[first : last + 1]
    if len(ticks) > MAX_TICKS:
        ticks = [tick for tick in ticks if f"{tick:e}".startswith("1")]
    axis, set_scale, set_limits = (
        (axes.xaxis, axes.set_xscale, axes.set_xlim) if which == "x" else (axes.yaxis, axes.set_yscale, axes.set_ylim)
    )
    set_scale("log")
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    set_limits(steps[first], steps[last])
    plain_numbers(axes, which)


def to_svg(figure: Figure) -> str:
    text = io.StringIO()
    with rc_context(STYLE):
        figure.savefig(text, format="svg", dpi=160, transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    # The picture takes the width of its place and the fonts of the page.
    svg = re.sub(r'^(<svg [^>]*?)width="[^"]*"', r'\1width="100%"', svg)
    svg = re.sub(r'^(<svg [^>]*?)height="[^"]*"', r"\1", svg)
    return re.sub(r"font: ?([\d.]+px) [^;\"]*", r"font-size: \1", svg)
