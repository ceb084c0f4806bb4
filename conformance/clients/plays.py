"""Plays for the groups of a client, and for its administrator. Jobs are compared by what a play sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from conformance.clients.administration import administer
from conformance.clients.members import Member, Unsupported, read_values
from conformance.clients.process import Broken
from conformance.clients.reports import JobReport
from conformance.clients.stage import PARTITIONS, Stage

_EAGER: dict[str, Any] = {"protocol": "classic", "assignor": "range"}  # or what the client has in its place
_COOPERATIVE: dict[str, Any] = {"protocol": "classic", "assignor": "cooperative-sticky"}
_CONSUMER: dict[str, Any] = {"protocol": "consumer", "assignor": None}  # KIP-848
_LONG = {"session_ms": 20_000}  # no member expires while a program starts

READ_TWICE = "read twice"


@dataclass(frozen=True)
class Play:
    """A job of groups or of administrators; `settings` are those of its members."""

    name: str
    run: Callable[[Stage], None]
    settings: dict[str, Any] = field(default_factory=dict)
    partitions: int = PARTITIONS


def _from_earliest(stage: Stage) -> None:
    values = stage.feed("before")
    member = stage.member()
    stage.await_values([member], values)
    values |= stage.feed("after")
    stage.await_values([member], values)
    stage.see("read", sorted(member.read))


def _from_latest(stage: Stage) -> None:
    """The position is looked up a moment after the partitions are assigned: what comes until then may not be read."""
    stage.feed("before")
    member = stage.member(reset="latest")
    stage.await_shares([member], [PARTITIONS])
    fed: set[str] = set()

    def all_are_read() -> bool:
        fed.update(stage.feed(f"after-{len(fed)}", 1))
        return {partition for partition, _, _ in member.read} == set(range(PARTITIONS))

    stage.await_that("a record of each partition", all_are_read)
    values = stage.feed("last")
    stage.await_values([member], values)
    stage.see("read of what was there before", [record for record in member.read if record[2].startswith("before")])
    stage.see("the last", sorted(value for _, _, value in member.read if value.startswith("last")))
    stage.see("from the first on each offset", _without_gaps(sorted(record[:2] for record in member.read)))


def _without_gaps(places: list[tuple[int, int]]) -> bool:
    return all(partition != before or offset == last + 1 for (before, last), (partition, offset) in pairwise(places))


def _one_dies(stage: Stage) -> None:
    members = [stage.member() for _ in range(3)]
    stage.await_shares(members, [2, 2, 2])
    values = stage.feed("three")
    stage.await_values(members, values)
    stage.commit(members)
    dead = members[0]
    dead.kill()
    stage.await_shares(members[1:], [3, 3])
    values |= stage.feed("two")
    stage.await_values(members, values)
    stage.commit(members[1:])
    stage.leave(members[1])
    stage.await_shares(members[2:], [6])
    values |= stage.feed("one")
    stage.await_values(members, values)
    stage.see("records", len(values))
    stage.see(READ_TWICE, _twice(members))
    stage.see("errors", sorted({error for member in members for error in member.errors}))


def _twice(members: Sequence[Member]) -> list[str]:
    return sorted(value for value, times in read_values(members).items() if times > 1)


def _resume(stage: Stage) -> None:
    first = stage.member()
    values = stage.feed("first")
    stage.await_values([first], values)
    stage.commit([first])
    more = stage.feed("not committed", 1)
    stage.await_values([first], more)
    first.kill()
    second = stage.member()
    last = stage.feed("last", 2)
    stage.await_values([second], more | last)
    stage.see("read by the second", sorted(second.read))
    stage.commit([second])
    stage.leave(second)
    third = stage.member()
    stage.await_values([third], stage.feed("third", 1))
    stage.see("read by the third", sorted(third.read))
    answer = stage.administrator()({"call": "group_offsets", "group": stage.group, "topic": stage.topic})
    stage.see("offsets of the group", answer)


def _static_comes_back(stage: Stage) -> None:
    first, second = stage.member("a"), stage.member("b")
    stage.await_shares([first, second], [3, 3])
    stage.await_values([first, second], stage.feed("both"))
    stage.commit([first, second])
    had, so_far = first.assigned, len(second.assignments)
    if stage.settings["protocol"] == "consumer":  # a killed member keeps its name until its session is over
        stage.leave(first)
        stage.await_heartbeats()
    else:
        first.kill()
    again = stage.member("a")
    stage.await_that("what it had", lambda: again.assigned == had)
    stage.await_values([again, second], stage.feed("again"))
    stage.see("the other one has felt it", len(second.assignments) > so_far)
    stage.see(READ_TWICE, _twice([first, second, again]))


def _static_twice(stage: Stage) -> None:
    """Two of one name: in classic groups the second takes it from the first, with KIP-848 the first keeps it."""
    first = stage.member("a")
    stage.await_shares([first], [6])
    second = stage.member("a")
    stage.await_that("an error", lambda: bool(first.errors or second.errors))
    stage.see("the first was told", sorted(set(first.errors)))
    stage.see("the second was told", sorted(set(second.errors)))


PLAYS = (
    Play("earliest", _from_earliest, _EAGER),
    Play("earliest-consumer", _from_earliest, _CONSUMER),
    Play("latest", _from_latest, _EAGER),
    Play("one-dies-eager", _one_dies, _EAGER),
    Play("one-dies-cooperative", _one_dies, _COOPERATIVE),
    Play("one-dies-consumer", _one_dies, _CONSUMER),
    Play("resume", _resume, _EAGER),
    Play("resume-consumer", _resume, _CONSUMER),
    Play("static-comes-back", _static_comes_back, _EAGER | _LONG),
    Play("static-comes-back-consumer", _static_comes_back, _CONSUMER | _LONG),
    Play("static-twice", _static_twice, _EAGER),
    Play("static-twice-consumer", _static_twice, _CONSUMER),
    Play("administrator", administer, partitions=2),
)


def played(play: Play, stage: Stage) -> JobReport:
    """Run the play and return its report. A program that breaks, and a condition that never holds, is reported as
    "broken". That never counts as the same."""
    try:
        with stage.open():
            play.run(stage)
    except Unsupported as reason:
        return JobReport(str(reason))
    except (Broken, RuntimeError) as how:
        return JobReport(None, seen=stage.seen, broken=str(how))
    return JobReport(None, seen=stage.seen)
