"""Counts of subscriptions: topics by name and by pattern, patterns, assignors, protocols of classic members.

Theory   Each count is of members, except that of a topic by pattern: it counts patterns that match. The counts after a
         hypothetical change are needed before its records are written, so they are copies.
Source   group-coordinator/.../modern/{SubscriptionCount,ModernGroup}.java, .../modern/consumer/ConsumerGroup.java
         computeSubscribedTopicNames, computeSubscribedRegularExpressions, subscriptionType @ 4.4.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar, final

from fakebroker.core.coordinator.timeline import TimelineDict
from fakebroker.core.groups.consumer.state.member import ConsumerGroupMember
from fakebroker.core.groups.consumer.state.topics import ResolvedRegularExpression
from fakebroker.protocol.group_records.many_names import ManyNames, Names


class SubscriptionCount(NamedTuple):
    """The subscriptions to a topic."""

    by_name: int = 0
    by_regex: int = 0


NO_ONE = SubscriptionCount()

K = TypeVar("K", bound=Hashable)


def count(counts: dict[K, int] | TimelineDict[K, int], keys: Iterable[K], by: int) -> None:
    """Add `by`, which is 1 or -1, to the count of each key. A count of 0 is removed."""
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
    """Add to the counts of topics. Neighbours with equal counts share one object, as a member may name very many
    topics."""
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


def count_names(
    counts: dict[str, SubscriptionCount] | TimelineDict[str, SubscriptionCount],
    many: dict[ManyNames, int] | TimelineDict[ManyNames, int],
    names: Names,
    by: int,
) -> None:
    """Add to the counts of the topics that a member names. Very many names are counted as one key."""
    if isinstance(names, ManyNames):
        count(many, [names], by)
    else:
        count_topics(counts, names, by_name=by)


@final
class Subscriptions:
    """The topics to which members subscribe, or would: counts of topics, and of members that name very many."""

    def __init__(self, counts: dict[str, SubscriptionCount], many: dict[ManyNames, int]) -> None:
        self.counts = counts
        self.many = many

    def __len__(self) -> int:
        """Return an upper bound: names of several members may be counted several times."""
        return len(self.counts) + sum(map(len, self.many))

    def __contains__(self, name: object) -> bool:
        return name in self.counts or any(name in names for names in self.many)

    def __iter__(self) -> Iterator[str]:
        yield from self.counts
        for names in self.many:
            yield from names

    def count(self, names: Names, by: int) -> None:
        count_names(self.counts, self.many, names, by)

    def are_alike(self, regexes: Mapping[str, int], members: int) -> bool:
        """Return True if all `members` members subscribe to the same topics."""
        return is_homogeneous(regexes, self.counts.values(), list(self.many.values()), members)


def is_homogeneous(
    regexes: Mapping[str, int], topics: Iterable[SubscriptionCount], many: Sequence[int], members: int
) -> bool:
    """Return True if all members subscribe to the same topics. `many` are the numbers of members with each set of very
    many names."""
    if many:
        return not regexes and many == [members] and next(iter(topics), None) is None
    if not regexes:
        return all(topic.by_name == members for topic in topics)
    if next(iter(regexes.values())) != members:
        return False
    return all(topic.by_regex == 1 and not topic.by_name for topic in topics)


def topics_if(
    topics: Subscriptions,
    regexes: Mapping[str, int],
    resolved: Mapping[str, ResolvedRegularExpression],
    old: ConsumerGroupMember | None,
    new: ConsumerGroupMember,
) -> Subscriptions:
    """Change the counts of topics as if one member was replaced, and return them. If it was the last with its pattern,
    the topics of the pattern are removed."""
    if old is not None:
        topics.count(old.topic_names, -1)
    topics.count(new.topic_names, 1)
    regex = old.regex if old is not None else None
    if regex is not None and regex != new.regex and regexes.get(regex) == 1 and regex in resolved:
        count_topics(topics.counts, resolved[regex].topics, by_regex=-1)
    return topics


def topics_without(
    topics: Subscriptions,
    resolved: Mapping[str, ResolvedRegularExpression],
    members: Iterable[ConsumerGroupMember],
    regexes: Iterable[str],
) -> Subscriptions:
    """Change the counts of topics as if these members left, and return them. `regexes` are patterns that no other
    member has."""
    for member in members:
        topics.count(member.topic_names, -1)
    for regex in regexes:
        if regex in resolved:
            count_topics(topics.counts, resolved[regex].topics, by_regex=-1)
    return topics


def regexes_if(regexes: Mapping[str, int], old: ConsumerGroupMember | None, new: ConsumerGroupMember) -> dict[str, int]:
    """Return the counts of patterns as if one member was replaced."""
    counts = dict(regexes)
    before = old.regex if old is not None else None
    if before != new.regex:
        count(counts, [before] if before is not None else [], -1)
        count(counts, [new.regex] if new.regex is not None else [], 1)
    return counts
