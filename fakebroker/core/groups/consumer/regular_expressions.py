"""Subscriptions by pattern: RE2's language, matched against whole names of topics.

Source   group-coordinator/.../Utils.java throwIfRegularExpressionIsInvalid; .../modern/consumer/TopicRegexResolver.java
         @ 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakebroker.core.groups.consumer.state.topics import ResolvedRegularExpression, Topics
from fakebroker.core.re2j import PatternError, whole_match
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def check_regular_expression(regex: str) -> None:
    """Raises INVALID_REGULAR_EXPRESSION."""
    try:
        whole_match(regex)
    except PatternError as error:
        raise KafkaError(
            ErrorCode.invalid_regular_expression,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from None


def resolve_regular_expressions(
    regexes: Iterable[str], topics: Topics, wall_ms: int
) -> dict[str, ResolvedRegularExpression]:
    """Which topics match each pattern now. One that cannot be read matches none."""
    names = topics.topic_names()
    resolved = {}
    for regex in regexes:
        try:
            matches = whole_match(regex)
        except PatternError:
            found: frozenset[str] = frozenset()
        else:
            found = frozenset(name for name in names if matches(name))
        resolved[regex] = ResolvedRegularExpression(found, topics.version, wall_ms)
    return resolved
