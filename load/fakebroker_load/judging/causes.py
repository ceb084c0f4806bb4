"""The causes of a verdict that is not confirmed, for its headline: the most frequent problems first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fakebroker_load.judging.group_verdict import GroupVerdict

MOST = 3  # in a headline
WRONG_ANSWER = "wrong answer"


def causes_of(groups: Sequence[GroupVerdict], strange: Mapping[str, int]) -> str:
    """Return the end of the headline. `strange` counts what is in log or journal and belongs to no row of a request, by
    problem."""
    counts: Counter[str] = Counter(strange)
    for group in groups:
        counts.update(group.wrong_answers)
        counts.update(group.problems)
        counts[WRONG_ANSWER] -= sum(group.wrong_answers.values())
        if group.rows != group.requests:
            counts["requests without a result" if group.rows < group.requests else "results of no request"] += abs(
                group.requests - group.rows
            )
    phrases = [f"{problem} ({count:,})" for problem, count in counts.most_common() if count]
    phrases += [f"{group.group}: {phrase}" for group in groups for phrase in group.amiss]
    if not phrases:
        return "there was no request"
    more = [f"and {len(phrases) - MOST} more"] if len(phrases) > MOST else []
    return ", ".join([*phrases[:MOST], *more])
