"""The verdict states what a run was not judged by, with the reason; a green verdict states its limits."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fakebroker_load.facts.table import JOURNAL, LOG, rules
from fakebroker_load.judging.unjudged import UnjudgedRules, of_run
from fakebroker_load.judging.ways import Ways, as_far_as

ALL = Ways("r", True, "a journal", 9, None)
TWO = Ways("r", True)
ONE = Ways("r", False)
STILL: dict[str, int] = {"moved": 0, "still": 2, "partitions": 2}


def told(way: Ways, parts: Mapping[str, int] | None = STILL, waits: bool = True) -> list[tuple[str, int]]:
    return [(reason.why, len(reason.rules)) for reason in of_run(way, parts, waits)]


def test_a_run_that_was_judged_three_ways_has_no_note() -> None:
    assert told(ALL) == []
    assert told(ALL, STILL | {"still": 0}) == []


def test_what_lacks_a_witness_is_told_with_its_rules() -> None:
    of_journal, of_log = len(rules(JOURNAL)), len(rules(LOG))
    assert told(TWO) == [("there is no journal (no --control and no --journal was given)", of_journal)]
    assert told(ONE, None) == [
        ("the log was not read back", of_log),
        ("there is no journal (no --control and no --journal was given)", of_journal),
        ("followers are not known to have stood still", 1),
    ]
    assert told(ONE, None, waits=False)[2:] == []
    assert "answered before it was done" in rules(JOURNAL)
    assert "acknowledged before its watermark" not in rules(JOURNAL)  # what a consumer was shown convicts, too
    assert "lost" in rules(LOG)
    assert "early" not in rules(JOURNAL)  # the answers alone show some of it


def test_less_is_claimed_where_leaders_moved() -> None:
    assert told(ALL, STILL | {"moved": 1}) == [("the leader of 1 of 2 partitions moved", 4)]
    assert told(TWO, STILL | {"moved": 1, "still": 0})[1:] == [
        ("the leader of 1 of 2 partitions moved", 2),
        ("followers are not known to have stood still", 1),
    ]


def test_the_sentence_names_as_many_as_there_is_room_for() -> None:
    four = UnjudgedRules("r", "it rained", ("a", "b", "c", "d"))
    assert four.sentence() == 'r: not judged, since it rained: "a", "b", "c", "d".'
    assert four.sentence(3) == 'r: not judged, since it rained: "a", "b", "c" and 1 more.'


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        ((), ""),
        ((ALL, ALL), ""),
        ((ALL, TWO), ", as far as the answers and the log tell"),
        ((TWO, ONE), ", as far as the answers tell"),
        ((Ways("r", False, "a journal"),), ", as far as the answers and the journal tell"),
    ],
)
def test_how_far_a_verdict_goes(ways: tuple[Ways, ...], expected: str) -> None:
    assert as_far_as(ways) == expected
