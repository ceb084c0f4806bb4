"""Each rule about groups, by a history that keeps it and by one that breaks it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakebroker.core.journal.events import WatermarkMoved
from fakebroker.testing.groups.judge import (
    ABOVE_WATERMARK,
    COMMIT_LOST,
    GROUP_KINDS,
    SKIPPED,
    STALE_COMMIT,
    TWICE,
    TWO_OWNERS,
    UNSETTLED,
    GroupHistory,
)

P = ("t", 0)
Tell = Callable[[GroupHistory], None]


def committed(history: GroupHistory, member: str, offset: int, generation: int) -> None:
    history.commits(member, P, offset)
    history.committed(member, P, offset, generation)


def begins(history: GroupHistory, *offsets: int) -> None:
    """One member owns the partition and reads."""
    history.owns("a", 1, [P], 0)
    history.resumes("a", P, 0, -1)
    for offset in offsets:
        history.reads("a", P, offset, 100)


def a_crash_between_reading_and_commit(history: GroupHistory) -> None:
    begins(history, 0, 1)
    committed(history, "a", 2, 1)
    history.reads("a", P, 2)
    history.gives_up("a", [P])
    history.owns("b", 2, [P], 9)
    history.resumes("b", P, 2, 2)
    history.reads("b", P, 2)
    history.reads("b", P, 3)


def a_commit_that_may_have_come(history: GroupHistory) -> None:
    begins(history, 0)
    committed(history, "a", 1, 1)
    history.reads("a", P, 1)
    history.commits("a", P, 2)
    history.owns("b", 2, [P])
    history.resumes("b", P, 2, 2)
    history.reads("b", P, 2)


def a_partition_given_back(history: GroupHistory) -> None:
    begins(history)
    history.holds("a", [P], 5_000)
    history.gives_up("a", [P])
    history.owns("b", 2, [P], 100)


def a_member_that_is_expired(history: GroupHistory) -> None:
    begins(history)
    history.holds("a", [P], 5_000)
    history.owns("b", 2, [P], 5_000)


def an_answer_that_is_read_late(history: GroupHistory) -> None:
    """The response to the first request is older, and is read after that to the second."""
    begins(history, 0)
    history.commits("a", P, 1)
    history.owns("b", 1, [("t", 1)])
    history.resumes("b", P, 1, 1)
    history.reads("b", P, 1)
    committed(history, "b", 2, 1)
    history.committed("a", P, 1, 1)
    history.resumes("c", P, 2, 2)
    history.reads("c", P, 2)


@pytest.mark.parametrize(
    "tell",
    [
        an_answer_that_is_read_late,
        a_crash_between_reading_and_commit,
        a_commit_that_may_have_come,
        a_partition_given_back,
        a_member_that_is_expired,
    ],
)
def test_what_kafka_allows_is_no_finding(tell: Tell) -> None:
    history = GroupHistory()
    tell(history)
    assert history.findings == []


def two_in_one_generation(history: GroupHistory) -> None:
    begins(history)
    history.owns("b", 1, [P])


def before_its_revocation(history: GroupHistory) -> None:
    begins(history)
    history.holds("a", [P], 5_000)
    history.owns("b", 2, [P], 4_999)


def a_record_not_yet_everywhere(history: GroupHistory) -> None:
    begins(history)
    history.reads("a", P, 0, 0)


def commits_before_it_reads(history: GroupHistory) -> None:
    """A consumer that commits what it fetched, and crashes before it has processed it."""
    begins(history, 0)
    committed(history, "a", 3, 1)
    history.gives_up("a", [P])
    history.owns("b", 2, [P])
    history.resumes("b", P, 3, 3)
    history.reads("b", P, 3)


def begins_where_it_likes(history: GroupHistory) -> None:
    """A consumer that does not look at what is committed."""
    begins(history, 0, 1)
    committed(history, "a", 2, 1)
    history.owns("b", 2, [P])
    history.resumes("b", P, 0)
    history.reads("b", P, 0)


def goes_back(history: GroupHistory) -> None:
    begins(history, 0, 1, 0)


def an_older_commit(history: GroupHistory) -> None:
    begins(history, 0, 1)
    committed(history, "a", 1, 1)
    committed(history, "a", 2, 1)
    history.resumes("b", P, 1, 1)


def a_commit_without_a_request(history: GroupHistory) -> None:
    history.resumes("a", P, 7, 7)


def a_refused_commit_that_is_there(history: GroupHistory) -> None:
    begins(history, 0, 1)
    committed(history, "a", 1, 1)
    history.commits("b", P, 0)
    history.refused("b", P, 0)
    history.resumes("c", P, 0, 0)


def a_commit_of_an_old_generation(history: GroupHistory) -> None:
    begins(history, 0)
    history.owns("b", 2, [P])
    committed(history, "a", 1, 1)


@pytest.mark.parametrize(
    ("tell", "kind"),
    [
        (two_in_one_generation, TWO_OWNERS),
        (before_its_revocation, TWO_OWNERS),
        (a_record_not_yet_everywhere, ABOVE_WATERMARK),
        (commits_before_it_reads, SKIPPED),
        (begins_where_it_likes, TWICE),
        (goes_back, TWICE),
        (an_older_commit, COMMIT_LOST),
        (a_commit_without_a_request, COMMIT_LOST),
        (a_refused_commit_that_is_there, COMMIT_LOST),
        (a_commit_of_an_old_generation, STALE_COMMIT),
        (lambda history: history.unsettled("for ever"), UNSETTLED),
    ],
)
def test_what_it_does_not_allow_is_found(tell: Tell, kind: str) -> None:
    history = GroupHistory()
    tell(history)
    assert {finding.kind for finding in history.findings} == {kind}
    assert kind in GROUP_KINDS


def test_what_was_forgotten_counts_no_more() -> None:
    history = GroupHistory()
    begins(history, 0, 1)
    history.forget(P)
    history.resumes("a", P, 40)
    history.reads("a", P, 40)
    assert history.findings == []
    assert history.read_to(P) == 41


def test_a_journal_tells_the_watermark_afterwards() -> None:
    history = GroupHistory()
    begins(history, 0, 1)
    moved = [WatermarkMoved(0, 0, "t", 0, 0, watermark, 9) for watermark in (1, 2)]
    assert history.check_watermarks(moved) == []
    [finding] = history.check_watermarks(moved[:1])
    assert str(finding) == "above watermark: t-0 was read to 1, the watermark is 1"
