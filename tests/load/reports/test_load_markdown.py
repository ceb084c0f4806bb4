"""The verdict as Markdown and as JUnit XML: both have all findings, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

from fakebroker_load.judging.group_verdict import GroupVerdict
from fakebroker_load.judging.unjudged import UnjudgedRules
from fakebroker_load.judging.ways import Ways
from fakebroker_load.reports.junit import as_junit
from fakebroker_load.reports.markdown import as_markdown
from fakebroker_load.verdict import Reason, Verdict

HONEST = GroupVerdict(
    run="r",
    group="waiting",
    expected="REQUEST_TIMED_OUT",
    requests=1_200,
    rows=1_200,
    confirmed=1_200,
    early=0,
    answers={"REQUEST_TIMED_OUT": 1_200},
    problems={},
    lateness_p50_us=400,
    lateness_p99_us=2_000,
    lateness_max_us=3_500,
    send_delay_us=(10, 1_500, 2_000),
)
LYING = replace(HONEST, group="<b>|x", confirmed=1_197, problems={"lost": 3})
EXAMPLE = {"group": "<b>|x", "sequence": 4, "connection": 2, "topic": "t", "partition": 0, "says": "log: not there"}
LOST = Reason("r", "lost", "lost", 3, EXAMPLE)
GHOSTS = Reason("r", "unexplained", "in the log, and sent by nobody", 2, EXAMPLE | {"group": None, "connection": None})
RUNS: list[dict[str, Any]] = [{"scenario": {"name": "r"}, "took_s": 2.5}]
UNJUDGED = UnjudgedRules(
    "r", "there is no journal", ("never appended", "handled twice", "read as another request", "late")
)
OK = Verdict((HONEST,), 100, records=1_200, ways=(Ways("r", True),), unjudged=(UNJUDGED,))
BAD = Verdict((HONEST, LYING), 100, records=1_199, unexplained=2, ways=(Ways("r", True),), reasons=(LOST, GHOSTS))


def cases(verdict: Verdict) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(as_junit(verdict, RUNS))
    assert int(root.attrib["tests"]) == len(list(root.iter("testcase")))
    assert int(root.attrib["failures"]) == len(list(root.iter("failure")))
    return {case.attrib["name"]: case for case in root.iter("testcase")}


def test_what_is_confirmed_is_all_green() -> None:
    assert as_markdown(OK).startswith("## Confirmed, as far as the answers and the log tell: 1,200 of 1,200 requests")
    assert '- r: not judged, since there is no journal: "never appended", "handled twice"' in as_markdown(OK)
    assert 'not judged, since there is no journal: "never appended"' in as_junit(OK, RUNS)
    assert "What is wrong" not in as_markdown(OK)
    cases_of = cases(OK)
    assert len(cases_of) == 2
    assert not any(case.findall("failure") for case in cases_of.values())


def test_what_is_wrong_is_said_in_words() -> None:
    text = as_markdown(BAD)
    assert text.startswith("## Not confirmed: 2,397 of 2,400 requests")
    assert "- r: \\<b\\>\\|x: lost: 3 (answered REQUEST\\_TIMED\\_OUT 1,200)" in text
    assert "lost: lost: 3, the first: request 4 of connection 2 to t-0; log: not there" in text
    assert "- 2 records in the log that no request has sent" in text


def test_each_verdict_says_which_percentiles_are_exact() -> None:
    assert "\nPercentiles are exact.\n" in as_markdown(BAD)
    text = as_markdown(replace(BAD, groups=(replace(HONEST, is_sketched=True), LYING)))
    assert "Percentiles of groups with more than 1,000,000 rows come from a sketch" in text
    assert "at most 3 in 100,000 of the rows (r: waiting)." in text
    assert "Percentiles are exact." not in text


def test_a_cell_of_the_table_stays_one_cell() -> None:
    rows = [line for line in as_markdown(BAD).splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {10}


def test_each_group_that_is_not_confirmed_fails_with_its_reasons_and_no_other_one() -> None:
    cases_of = cases(BAD)
    assert len(cases_of) == 3
    assert not cases_of["waiting: REQUEST_TIMED_OUT"].findall("failure")
    [lying] = cases_of["<b>|x: REQUEST_TIMED_OUT"].findall("failure")
    assert "lost: 3" in lying.attrib["message"]
    assert "log: not there" in (lying.text or "")
    [beside] = cases_of["nothing but the requests explains log and journal"].findall("failure")
    assert "sent by nobody: 2" in beside.attrib["message"]


def test_what_was_never_sent_is_a_failure() -> None:
    nothing = replace(HONEST, requests=0, rows=0, confirmed=0, answers={})
    [failure] = cases(Verdict((nothing,), 100))["waiting: REQUEST_TIMED_OUT"].findall("failure")
    assert failure.attrib["message"] == "there was no request to confirm"


def test_what_is_in_the_journal_alone_is_a_failure_without_an_example_too() -> None:
    cases_of = cases(replace(OK, beside=1))
    assert cases_of["nothing but the requests explains log and journal"].findall("failure")


def test_what_xml_cannot_hold_does_not_break_it() -> None:
    strange = replace(LOST, example=EXAMPLE | {"topic": "t\x00\ud800"})
    assert "t??" in ElementTree.tostring(cases(replace(BAD, reasons=(strange,)))["<b>|x: REQUEST_TIMED_OUT"]).decode()
