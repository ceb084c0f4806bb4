"""The parts of `conformance.producer` that need no Java: sequences, comparison, shrinking."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.producer.play import Difference, difference, normal
from conformance.producer.sequences import RELEASES, sequence
from conformance.producer.shrink import shrink
from conformance.producer.telling import most_telling


def answer(**changed: Any) -> dict[str, Any]:
    return {"events": [], "told": [], "memory": [1, 1, 0], "left": [False, False, False], **changed}


@pytest.mark.parametrize("generation", RELEASES)
def test_a_seed_always_gives_the_same_sequence(generation: str) -> None:
    assert sequence(generation, 5) == sequence(generation, 5)
    assert sequence(generation, 5) != sequence(generation, 6)


def test_the_first_difference_is_told() -> None:
    same = [answer(), answer(told=[3])]
    assert difference(same, same) is None
    assert difference(same, [answer(), answer(told=[4])]) == Difference(1, "told", [3], [4])


@pytest.mark.parametrize(
    ("kafka", "ours", "is_same"),
    [
        (
            "Expiring 3 record(s) for t-0: 31 ms has passed since last append",
            "Expired 3 record(s) for t-0: 31 ms since the last append.",
            True,
        ),
        (
            "Expiring 3 record(s) for t-0: 31 ms has passed since last append",
            "Expired 3 record(s) for t-0: 32 ms since the last append.",
            False,
        ),
        (
            "Expiring 3 record(s) for t-0: 31 ms has passed since last append",
            "Expired 3 record(s) for t-0: 31 ms since the last attempt and its back-off.",
            False,
        ),
    ],
)
def test_numbers_and_reasons_of_messages_are_compared(kafka: str, ours: str, is_same: bool) -> None:
    histories = [[answer(events=[{"record": 1, "failed": "TimeoutException", "text": text}])] for text in (kafka, ours)]
    assert (difference(*histories) is None) == is_same
    kept = [normal(one) for one in histories[0]]
    assert [normal(one) for one in kept] == kept, "what is kept can be compared again"


def test_what_is_kept_shows_what_nothing_else_does() -> None:
    def one(*failed: str) -> dict[str, Any]:
        responses = [answer(events=[{"record": 1, "failed": name, "text": ""}]) for name in failed]
        return {"commands": [{"do": "run"}] * len(failed), "told": responses}

    plain, same, both = one("a"), one("a"), one("b", "c")
    assert most_telling([plain, same, both], 2) == [plain, both]
    assert most_telling([plain, same, both], 1) == [both]
    assert most_telling([], 3) == []


def test_a_sequence_is_cut_down_to_what_matters() -> None:
    commands = [{"do": "tick", "ms": at} for at in range(20)]

    def differs(one: dict[str, Any]) -> bool:
        return {3, 17} <= {command["ms"] for command in one["commands"]}

    short = shrink({"generation": "2.0", "config": {}, "commands": commands}, differs)
    assert [command["ms"] for command in short["commands"]] == [3, 17]
