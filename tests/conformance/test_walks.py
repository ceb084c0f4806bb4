"""Walks of groups: the same on two clusters that are alike; what differs is found, and made smaller."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest
from support import doses
from support.virtual_target import VirtualTarget

from conformance.consumer_group_frames import heartbeat
from conformance.generated.walks import search
from conformance.generated.walks.case_search import TRANSACTIONS, USERS, run_case_walks
from conformance.generated.walks.classic import classic_walk
from conformance.generated.walks.rounds import ROUND_BOX, make_round
from conformance.generated.walks.search import BOX, run_rounds, run_walks
from conformance.generated.walks.told import ALL_TOLD, FEWER, Told, told_epoch
from conformance.generated.walks.transaction_scene import box_of
from conformance.generated.walks.transactional import transaction_walk
from conformance.generated.walks.users import users_walk
from conformance.generated.walks.walk import CLIENTS, made_up, step_words
from conformance.scenario import AwaitTransaction, Hear, Send
from conformance.targets.boxes import BOXES


@dataclass
class TwoOfUs:
    """Two simulated clusters in virtual time, one of them with other settings."""

    kafka: dict[str, VirtualTarget]
    ours: dict[str, VirtualTarget]


def two_of_us(name: str = BOX, **other: str) -> TwoOfUs:
    box = BOXES[name]
    box = replace(box, config=box.config | {"offsets.topic.num.partitions": "1"})
    changed = replace(box, config=box.config | {key.replace("_", "."): value for key, value in other.items()})
    return TwoOfUs({name: VirtualTarget(box)}, {name: VirtualTarget(changed)})


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


def test_consumers_and_an_admin_walk_too() -> None:
    result = run_walks(two_of_us("consumer-groups"), 12, at_once=1, kind="consumer")

    assert (result.walks, result.repeated, result.differences) == (12, 0, [])
    reached = result.codes
    apis = {api for api, code in reached if code == "NONE(0)"}
    assert {"ConsumerGroupHeartbeat", "OffsetFetch", "CreateTopics"} <= apis
    assert ("ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH(110)") in reached


def test_what_consumers_are_told_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PATIENT", 1.0)
    other = two_of_us("consumer-groups", group_consumer_heartbeat_interval_ms="5001")
    result = run_walks(other, 1, at_once=1, most_differences=1, kind="consumer")
    [difference] = result.differences
    assert "heartbeat_interval" in difference.signature
    assert len(difference.walk.steps) == 1


# Every day: test_producers_walk_too[transactions-three] goes over three brokers, test_deaths.py stops some.
@pytest.mark.nightly
def test_a_round_over_three_brokers() -> None:
    """Ours twice: the coordinator moves, brokers stop and start, and the walks go on."""
    result = run_rounds(two_of_us(ROUND_BOX), 48, at_once=1)

    assert (result.walks, result.repeated, result.differences) == (48, 0, [])
    assert ("JoinGroup", "NOT_COORDINATOR(16)") in result.codes


def test_rounds_stop_no_broker_that_coordinates() -> None:
    rounds = [make_round(seed) for seed in range(20)]
    assert {len(walk_round.events) for walk_round in rounds} == {2, 3}
    for walk_round in rounds:
        assert all(event.stops != event.coordinator and event.stops != 1 for event in walk_round.events)
        assert {event.stops for event in walk_round.events} == {event.starts for event in walk_round.events}
        assert walk_round.events[-1].coordinator == 1
    assert make_round(3) == make_round(3) != make_round(4)


def test_a_member_says_what_it_was_told() -> None:
    topic = uuid4()
    member = Told()
    assignment = {"topic_partitions": [{"topic_id": str(topic), "partitions": [0, 2]}]}
    member.hear("b", {"error_code": "NONE(0)", "member_epoch": 7, "assignment": assignment})
    member.hear("b", {"error_code": "FENCED_MEMBER_EPOCH(110)", "member_epoch": 0, "assignment": None})

    frame = heartbeat("g", "m", told_epoch("b", -1), owned=[(ALL_TOLD, [0])])
    assert member.put_in("b", frame) == heartbeat("g", "m", 6, owned=[(topic, [0, 2])])
    frame = heartbeat("g", "m", told_epoch("b"), owned=[(FEWER, [0])])
    assert member.put_in("b", frame) == heartbeat("g", "m", 7, owned=[(topic, [0])])
    assert member.put_in("a", heartbeat("g", "m", told_epoch("a"))) == heartbeat("g", "m", 0)


@pytest.mark.parametrize("kind", doses.nightly_but(["transactions-three"], TRANSACTIONS))
def test_producers_walk_too(kind: str) -> None:
    walks = 10 if TRANSACTIONS[kind][1] == 1 else 5
    result = run_case_walks(two_of_us(_box_of(kind)), walks, at_once=1, kind=kind)

    assert (result.walks, result.repeated, result.differences) == (walks, 0, [])
    assert {("EndTxn", "NONE(0)"), ("Produce", "INVALID_PRODUCER_EPOCH(47)"), ("Fetch", "NONE(0)")} <= set(result.codes)


def test_producers_meet_what_is_rare() -> None:
    """Rare situations occur: a transaction times out, a producer is a member of a group, and brokers verify several
    producers at once."""
    steps = [step for seed in range(60) for step in transaction_walk(seed, "walk", 2)[1].steps]
    assert any(isinstance(step, AwaitTransaction) and step.over for step in steps)
    keys = {frame[4:8] for step in steps if isinstance(step, Send) for frame in step.frames}
    named = {(struct.unpack(">hh", key)) for key in keys}
    assert {(11, 9), (14, 5), (24, 4), (24, 5), (28, 6), (61, 0), (66, 0), (66, 1), (66, 2)} <= named
    partitions = {transaction_walk(seed, "walk", 2)[0].partitions for seed in range(20)}
    assert partitions == {1, 3, 7}


@pytest.mark.nightly
def test_what_producers_are_told_otherwise_is_found_and_made_smaller() -> None:
    kind = "transactions-v1"
    other = two_of_us(_box_of(kind), transaction_partition_verification_enable="false")
    result = run_case_walks(other, 4, at_once=1, kind=kind)

    difference = result.differences[0]
    refused = ("INVALID_TXN_STATE(48)", "TRANSACTION_ABORTABLE(120)", "INVALID_PRODUCER_ID_MAPPING(49)")
    assert any(finding.kafka in refused for finding in difference.outcome.unexplained)
    whole = transaction_walk(difference.seed, "walk", 1)[1]
    assert len(difference.outcome.case.steps) < len(whole.steps)


def test_users_walk_too() -> None:
    """Permissions change between requests, and while some are parked."""
    result = run_case_walks(two_of_us("users"), 10, at_once=1, kind=USERS)

    assert (result.walks, result.repeated, result.differences) == (10, 0, [])
    for api in ("Produce", "Fetch", "JoinGroup", "OffsetCommit"):
        codes = {code for name, code in result.codes if name == api}
        assert "NONE(0)" in codes, api
        assert any("AUTHORIZATION_FAILED" in code for code in codes), api
    assert {("Heartbeat", "REBALANCE_IN_PROGRESS(27)"), ("DeleteAcls", "NONE(0)"), ("EndTxn", "NONE(0)")} <= set(
        result.codes
    )


def test_what_users_may_do_otherwise_is_found() -> None:
    other = two_of_us("users", allow_everyone_if_no_acl_found="true")
    result = run_case_walks(other, 1, at_once=1, kind=USERS)

    difference = result.differences[0]
    assert any("AUTHORIZATION_FAILED" in str(finding.kafka) for finding in difference.outcome.unexplained)
    whole = users_walk(difference.seed, "walk")[1]
    assert len(difference.outcome.case.steps) < len(whole.steps)


def test_a_walk_of_users_changes_permissions_while_requests_are_parked() -> None:
    """A request is sent on a connection, permissions change, and only then its answer is heard."""
    parked = 0
    for seed in range(10):
        sent: dict[str, int] = {}
        changes = 0
        for step in users_walk(seed, "walk")[1].steps:
            if isinstance(step, Send) and step.conn == "harness":
                changes += any(struct.unpack_from(">h", frame, 4)[0] in (30, 31) for frame in step.frames)
            elif isinstance(step, Send):
                sent[step.conn] = changes
            elif isinstance(step, Hear):
                parked += changes > sent[step.conn]
    assert parked >= 10


def _box_of(kind: str) -> str:
    return box_of(*TRANSACTIONS[kind])


def test_the_same_seed_makes_the_same_walk() -> None:
    assert classic_walk(7) == classic_walk(7) != classic_walk(8)


def test_stand_ins_are_no_ids_of_others() -> None:
    assert len({made_up(client, number) for client in CLIENTS for number in range(20)}) == 80
