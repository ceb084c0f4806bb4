"""Walks of groups: the same on two clusters that are alike; what differs is found, and made smaller."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from support.virtual_target import VirtualTarget

from conformance.generated.walks import search
from conformance.generated.walks.classic import classic_walk
from conformance.generated.walks.search import BOX, run_walks
from conformance.generated.walks.walk import CLIENTS, made_up, step_words
from conformance.targets.boxes import BOXES


@dataclass
class TwoOfUs:
    """In virtual time, with other settings on one side."""

    kafka: dict[str, VirtualTarget]
    ours: dict[str, VirtualTarget]


def two_of_us(**other: str) -> TwoOfUs:
    box = BOXES[BOX]
    box = replace(box, config=box.config | {"offsets.topic.num.partitions": "1"})
    changed = replace(box, config=box.config | {name.replace("_", "."): value for name, value in other.items()})
    return TwoOfUs({BOX: VirtualTarget(box)}, {BOX: VirtualTarget(changed)})


def test_walks_on_two_clusters_that_are_alike_do_not_differ() -> None:
    result = run_walks(two_of_us(), 6, at_once=1)

    assert (result.walks, result.repeated, result.differences) == (6, 0, [])
    reached = {code for _, code in result.codes}
    assert {"NONE(0)", "MEMBER_ID_REQUIRED(79)"} <= reached


def test_a_difference_is_found_and_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PATIENT", 1.0)  # time is virtual
    result = run_walks(two_of_us(group_max_size="1"), 4, at_once=1, most_differences=1)

    assert result.differences
    difference = result.differences[0]
    assert "GROUP_MAX_SIZE_REACHED(81)" in difference.signature
    steps = difference.walk.steps
    assert len(steps) < len(classic_walk(difference.seed).steps)
    assert {step_words(step).split(" ")[-1 if step.frame is None else 1] for step in steps}
    assert len({step.conn[0] for step in steps if step.frame is not None}) >= 2, "one member alone is let in"


def test_the_same_seed_makes_the_same_walk() -> None:
    assert classic_walk(7) == classic_walk(7) != classic_walk(8)


def test_stand_ins_are_no_ids_of_others() -> None:
    assert len({made_up(client, number) for client in CLIENTS for number in range(20)}) == 80
