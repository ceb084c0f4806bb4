"""Who is subscribed to what, counted: topics by name and by pattern, patterns, assignors, protocols of classic members.

Theory   Each count is of members, but that of a topic by pattern, which is of patterns that match it. What would hold
         if a member changed is asked before the records that change it are written, so there are copies.
Source   group-coordinator/.../modern/{SubscriptionCount,ModernGroup}.java, .../modern/consumer/ConsumerGroup.java
         computeSubscribedTopicNames, computeSubscribedRegularExpressions, subscriptionType @ 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fakebroker.core.coordinator.timeline import TimelineDict
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.state.topics import ResolvedRegularExpression


class SubscriptionCount(NamedTuple):
    """Of a topic."""

    by_name: int = 0
    by_regex: int = 0


NO_ONE = SubscriptionCount()

TopicCounts = Mapping[str, SubscriptionCount]


def count(counts: dict[str, int] | TimelineDict[str, int], keys: Iterable[str], by: int) -> None:
    """One more or one less of each; what is at 0 is not there."""
    for key in keys:
        number = (counts.get(key) or 0) + by
        if number > 0:
            counts[key] = number
        elif counts.get(key) is not None:
            counts.pop(key)


def count_topics(
    counts: dict[str, SubscriptionCount] | TimelineDict[str, SubscriptionCount],
    topics: Iterable[str],
    by_name: int = 0,
    by_regex: int = 0,
) -> None:
    """The same for topics. Neighbours mostly have the same count, and then share one: a member may name very many."""
    last = NO_ONE
    after = SubscriptionCount(by_name, by_regex)
    for topic in topics:
        before = counts.get(topic) or NO_ONE
        if before is not last:
            last, after = before, SubscriptionCount(before.by_name + by_name, before.by_regex + by_regex)
        if after.by_name > 0 or after.by_regex > 0:
            counts[topic] = after
        elif before is not NO_ONE:
            counts.pop(topic)


def is_homogeneous(regexes: Mapping[str, int], topics: Iterable[SubscriptionCount], members: int) -> bool:
    """Are all members subscribed to the same topics?"""
    if not regexes:
        return all(topic.by_name == members for topic in topics)
    if next(iter(regexes.values())) != members:
        return False
    return all(topic.by_regex == 1 and not topic.by_name for topic in topics)


def topics_if(
    topics: TopicCounts,
    regexes: Mapping[str, int],
    resolved: Mapping[str, ResolvedRegularExpression],
    old: ConsumerGroupMember | None,
    new: ConsumerGroupMember,
) -> dict[str, SubscriptionCount]:
    """The topics if one member became another. If it was the last one with its pattern, what that matched goes."""
    counts = dict(topics)
    if old is not None:
        count_topics(counts, old.topic_names, by_name=-1)
    count_topics(counts, new.topic_names, by_name=1)
    regex = old.regex if old is not None else None
    if regex is not None and regex != new.regex and regexes.get(regex) == 1 and regex in resolved:
        count_topics(counts, resolved[regex].topics, by_regex=-1)
    return counts


def topics_without(
    topics: TopicCounts,
    resolved: Mapping[str, ResolvedRegularExpression],
    members: Iterable[ConsumerGroupMember],
    regexes: Iterable[str],
) -> dict[str, SubscriptionCount]:
    """The topics without some members, and without patterns that nobody else has."""
    counts = dict(topics)
    for member in members:
        count_topics(counts, member.topic_names, by_name=-1)
    for regex in regexes:
        if regex in resolved:
            count_topics(counts, resolved[regex].topics, by_regex=-1)
    return counts


def regexes_if(regexes: Mapping[str, int], old: ConsumerGroupMember | None, new: ConsumerGroupMember) -> dict[str, int]:
    """The patterns if one member became another."""
    counts = dict(regexes)
    before = old.regex if old is not None else None
    if before != new.regex:
        count(counts, [before] if before is not None else [], -1)
        count(counts, [new.regex] if new.regex is not None else [], 1)
    return counts
