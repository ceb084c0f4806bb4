"""Faults that change the cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.faulty import FaultyCluster
from support.requests import produce

from fakebroker.core.replication.behaviour import Behaviour


def test_the_coordinator_of_a_group_moves() -> None:
    kafka = FaultyCluster()
    client = kafka.connect()
    client.ask(10, 4, key_type=0, coordinator_keys=("g",))
    kafka.advance(100)
    partition = kafka.partition(kafka.cluster.brokers[1].groups.partition_for("g"), "__consumer_offsets")
    before = partition.leader_id
    kafka.add({"api": "DescribeGroups", "group": "g"}, "move_coordinator")
    description = kafka.connect(before).ask(15, 5, groups=("g",), include_authorized_operations=False)
    assert [int(group.error_code) for group in description.groups] == [16]  # it was moved before the work
    assert partition.leader_id != before


def test_a_coordinator_that_no_client_has_requested_cannot_move() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "DescribeGroups", "group": "g"}, "move_coordinator")
    kafka.connect().ask(15, 5, groups=("g",), include_authorized_operations=False)
    [warning] = kafka.warnings
    assert "No client has requested __consumer_offsets" in warning


@pytest.mark.parametrize(
    ("do", "answered_ms"),
    [({"lag": 30}, 30), ({"lag": {"ms": 30, "broker": 2}}, 30), ({"throttle_followers": 1_000}, 68), ("thaw", 0)],
)
def test_followers_do_as_they_are_told_from_then_on(do: Any, answered_ms: int) -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "at": "after_append"}, do)
    client = kafka.connect()
    client.send(produce("t", 0, timeout_ms=1_000))
    kafka.advance(2_000)
    [(at_ms, _)] = client.came
    assert abs(at_ms - answered_ms) <= 2
    assert client.produced() == [{0: (0, 0)}]


def test_frozen_and_thawed_by_name() -> None:
    kafka = FaultyCluster()
    kafka.cluster.admin.set_followers(Behaviour.parse("frozen"), kafka.now)
    kafka.add({"api": "Metadata"}, {"lag": {"topic": "t", "ms": 5}})
    client = kafka.connect()
    client.send(produce("t", 1))
    rest = {"include_cluster_authorized_operations": False, "include_topic_authorized_operations": False}
    kafka.connect(2).ask(3, 9, topics=None, allow_auto_topic_creation=False, **rest)
    kafka.advance(10)
    assert client.produced() == [{1: (0, 0)}]


def test_lose_leader_stops_the_leader_of_the_partition() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "partition": 0}, "lose_leader")
    client = kafka.connect()
    client.send(produce("t", 0))
    assert client.end == "fin"
    assert not kafka.cluster.lives.is_running(1)


def test_a_commit_of_offsets_that_is_lost_after_it_was_written() -> None:
    kafka = FaultyCluster()
    client = kafka.connect()
    client.ask(10, 4, key_type=0, coordinator_keys=("g",))
    kafka.advance(100)
    partition = kafka.partition(kafka.cluster.brokers[1].groups.partition_for("g"), "__consumer_offsets")
    client = kafka.connect(partition.leader_id)
    armed = kafka.add({"api": "OffsetCommit", "group": "g", "at": "after_append"}, "NOT_COORDINATOR")
    offset = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
    member = {"member_id": "", "generation_id_or_member_epoch": -1, "group_instance_id": None}
    topics = ({"name": "t", "partitions": (offset,)},)
    commit = client.ask(8, 8, group_id="g", topics=topics, **member)
    assert int(commit.topics[0].partitions[0].error_code) == 16
    assert armed.hits == 1
    fetched = client.ask(9, 7, group_id="g", topics=({"name": "t", "partition_indexes": (0,)},), require_stable=False)
    assert fetched.topics[0].partitions[0].committed_offset == 5  # it was done


def test_a_topic_exists_although_its_response_was_lost() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "CreateTopics", "at": "before_answer"}, "disconnect")
    client = kafka.connect()
    new = {"name": "a", "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    with pytest.raises(Exception, match=r"."):
        client.ask(19, 7, topics=(new,), timeout=timedelta(seconds=1), validate_only=False)
    assert client.end == "fin"
    assert kafka.cluster.metadata.topic("a") is not None


def test_a_broker_is_killed_after_the_append_and_other_requests_are_handled_behind_that() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "partition": 0, "at": "after_append"}, ["freeze", {"kill": 1}])
    client, other = kafka.connect(), kafka.connect(2)
    client.send(produce("t", 0))
    other.send(produce("t", 1))
    assert client.end in ("reset", "fin")
    assert client.data == b""
    assert other.produced() == [{1: (6, -1)}]
    assert kafka.cluster.lives.state_of(1) == "killed"


def test_a_broker_is_paused_and_goes_on() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "partition": 0, "at": "after_append"}, {"pause": 3})
    kafka.add({"api": "Produce", "partition": 1}, {"resume": 3})
    client = kafka.connect()
    client.send(produce("t", 0, timeout_ms=100))
    kafka.advance(100)
    assert client.produced() == [{0: (7, 0)}]
    assert kafka.cluster.lives.state_of(3) == "paused"
    client.send(produce("t", 1))
    kafka.advance(2_000)
    assert kafka.cluster.lives.state_of(3) == "running"
    assert kafka.partition().high_watermark == 1
