"""Subscriptions by pattern: RE2's language, matched against whole topic names.

Source   group-coordinator/.../Utils.java throwIfRegularExpressionIsInvalid; .../modern/consumer/TopicRegexResolver.java
         @ 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from fakebroker.core.groups.consumer.state.topics import ResolvedRegularExpression, Topics
from fakebroker.core.re2j import WORK_OF_A_SLICE, Pattern, PatternError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

_CHECKED_OF_A_SLICE: Final = 256


def check_regular_expression(regex: str) -> None:
    """Raise INVALID_REGULAR_EXPRESSION if the pattern cannot be read."""
    try:
        Pattern(regex)
    except PatternError as error:
        raise KafkaError(
            ErrorCode.invalid_regular_expression,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from None


def resolve_regular_expressions(
    regexes: Iterable[str], topics: Topics, wall_ms: int, may_describe: Callable[[str], bool] | None = None
) -> Slices[dict[str, ResolvedRegularExpression]]:
    """Return the present topics that match each pattern, without those that the client may not describe. A pattern that
    cannot be read matches none."""
    names, version = topics.topic_names(), topics.version
    resolved: dict[str, ResolvedRegularExpression] = {}
    for regex in regexes:
        if resolved:
            yield
        matches = yield from _matching(regex, names)
        if may_describe is not None:
            matches = yield from _described(matches, may_describe)
        resolved[regex] = ResolvedRegularExpression(matches, version, wall_ms)
    return resolved


def _described(names: Iterable[str], may_describe: Callable[[str], bool]) -> Slices[frozenset[str]]:
    allowed: set[str] = set()
    for number, name in enumerate(names, 1):
        if may_describe(name):
            allowed.add(name)
        if number % _CHECKED_OF_A_SLICE == 0:
            yield
    return frozenset(allowed)


def _matching(regex: str, names: Sequence[str]) -> Slices[frozenset[str]]:
    matches: set[str] = set()
    try:
        pattern = Pattern(regex)
    except PatternError:
        return frozenset()
    work = 0
    for name in names:
        work += pattern.work(name)
        if work >= WORK_OF_A_SLICE:
            work = 0
            yield
        if pattern.matches(name):
            matches.add(name)
    return frozenset(matches)
