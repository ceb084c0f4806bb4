"""One request to a coordinator that names very many things."""

from __future__ import annotations

from support.under_attack import hold

from conformance import group_frames

NAMED = 100_000  # a frame of about 1 MB
COORDINATOR = [group_frames.find_coordinator("g", version=3)] * 2  # the first one makes __consumer_offsets


def test_leaving_of_very_many_members() -> None:
    frame = group_frames.leave_group("g", *(f"m{number}" for number in range(NAMED)), version=3)
    hold(frame, memory_mib=96, fill=COORDINATOR, once=True)


def test_deletion_of_very_many_groups() -> None:
    frame = group_frames.delete_groups([f"g{number}" for number in range(NAMED)])
    hold(frame, memory_mib=96, fill=COORDINATOR, once=True)


def test_description_of_very_many_groups() -> None:
    frame = group_frames.describe_groups([f"g{number}" for number in range(NAMED)], version=5)
    hold(frame, memory_mib=96, fill=COORDINATOR, once=True)


def test_coordinators_of_very_many_groups() -> None:
    frame = group_frames.find_coordinator(*(f"g{number}" for number in range(NAMED)), version=6)
    hold(frame, memory_mib=96, fill=COORDINATOR, once=True)
