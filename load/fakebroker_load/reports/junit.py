"""The verdict as JUnit XML, which CI systems show as tests.

Shape    A suite for each run, a case for each of its groups, and one for findings that no request explains. A failed
         case names the problems, with the first request of each kind.
Source   The XML of Ant's JUnit task, as Jenkins, GitLab and GitHub's reporters read it; it has no schema of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from fakebroker_load.console import complaints, log_sentence, reason_text
from fakebroker_load.verdict import Verdict

JUNIT_FILE = "junit.xml"
_LOG_CASE = "nothing but the requests explains log and journal"
# XML 1.0 cannot represent these.
_NOT_IN_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 65534, 65535, *range(55296, 57344)], "?")


def as_junit(verdict: Verdict, runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the verdict as XML. `runs` is the content of `run.json`."""
    root = ElementTree.Element("testsuites", name="fakebroker-load")
    took = {str(run["scenario"]["name"]): float(run["took_s"]) for run in runs}
    for name in dict.fromkeys([*took, *(group.run for group in verdict.groups)]):
        suite = ElementTree.SubElement(root, "testsuite", name=_text(name), time=f"{took.get(name, 0.0):.3f}")
        for group in verdict.groups:
            if group.run == name:
                wrong = list(complaints(group))
                if not group.ok:
                    reasons = [one for one in verdict.reasons if one.run == name]
                    own = [one for one in reasons if one.example.get("group") == group.group]
                    wrong += [reason_text(one).strip() for one in own]
                    wrong = wrong or ["there was no request to confirm"]
                _case(suite, name, f"{group.group}: {group.expected}", wrong)
        _case(suite, name, _LOG_CASE, _beside(verdict, name))
        ElementTree.SubElement(suite, "system-out").text = _text(_judged_by(verdict, name))
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _beside(verdict: Verdict, name: str) -> list[str]:
    """Return the findings that belong to no request. With several runs, only the examples tell which run they are
    of."""
    strange = [one for one in verdict.reasons if one.example.get("group") is None]
    if strange:
        return [reason_text(one).strip() for one in strange if one.run == name]
    return ["the log or the journal has what no request explains"] if verdict.is_strange else []


def _case(suite: ElementTree.Element, run: str, name: str, wrong: list[str]) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=_text(f"fakebroker-load.{run}"), name=_text(name))
    if wrong:
        failure = ElementTree.SubElement(case, "failure", message=_text(wrong[0]), type="NotConfirmed")
        failure.text = _text("\n".join(wrong))


def _judged_by(verdict: Verdict, name: str) -> str:
    ways = [way.sentence() for way in verdict.ways if way.run == name]
    unjudged = [rule.sentence() for rule in verdict.unjudged if rule.run == name]
    return "\n".join([log_sentence(verdict), *ways, *unjudged])


def _count(element: ElementTree.Element) -> None:
    element.set("tests", str(len(list(element.iter("testcase")))))
    element.set("failures", str(len(list(element.iter("failure")))))
    element.set("errors", "0")


def _text(text: str) -> str:
    return text.translate(_NOT_IN_XML)
