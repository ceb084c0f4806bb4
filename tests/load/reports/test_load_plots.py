"""Charts: SVG in the colours of the page, with a size that does not depend on the number of rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from xml.etree import ElementTree

import pytest

from fakebroker_load import plots
from fakebroker_load.reports.plots_over_time import (
    answers_over_time,
    level_over_time,
    offsets_over_time,
    rates_over_time,
)


@pytest.mark.parametrize(
    "picture",
    [
        partial(plots.lateness_histogram, {"a": {-12: 3, 5: 9}, "b": {5: 1}}, 12),
        partial(plots.percentiles, {"a": [(0.0, 3.0), (1.0, 900.0)], "b": [(0.0, -4.0)]}, "latency"),
        partial(plots.waits, {"REQUEST_TIMED_OUT": [(50, 50.3), (90, 91.0)]}),
        partial(answers_over_time, {"NONE": {0: 3}, "CORRUPT_MESSAGE": {0: 1, 7: 2}}, 50, 400),
        partial(rates_over_time, {"asked for": {0: 3}, "sent": {1: 3}, "answered": {}}, 50, 400, [120.0]),
        partial(level_over_time, {0: 3, 4: 0}, 50, "parked", 400),
        partial(offsets_over_time, {"t-0": ({0: 5, 3: 9}, {0: 5, 2: 0})}, 50, 400),
    ],
    ids=["histogram", "percentiles", "waits", "answers", "rates", "level", "offsets"],
)
def test_pictures_are_svg_in_the_colours_of_the_page(picture: Callable[[], str]) -> None:
    svg = picture()
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert root.get("width") == "100%"
    assert root.get("viewBox")
    assert "currentColor" in svg
    assert plots.INK not in svg


def test_unexpected_answers_have_colours_of_their_own() -> None:
    colours = plots.answer_colours(["NONE", "REQUEST_TIMED_OUT", "CORRUPT_MESSAGE", "closed"])
    assert len(set(colours.values())) == 4


def test_more_curves_than_colours_differ_in_their_dashes() -> None:
    styles = plots.line_styles([str(number) for number in range(20)])
    assert len({(colour, dashes) for _, colour, dashes in styles}) == 20


NUMBER = re.compile(r"-?[\d,.]+")
# Values that are nearly the same, that are few, and that span many powers of ten.
WITH_AXES: dict[str, Callable[[], str]] = {
    **{
        f"percentiles of {low} to {high} us": partial(plots.percentiles, {"a": [(0.0, low), (1.0, high)]}, "latency")
        for low, high in ((1_130, 1_180), (100, 100), (900, 1_100), (3, 30_000_000), (0, 0), (500, 5_000))
    },
    "no curve": lambda: plots.percentiles({}, "latency"),
    "a curve of four nines": lambda: plots.percentiles({"a": [(0.0, 3_000), (4.2, 3_300)]}, "latency"),
    "a histogram of one bin": lambda: plots.lateness_histogram({"a": {40: 3}}, 12),
    "a histogram of many": lambda: plots.lateness_histogram({"a": {12: 3, 90: 1}}, 12),
    "short waits": lambda: plots.waits({"REQUEST_TIMED_OUT": [(1, 1.1)]}),
    "waits of one timeout": lambda: plots.waits({"REQUEST_TIMED_OUT": [(30_000, 30_000.2)]}),
    "one answer": lambda: answers_over_time({"NONE": {0: 1}}, 50, 50),
    "no answer": lambda: answers_over_time({}, 50, 400),
    "few": lambda: rates_over_time({"asked for": {0: 1}, "sent": {}, "answered": {}}, 1_000, 1_000),
    "nothing parked": lambda: level_over_time({0: 0}, 50, "parked", 400),
    "one record": lambda: offsets_over_time({"t-0": ({0: 1}, {0: 1})}, 50, 60_000),
}


@pytest.mark.parametrize("name", WITH_AXES)
def test_both_axes_have_numbers_whatever_the_values_are(name: str) -> None:
    for axis in ElementTree.fromstring(WITH_AXES[name]()).iter("{http://www.w3.org/2000/svg}g"):
        if axis.get("id", "").startswith("matplotlib.axis_"):
            texts = ["".join(text.itertext()) for text in axis.iter("{http://www.w3.org/2000/svg}text")]
            numbers = [text for text in texts if NUMBER.fullmatch(text.replace("\N{MINUS SIGN}", "-"))]
            assert 2 <= len(set(numbers)) == len(numbers) <= 13, (axis.get("id"), texts)
