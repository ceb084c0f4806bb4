"""Timelines against copies of plain dicts."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakebroker.core.coordinator.timeline import LATEST, SnapshotRegistry, TimelineDict, TimelineValue

KEYS = st.sampled_from("abcde")


class Timelines(RuleBasedStateMachine):
    """The model: a whole copy for each snapshot."""

    forgotten_at_once = 512

    def __init__(self) -> None:
        super().__init__()
        self.registry = SnapshotRegistry(self.forgotten_at_once)
        self.timeline: TimelineDict[str, int] = TimelineDict(self.registry)
        self.number: TimelineValue[int] = TimelineValue(self.registry, -1)
        self.now: tuple[dict[str, int], int] = ({}, -1)
        self.copies: dict[int, tuple[dict[str, int], int]] = {}
        self.epoch = 0

    @rule(key=KEYS, value=st.integers(0, 9))
    def put(self, key: str, value: int) -> None:
        self.timeline[key] = value
        self.now[0][key] = value

    @rule(key=KEYS)
    def pop(self, key: str) -> None:
        assert self.timeline.pop(key) == self.now[0].pop(key, None)

    @rule(value=st.integers(0, 9))
    def set_number(self, value: int) -> None:
        self.number.set(value)
        self.now = (self.now[0], value)

    @rule(step=st.integers(0, 3))
    def snapshot(self, step: int) -> None:
        self.epoch += step
        self.registry.create_snapshot(self.epoch)
        self.copies.setdefault(self.epoch, (dict(self.now[0]), self.now[1]))

    @precondition(lambda self: self.copies)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        up_to = data.draw(st.integers(0, self.epoch))
        self.registry.delete_snapshots_up_to(up_to)
        self.copies = {epoch: copy for epoch, copy in self.copies.items() if epoch >= up_to}

    @precondition(lambda self: self.copies)
    @rule(data=st.data())
    def revert(self, data: st.DataObject) -> None:
        epoch = data.draw(st.sampled_from(sorted(self.copies)))
        self.registry.revert_to_snapshot(epoch)
        self.copies = {key: copy for key, copy in self.copies.items() if key <= epoch}
        self.now = (dict(self.copies[epoch][0]), self.copies[epoch][1])
        self.epoch = epoch

    @invariant()
    def every_epoch_reads_as_it_was(self) -> None:
        assert self.registry.epochs == sorted(self.copies)
        for epoch, (values, number) in {**self.copies, LATEST: self.now}.items():
            assert dict(self.timeline.items(epoch)) == values
            assert {key: value for key in "abcde" if (value := self.timeline.get(key, epoch)) is not None} == values
            assert self.number.get(epoch) == number
        assert len(self.timeline) == len(self.now[0])


class SlowlyForgotten(Timelines):
    forgotten_at_once = 1


TestTimelines = Timelines.TestCase
TestSlowlyForgotten = SlowlyForgotten.TestCase


def test_values_before_the_oldest_snapshot_are_not_kept() -> None:
    registry = SnapshotRegistry()
    timeline: TimelineDict[str, int] = TimelineDict(registry)
    for epoch in range(100):
        registry.create_snapshot(epoch)
        timeline["a"] = epoch
    registry.delete_snapshots_up_to(99)
    assert timeline._before == {"a": [(99, 98)]}


def test_much_of_it_is_forgotten_bit_by_bit() -> None:
    registry = SnapshotRegistry(10)
    timeline: TimelineDict[int, int] = TimelineDict(registry)
    registry.create_snapshot(0)
    for key in range(25):
        timeline[key] = key
    registry.create_snapshot(1)
    registry.delete_snapshots_up_to(1)
    for left in (15, 5, 0, 0):
        assert len(timeline._before) == left
        assert (dict(timeline.items(1)), len(timeline)) == (dict(timeline.items()), 25)
        registry.forget_some()


def test_a_snapshot_of_the_past_is_refused() -> None:
    registry = SnapshotRegistry()
    registry.create_snapshot(5)
    with pytest.raises(ValueError, match="a snapshot of 5"):
        registry.create_snapshot(4)
    with pytest.raises(KeyError):
        registry.revert_to_snapshot(3)
