"""Headlines of a verdict: a late response is no wrong response, and the lateness of the load's machine counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fakebroker_load.judging.findings import NOT_MEASURED, RIGHT, STATUS, WRONG
from fakebroker_load.judging.group_verdict import GroupVerdict
from fakebroker_load.judging.limits import LimitResult
from fakebroker_load.traffic.machine_lateness import MachineLateness
from fakebroker_load.verdict import Verdict

GROUP = GroupVerdict("r", "g", "NONE", 10, 10, 10, 0, {"NONE": 10}, {}, 100, 200, 300)
IS_LATE = replace(GROUP, confirmed=7, problems={"late": 3}, lateness_max_us=6_993_618)
OTHERWISE = replace(
    GROUP,
    group="other",
    expected="REQUEST_TIMED_OUT",
    confirmed=1,
    answers={"REQUEST_TIMED_OUT": 1, "NONE": 9},
    problems={"wrong answer": 9},
    wrong_answers={"NONE where REQUEST_TIMED_OUT was expected": 9},
)
# A request of several partitions, of which some were to be acknowledged.
WIDE = replace(
    OTHERWISE,
    answers={"REQUEST_TIMED_OUT": 8, "NONE": 2},
    problems={"wrong answer": 3},
    wrong_answers={"REQUEST_TIMED_OUT where NONE was expected": 3},
)
NOT_EVERY = "Not every request got what it should"
BY_LOAD = replace(IS_LATE, problems={"late by the load": 2, "late, undecided": 1}, load_late_us=7_000_000)
BROKEN = LimitResult("from intended p99", "ms", 5, 9.0)

# What is different, and the kind and the headline that come of it.
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "all right": ({"groups": (GROUP,)}, RIGHT, "Every request got what it should"),
    "late without a known cause": ({}, WRONG, "Every answer was right; 3 came late"),
    "late, and the machine was": (
        {"machine_late_ms": {"r": 6_500}},
        NOT_MEASURED,
        "Every answer was right; 3 came late, as this machine was: not measured",
    ),
    "late, and the machine less so": ({"machine_late_ms": {"r": 6_492}}, WRONG, "Every answer was right; 3 came late"),
    "late in one run, and the machine in another": (
        {"machine_late_ms": {"other": 9_000}},
        WRONG,
        "Every answer was right; 3 came late",
    ),
    "late by the load, or undecided": (
        {"groups": (BY_LOAD,)},
        NOT_MEASURED,
        "Every answer was right; 3 came late, as the load was or may have been: not measured",
    ),
    "late by the load": (
        {"groups": (replace(BY_LOAD, problems={"late by the load": 3}),)},
        NOT_MEASURED,
        "Every answer was right; 3 came late, as the load was: not measured",
    ),
    "some late by the load, others by the broker": (
        {"groups": (replace(BY_LOAD, problems={"late": 1, "late by the load": 2}),)},
        WRONG,
        "Every answer was right; 3 came late",
    ),
    "late while the machine had work wait as long": (
        {"groups": (replace(IS_LATE, late_explained=3),)},
        NOT_MEASURED,
        "Every answer was right; 3 came late, as this machine was: not measured",
    ),
    "one of them later than that": (
        {"groups": (replace(IS_LATE, late_explained=2),)},
        WRONG,
        "Every answer was right; 3 came late",
    ),
    "late by the load, and a wrong answer": (
        {"groups": (replace(BY_LOAD, problems={"wrong answer": 1, "late by the load": 2}),)},
        WRONG,
        f"{NOT_EVERY}: late by the load (2), wrong answer (1)",
    ),
    "timed out while the machine had work wait": (
        {"groups": (replace(GROUP, confirmed=8, problems={"wrong answer": 2}, unreplicated=2),)},
        NOT_MEASURED,
        "No answer was wrong; 2 timed out while this machine had work wait: not measured",
    ),
    "one of them while it had not": (
        {"groups": (replace(GROUP, confirmed=8, problems={"wrong answer": 2}, unreplicated=1),)},
        WRONG,
        f"{NOT_EVERY}: wrong answer (2)",
    ),
    "late, and overtaken by an action": (
        {"groups": (replace(IS_LATE, late_explained=3, overtaken_late=3),)},
        NOT_MEASURED,
        "Every answer was right; 3 came late; 3 were sent so late that an action of the scenario came before them: "
        "not measured",
    ),
    "late, one of them overtaken, and the others by the machine": (
        {"groups": (replace(IS_LATE, late_explained=3, overtaken_late=1),)},
        NOT_MEASURED,
        "Every answer was right; 3 came late, as this machine was; 1 were sent so late that an action of the scenario "
        "came before them: not measured",
    ),
    "wrong, and overtaken by an action": (
        {"groups": (replace(GROUP, confirmed=8, problems={"wrong answer": 2}, unreplicated=1, overtaken_wrong=1),)},
        NOT_MEASURED,
        "No answer was wrong; 1 timed out while this machine had work wait; 1 were sent so late that an action of the "
        "scenario came before them: not measured",
    ),
    "wrong, and not all of them overtaken": (
        {"groups": (replace(GROUP, confirmed=8, problems={"wrong answer": 2}, overtaken_wrong=1),)},
        WRONG,
        f"{NOT_EVERY}: wrong answer (2)",
    ),
    "wrong and late": (
        {"groups": (replace(IS_LATE, confirmed=6, problems={"late": 3, "wrong answer": 1}),)},
        WRONG,
        f"{NOT_EVERY}: late (3), wrong answer (1)",
    ),
    "missing": ({"groups": (replace(GROUP, rows=9),)}, WRONG, f"{NOT_EVERY}: requests without a result (1)"),
    "too many": ({"groups": (replace(GROUP, rows=12),)}, WRONG, f"{NOT_EVERY}: results of no request (2)"),
    "nothing": ({"groups": ()}, WRONG, f"{NOT_EVERY}: there was no request"),
    "a record that no request sent": (
        {"groups": (GROUP,), "unexplained": 1_200, "beside": 1, "strange": {"the watermark went back": 1}},
        WRONG,
        f"{NOT_EVERY}: records in the log that no request has sent (1,200), the watermark went back (1)",
    ),
    "in the rows and beside them": (
        {
            "groups": (replace(GROUP, confirmed=8, problems={"early": 2}),),
            "beside": 3,
            "strange": {"throttled, and not told": 1, "early": 2},
        },
        WRONG,
        f"{NOT_EVERY}: early (4), throttled, and not told (1)",
    ),
    "amiss": ({"groups": (replace(GROUP, amiss=("not throttled",)),)}, WRONG, f"{NOT_EVERY}: g: not throttled"),
    "answered otherwise": (
        {"groups": (OTHERWISE,)},
        WRONG,
        f"{NOT_EVERY}: NONE where REQUEST_TIMED_OUT was expected (9)",
    ),
    "one partition of a request answered otherwise": (
        {"groups": (WIDE,)},
        WRONG,
        f"{NOT_EVERY}: REQUEST_TIMED_OUT where NONE was expected (3)",
    ),
    "of two groups, and of many kinds": (
        {
            "groups": (
                OTHERWISE,
                replace(GROUP, confirmed=0, problems={"lost": 7, "early": 2, "closed": 1, "garbled": 1}),
            )
        },
        WRONG,
        f"{NOT_EVERY}: NONE where REQUEST_TIMED_OUT was expected (9), lost (7), early (2), and 2 more",
    ),
    "sent late": (
        {"groups": (replace(GROUP, send_delay_us=(0, 2_500_000, 2_500_000)),)},
        NOT_MEASURED,
        "Every answer was right; the load was sent late: not measured",
    ),
    "a limit of the scenario": (
        {"groups": (replace(GROUP, amiss=(BROKEN.sentence(),), limits=(BROKEN,)),)},
        WRONG,
        "Every answer was right; limits of the scenario were not kept",
    ),
    "a limit of the scenario, while the load stood still": (
        {"groups": (replace(GROUP, amiss=(BROKEN.sentence(),), limits=(BROKEN,), load_late_us=100_000),)},
        NOT_MEASURED,
        "Every answer was right; limits of the scenario were not kept, while the load stood still: not measured",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_finding(name: str) -> None:
    different, kind, headline = CASES[name]
    verdict = replace(Verdict((IS_LATE,), 500), **different)
    assert (verdict.finding.kind, verdict.finding.headline) == (kind, headline)
    assert verdict.ok == (kind == RIGHT)  # late proves nothing of the broker's punctuality
    assert verdict.finding.status == STATUS[kind]


def test_the_sentence_says_how_late_both_were() -> None:
    [sentence] = Verdict((IS_LATE,), 500, machine_late_ms={"r": 6_500}).finding.sentences
    assert sentence == (
        "r: 3 answers came late, by up to 6,993 ms, limit 500 ms; "
        "the machine itself had brokers or load wait for a processor, and so was up to 6,500 ms late"
    )
    [sentence] = Verdict((IS_LATE,), 500).finding.sentences
    assert sentence.endswith("how late the machine itself was is not known")
    [sentence] = Verdict((BY_LOAD,), 500).finding.sentences
    assert "; 3 of them by the load, which stood still for up to 7,000 ms, or perhaps by it; how late" in sentence


MS = 1_000_000


def test_a_thread_that_waits_is_behind_until_it_has_slept() -> None:
    lateness = MachineLateness(None)
    for passed_ms, ran_ms, waited_ms in ((100, 40, 60), (100, 30, 70), (100, 20, 0), (100, 10, 40)):
        lateness.take_in(passed_ms * MS, ran_ms * MS, waited_ms * MS)
    assert lateness._worst_ns == 130 * MS  # 60 + 70, then 80 were slept
    assert lateness._behind_ns == 50 * MS - 10 * MS + 0  # 130 - 80, then 40 more and 50 slept


def test_nothing_is_known_where_the_system_does_not_count() -> None:
    lateness = MachineLateness(None)
    lateness.look()
    assert lateness.take_ms() is None
