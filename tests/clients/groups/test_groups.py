"""Groups of stock clients, unmodified: assignments when members join, die, restart, commit and resume."""

from __future__ import annotations

from typing import Any

import pytest
from support import doses
from support.groups import (
    CLASSIC,
    CONSUMER_GROUP_DESCRIBE,
    CONSUMER_GROUP_HEARTBEAT,
    Brokers,
    Member,
    await_shares,
    await_values,
    members,
)
from support.watchdog import wait_until

pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.needs_apis(*CLASSIC),
]

PARTITIONS = 6
SESSION_MS, HEARTBEAT_MS = 1_500, 300
LONG_MS = 20_000
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}  # KIP-848


def confluent(session_ms: int) -> dict[str, Any]:
    return {"session.timeout.ms": session_ms, "heartbeat.interval.ms": HEARTBEAT_MS}


def others(session_ms: int) -> dict[str, Any]:
    return {"session_timeout_ms": session_ms, "heartbeat_interval_ms": HEARTBEAT_MS}


def settings(client: str, session_ms: int = SESSION_MS) -> dict[str, Any]:
    return confluent(session_ms) if client == "confluent" else others(session_ms)


CLIENTS = ["confluent", "kafka-python", "aiokafka"]
WAYS = [
    *(pytest.param(client, settings(client), id=client) for client in CLIENTS),
    pytest.param("confluent", confluent(SESSION_MS) | COOPERATIVE, id="confluent, cooperative"),
    pytest.param(
        "confluent",
        CONSUMER,
        id="confluent, KIP-848",
        marks=pytest.mark.needs_apis(CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE),
    ),
]


@pytest.mark.parametrize(("client", "given"), WAYS)
def test_three_members_share_and_what_a_dead_one_had_goes_to_the_others(
    brokers: Brokers, group: str, client: str, given: dict[str, Any]
) -> None:
    topic = brokers.topic(PARTITIONS)
    with members(3, client, brokers, group, topic, given) as three:
        await_shares(three, [2, 2, 2])
        await_values(three, brokers.produce(topic, PARTITIONS, 10))
        dead = three.pop()
        dead.kill()
        await_shares(three, [3, 3])
        await_values(three, brokers.produce(topic, PARTITIONS, 10, "after"))
        three.pop().close()
        await_shares(three, [6])


@pytest.mark.parametrize(("client", "given"), WAYS)
def test_a_group_resumes_where_it_has_committed(
    brokers: Brokers, group: str, client: str, given: dict[str, Any]
) -> None:
    topic = brokers.topic(1)
    values = brokers.produce(topic, 1, 20)
    with Member(client, brokers, group, topic, given, stop_after=12) as first:
        first.await_end()  # what it has read is committed when it closes
    with Member(client, brokers, group, topic, given) as second:
        await_values([first, second], values)
    assert len(first.values) >= 12
    assert set(first.values).isdisjoint(second.values)


@pytest.mark.parametrize(("client", "given"), WAYS)
def test_a_group_that_starts_at_the_earliest_offset_reads_each_record_once(
    brokers: Brokers, group: str, client: str, given: dict[str, Any]
) -> None:
    topic = brokers.topic(2)
    values = brokers.produce(topic, 2, 20, "before")
    earliest = {"auto.offset.reset" if client == "confluent" else "auto_offset_reset": "earliest"}
    with Member(client, brokers, group, topic, given | earliest) as member:
        await_values([member], values)
        values |= brokers.produce(topic, 2, 20, "after")
        await_values([member], values)
        assert sorted(member.values) == sorted(values)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_group_that_starts_at_the_latest_offset_reads_later_records(
    brokers: Brokers, group: str, client: str
) -> None:
    topic = brokers.topic(1)
    brokers.produce(topic, 1, 5, "before")
    latest = {"auto.offset.reset" if client == "confluent" else "auto_offset_reset": "latest"}
    with Member(client, brokers, group, topic, settings(client) | latest) as member:
        await_shares([member], [1])
        wanted: set[str] = set()

        def is_read() -> bool:  # the position is looked up a moment after the partition is assigned
            wanted.update(brokers.produce(topic, 1, 1, f"after-{len(wanted)}"))
            return bool(member.values)

        wait_until(is_read, "a record")
        assert not [value for value in member.values if value.startswith("before")]


@pytest.mark.parametrize("client", doses.nightly_but(["confluent", "aiokafka"], CLIENTS))
def test_a_static_member_that_comes_back_has_what_it_had(brokers: Brokers, group: str, client: str) -> None:
    topic = brokers.topic(PARTITIONS)
    name = "group.instance.id" if client == "confluent" else "group_instance_id"
    given = settings(client, LONG_MS)
    with (
        Member(client, brokers, group, topic, given | {name: "a"}) as first,
        Member(client, brokers, group, topic, given | {name: "b"}) as second,
    ):
        await_shares([first, second], [3, 3])
        had, so_far = first.assigned, len(second.assignments)
        first.kill()
        with Member(client, brokers, group, topic, given | {name: "a"}) as again:
            wait_until(lambda: again.assigned == had, "what it had")
            assert len(second.assignments) == so_far


def test_a_cooperative_member_keeps_what_it_does_not_give(brokers: Brokers, group: str) -> None:
    topic = brokers.topic(PARTITIONS)
    with Member("confluent", brokers, group, topic, confluent(SESSION_MS) | COOPERATIVE) as first:
        await_shares([first], [PARTITIONS])
        with Member("confluent", brokers, group, topic, confluent(SESSION_MS) | COOPERATIVE) as second:
            await_shares([first, second], [3, 3])
            assert first.revoked == set(second.assigned)
            assert [] not in first.assignments
