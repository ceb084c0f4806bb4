"""Patterns in RE2's language, and RE2J's messages about wrong ones."""

from __future__ import annotations

import pytest
from support.simulation import Simulation
from support.slices import count_slices

from fakebroker.core.groups.consumer.regular_expressions import check_regular_expression, resolve_regular_expressions
from fakebroker.core.groups.consumer.state.topics_view import TopicsView
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import finish


@pytest.mark.parametrize(
    ("regex", "why"),
    [
        ("(", "missing closing )"),
        ("[", "missing closing ]"),
        ("a**", "invalid nested repetition operator"),
        ("*", "missing argument to repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("\\", "trailing backslash at end of expression"),
        ("[z-a]", "invalid character class range"),
        ("\\8", "invalid escape sequence"),
        ("(?=a)", "invalid or unsupported Perl syntax"),
        ("(?<=a)", "invalid named capture"),
        ("\\C", "invalid escape sequence"),
        ("{*", "invalid nested repetition operator"),
        ("(?P<n>a)(?<n>b)", "duplicate capture group name"),
    ],
)
def test_what_cannot_be_read(regex: str, why: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check_regular_expression(regex)
    assert refused.value.code is ErrorCode.invalid_regular_expression
    assert refused.value.message == f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}."


@pytest.mark.parametrize("regex", ["\\QC{*\\E", "[{*\\]]", "a{2}", "{", "\\{*", "(?P<n>a)(?P<m>b)", "[[:alpha:]{]*"])
def test_what_only_looks_wrong(regex: str) -> None:
    check_regular_expression(regex)


def test_nothing_is_written_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KafkaError):
        check_regular_expression("(")
    assert capfd.readouterr() == ("", "")


def test_whole_names_match() -> None:
    simulation = Simulation(brokers=1)
    for name in ("a", "ab", "b", "A"):
        simulation.topic(name, replicas=1)
    topics = TopicsView(simulation.cluster.metadata)
    topics_of = finish(resolve_regular_expressions(["(", "a", "a.*", "(?i)a", ".|b"], topics, 5))
    assert {regex: set(resolved.topics) for regex, resolved in topics_of.items()} == {
        "a": {"a"},
        "a.*": {"a", "ab"},
        "(?i)a": {"a", "A"},
        ".|b": {"a", "b", "A"},
        "(": set(),
    }
    assert {(resolved.version, resolved.timestamp_ms) for resolved in topics_of.values()} == {(topics.version, 5)}


@pytest.mark.parametrize(
    ("regexes", "topics", "least"), [(["(.*){500}"], 10, 10), (["t.*"], 200, 1), ([f"t{n}" for n in range(30)], 1, 30)]
)
def test_many_names_and_hostile_patterns_are_done_in_slices(regexes: list[str], topics: int, least: int) -> None:
    """A slice for each name of a hostile pattern, and for each pattern."""
    simulation = Simulation(brokers=1)
    for number in range(topics):
        simulation.topic(f"t{number}-{'x' * 200}", replicas=1)
    resolving = resolve_regular_expressions(regexes, TopicsView(simulation.cluster.metadata), 5)
    topics_of, slices = count_slices(resolving)
    assert set(topics_of) == set(regexes)
    assert least <= slices <= 2 * least + topics
