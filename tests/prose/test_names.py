"""The lint of the names of tests: what it finds, and that no test has such a name."""

from __future__ import annotations

import pytest

from prose.names import problems_of


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def test_nobody_leads(): ...", "test_nobody_leads"),
        ("async def test_a_client_that_somebody_closes(): ...", "test_a_client_that_somebody_closes"),
        ("class TestC:\n    def test_who_waits(self): ...", "test_who_waits"),
        ("class TestWhoLeads: ...", "TestWhoLeads"),
        ("def a_commit_of_nobody(): ...", "a_commit_of_nobody"),
        ("CASES = {'read by nobody': 1}", "read by nobody"),
        ("x = param(1, id='whoever leads')", "whoever leads"),
        ("x = parametrize('a', [1], ids=['he goes'])", "he goes"),
        ("x = parametrize('name', [('somebody else leads', 2, 3)])", "somebody else leads"),
        ("ROWS = [Row('who leads', 2)]", "who leads"),
    ],
)
def test_a_name_of_a_test_that_makes_software_a_person_is_found(source: str, name: str) -> None:
    [problem] = problems_of(source, "x.py")
    assert problem.rule == "name"
    assert repr(name) in problem.text


@pytest.mark.parametrize("name", ["test_of_two_the_first", "test_or_until_the_end", "test_a_leader_that_stands_still"])
def test_a_riddle_is_found(name: str) -> None:
    [problem] = problems_of(f"class TestC:\n    def {name}(self): ...", "x.py")
    assert (problem.rule, problem.line) == ("name", 2)


@pytest.mark.parametrize(
    "source",
    [
        "def test_a_cluster_whose_port_is_in_use(): ...",
        "def test_the_whole_log(): ...",
        "def test_often(): ...",
        "NAMES = {'nobody': 1}",  # one word is data: the name of a topic
        "assert kinds == ['in the log, and sent by nobody']",
        "x = f('in the log, and sent by nobody')",
    ],
)
def test_a_good_name_and_data_are_left_alone(source: str) -> None:
    assert list(problems_of(source, "x.py")) == []
