"""Subscriptions by pattern: when a group's patterns are matched against all topic names.

Theory   The executor matches all patterns of the group in a task after the request; the response does not wait for it.
         That is due for a new pattern, after a new topic, or if the last time is long ago, at most every 10 s. The
         result is written, and a changed result bumps the epoch.
         Topics that the client of the request may not describe match no pattern of the group. So the result is that of
         the member that has sent the heartbeat, as in Kafka.
Units    milliseconds of wall time.
Source   group-coordinator/.../GroupMetadataManager.java maybeUpdateRegularExpressions, handleRegularExpressionsResult
         @ 4.4.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, final

from fakebroker.core.coordinator.record import CoordinatorRecord
from fakebroker.core.coordinator.result import CoordinatorResult
from fakebroker.core.groups.consumer.rebalancing import Change
from fakebroker.core.groups.consumer.regular_expressions import check_regular_expression, resolve_regular_expressions
from fakebroker.core.groups.consumer.state import records as make
from fakebroker.core.groups.consumer.state.group import ConsumerGroup
from fakebroker.core.groups.consumer.state.subscriptions import count_topics
from fakebroker.core.groups.consumer.state.topics import NEVER_RESOLVED, ResolvedRegularExpression, metadata_hash
from fakebroker.core.groups.consumer.tools import ConsumerTools

MIN_REFRESH_INTERVAL_MS: Final = 10_000  # GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS


class RegexChange(Enum):
    """The effect of a request on the pattern of a member."""

    NONE = "none"
    UPDATED = "updated"  # the topics that the new pattern matches are not known yet
    UPDATED_AND_RESOLVED = "updated, and what it matches is known"


@final
class PatternSubscriptions:
    """The pattern subscriptions of a partition's groups."""

    def __init__(self, tools: ConsumerTools) -> None:
        self._tools = tools

    def update(self, change: Change) -> RegexChange:
        """Raise INVALID_REGULAR_EXPRESSION if a pattern is new to the group and cannot be read."""
        members, old, new = change.group.members, change.old.regex, change.new.regex
        outcome = RegexChange.NONE
        is_new = False
        if change.old.topic_regex != change.new.topic_regex:
            outcome = RegexChange.UPDATED
            if old is not None and members.subscribed_to_regex(old) == 1:
                change.records.append(make.no_regular_expression(change.group.group_id, old))
            if new is not None:
                is_new = not members.subscribed_to_regex(new)
                if is_new:
                    check_regular_expression(new)
                elif members.resolved(new) is not None:
                    outcome = RegexChange.UPDATED_AND_RESOLVED
            elif old is not None:
                outcome = RegexChange.UPDATED_AND_RESOLVED
        if is_new or members.has_regexes:
            self._refresh_if_due(change, is_new)
        return outcome

    def _refresh_if_due(self, change: Change, is_new: bool) -> None:
        group, executor, now_ms = change.group, self._tools.executor, self._tools.wall_ms
        group_id = group.group_id
        key = f"{group_id}-regex"
        if executor.is_scheduled(key):
            return
        resolved = group.members.all_resolved()
        last = next(iter(resolved.values()), None)
        if last is not None and now_ms <= last.timestamp_ms + MIN_REFRESH_INTERVAL_MS:
            return
        regexes = group.members.regexes_if(change.old, change.new)
        is_due = (
            is_new
            or len(regexes) != len(resolved)
            or (last.version if last is not None else 0) < self._tools.topics.version_of_new_topics
            or (last is not None and now_ms > last.timestamp_ms + self._tools.regex_refresh_interval_ms)
        )
        if is_due and regexes:
            executor.schedule(
                key,
                lambda: resolve_regular_expressions(
                    regexes, self._tools.topics, self._tools.wall_ms, change.may_describe
                ),
                lambda resolved: self._on_resolved(group_id, resolved),
            )

    def _on_resolved(self, group_id: str, resolved: dict[str, ResolvedRegularExpression]) -> CoordinatorResult[None]:
        group = self._tools.groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            return CoordinatorResult((), None)
        records: list[CoordinatorRecord] = []
        topics = group.members.topics
        bump = False
        for regex, expression in resolved.items():
            if not group.members.subscribed_to_regex(regex):
                continue
            before = group.members.resolved(regex) or NEVER_RESOLVED
            if before.topics != expression.topics:
                bump = True
                count_topics(topics.counts, before.topics, by_regex=-1)
                count_topics(topics.counts, expression.topics, by_regex=1)
            records.append(make.regular_expression(group_id, regex, expression))
        metadata = metadata_hash(topics, self._tools.topics)
        if bump or metadata != group.metadata_hash:
            records.append(make.group_epoch(group_id, group.epoch + 1, metadata))
            group.set_topics_checked(group.epoch + 1)
        return CoordinatorResult(records, None)
