"""Pictures of a run over time, as SVG (plots.py).

Units    `end_ms` is the right end of a picture, the same for all of a run. `actions` are times in ms, drawn as lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from fakebroker_load.plots import PALETTE, answer_colours, new_strip, to_svg

WIDTH = 11
RATE_COLOURS = {"asked for": "#94a3b8", "sent": "#2563eb", "answered": "#0d9488"}
PARKED_COLOUR = "#d97706"

Steps = Mapping[int, int]  # a step of time -> how many


def answers_over_time(counts: Mapping[str, Steps], step_ms: int, end_ms: float, actions: Sequence[float] = ()) -> str:
    """Draw the number of answers in each step, by answer."""
    figure, axes = new_strip(WIDTH, 2.7)
    colours = answer_colours(list(counts))
    bottom: dict[int, int] = {}
    for name, steps in counts.items():
        axes.bar(
            [step * step_ms / 1000 for step in steps],
            list(steps.values()),
            step_ms / 1000,
            [bottom.get(step, 0) for step in steps],
            align="edge",
            color=colours[name],
            linewidth=0,
        )
        for step, count in steps.items():
            bottom[step] = bottom.get(step, 0) + count
    _finish(axes, f"requests in {step_ms:,} ms", end_ms, actions)
    axes.grid(visible=False, axis="x")
    return to_svg(figure)


def rates_over_time(counts: Mapping[str, Steps], step_ms: int, end_ms: float, actions: Sequence[float] = ()) -> str:
    """Draw requests per second, by name as in RATE_COLOURS. Those asked for are a surface behind the lines of the
    others."""
    figure, axes = new_strip(WIDTH, 2.4)
    end = max((max(steps, default=0) for steps in counts.values()), default=0) + 1
    edges = [step * step_ms / 1000 for step in range(end + 1)]
    for name, steps in counts.items():
        rates = [steps.get(step, 0) * 1000 / step_ms for step in range(end)]
        is_ground = name == "asked for"
        axes.stairs(
            rates, edges, color=RATE_COLOURS[name], fill=is_ground, alpha=0.45 if is_ground else 1, linewidth=1.4
        )
    _finish(axes, "requests a second", end_ms, actions)
    return to_svg(figure)


def level_over_time(levels: Steps, step_ms: int, what: str, end_ms: float, actions: Sequence[float] = ()) -> str:
    """Draw the level at the end of each step. A missing step has the level of the step before."""
    figure, axes = new_strip(WIDTH, 2.1)
    values = _filled(levels, max(levels, default=0) + 1)
    edges = [step * step_ms / 1000 for step in range(len(values) + 1)]
    axes.stairs(values, edges, color=PARKED_COLOUR, fill=True, alpha=0.75)
    _finish(axes, what, end_ms, actions)
    return to_svg(figure)


def offsets_over_time(
    lines: Mapping[str, tuple[Steps, Steps]], step_ms: int, end_ms: float, actions: Sequence[float] = ()
) -> str:
    """Draw, by name, the records appended (a line), and how many of them are below the high watermark (dashes). The
    records in between are not on all in-sync replicas."""
    figure, axes = new_strip(WIDTH, 2.7)
    end = max((max(appended, default=0) for appended, _ in lines.values()), default=0) + 1
    times = [(step + 1) * step_ms / 1000 for step in range(end)]
    for number, (appended, behind) in enumerate(lines.values()):
        colour = PALETTE[number % len(PALETTE)]
        ends, gaps = _filled(appended, end), _filled(behind, end)
        marks = [offset - gap for offset, gap in zip(ends, gaps, strict=True)]
        axes.fill_between([0, *times], [0, *marks], [0, *ends], color=colour, alpha=0.18, linewidth=0)
        axes.plot([0, *times], [0, *ends], color=colour, linewidth=1.4)
        axes.plot([0, *times], [0, *marks], color=colour, linewidth=1.4, linestyle=(0, (3, 2)))
    _finish(axes, "records", end_ms, actions)
    return to_svg(figure)


def _filled(steps: Steps, end: int) -> list[int]:
    values, last = [], 0
    for step in range(end):
        last = steps.get(step, last)
        values.append(last)
    return values


def _finish(axes: Axes, what: str, end_ms: float, actions: Sequence[float]) -> None:
    for at_ms in actions:
        axes.axvline(at_ms / 1000, color="#be185d", linewidth=0.9, linestyle=(0, (2, 2)))
    axes.set_xlim(0, end_ms / 1000)
    axes.set_ylim(0, max(1, axes.get_ylim()[1]))  # with only zeros the axis has 0 and 1
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("seconds after the start")
    axes.set_ylabel(what)
