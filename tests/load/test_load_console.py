from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from fakebroker_load.console import print_verdict, progress_bar
from fakebroker_load.judging.group_verdict import GroupVerdict
from fakebroker_load.judging.unjudged import UnjudgedRules
from fakebroker_load.judging.ways import Ways
from fakebroker_load.verdict import Verdict

GOOD = GroupVerdict(
    run="frozen",
    group="acks=all [1]",
    expected="REQUEST_TIMED_OUT",
    requests=5_000,
    rows=5_000,
    confirmed=5_000,
    early=0,
    answers={"REQUEST_TIMED_OUT": 5_000},
    problems={},
    lateness_p50_us=1_149,
    lateness_p99_us=5_600,
    lateness_max_us=44_287,
    send_delay_us=(0, 3_210, 7_654),
)
BAD = GroupVerdict(
    run="frozen",
    group="acks=0",
    expected="no answer",
    requests=10,
    rows=9,
    confirmed=6,
    early=0,
    answers={"silent": 6, "NONE": 3},
    problems={"answered, against acks=0": 3},
    lateness_p50_us=None,
    lateness_p99_us=None,
    lateness_max_us=None,
)


def printed(
    width: int, *groups: GroupVerdict, ways: tuple[Ways, ...] = (), unjudged: tuple[UnjudgedRules, ...] = ()
) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_verdict(console, Verdict(groups, 500, ways=ways, unjudged=unjudged))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 140])
def test_the_table_has_the_figures_of_each_group(width: int) -> None:
    text = printed(width, GOOD)
    for figure in ("acks=all [1]", "REQUEST_TIMED_OUT", "5,000", "1.1", "5.6", "44.3"):
        assert figure in text
    assert "Confirmed: 5,000 of 5,000 requests got what they should, 0 answered early" in text
    assert max(map(len, text.splitlines())) <= width


def test_a_wide_table_has_the_answers_by_error_code() -> None:
    assert "REQUEST_TIMED_OUT 5,000" in printed(140, GOOD)
    assert "silent 6, NONE 3" in printed(140, BAD)


def test_a_wide_table_has_the_send_delay_and_a_load_that_was_late_is_told() -> None:
    assert "3.2  7.7" in printed(140, GOOD)
    late = replace(GOOD, send_delay_us=(0, 2_500_000, 7_654_000))
    text = " ".join(printed(140, late).split())
    assert "frozen: acks=all [1]: sent late: 1 in 100 by 2,500.0 ms or more, limit 2,000 ms" in text
    assert "Not measured: 5,000 of 5,000" in text


@pytest.mark.parametrize("width", [100, 140])
def test_what_is_wrong_stands_below(width: int) -> None:
    text = " ".join(printed(width, GOOD, BAD).split())
    assert "frozen: acks=0: answered, against acks=0: 3; 9 results for 10 requests (answered silent 6, NONE 3)" in text
    assert "Not confirmed: 5,006 of 5,010 requests got what they should" in text


def test_what_was_not_judged_is_told_and_the_headline_says_how_far_it_goes() -> None:
    unjudged = UnjudgedRules("frozen", "there is no journal", ("a", "b", "c", "d"))
    text = printed(140, GOOD, ways=(Ways("frozen", True),), unjudged=(unjudged,))
    assert 'frozen: not judged, since there is no journal: "a", "b", "c" and 1 more.' in text
    assert "Confirmed, as far as the answers and the log tell: 5,000 of 5,000 requests" in text
    assert "as far as" not in printed(140, BAD, ways=(Ways("frozen", True),))


def test_the_bar_ends_where_the_run_ends() -> None:
    console = Console(file=io.StringIO(), width=120)
    with progress_bar(console, "a [run]", 20) as on_progress:
        on_progress(20, 17)
    assert isinstance(console.file, io.StringIO)
    assert "a [run]" in console.file.getvalue()
    assert "17/20 requests" in console.file.getvalue()
