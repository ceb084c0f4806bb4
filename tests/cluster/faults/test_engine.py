"""Faults in virtual time and without sockets: the client's response, and the broker's state."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.faulty import FaultyCluster
from support.requests import ONE_RECORD, PRODUCE, metadata, produce, request

from fakebroker.core.faults.actions import Hold
from fakebroker.core.journal.events import Answer
from fakebroker.core.journal.fault_events import FaultAdded, FaultFired, FaultRemoved

TO_T0 = {"api": "Produce", "topic": "t", "partition": 0}


def produced_to_t0(do: Any, acks: int = -1, **when: Any) -> tuple[FaultyCluster, Any]:
    """Return a cluster with a fault for one Produce, and the client that sent it a second ago."""
    kafka = FaultyCluster()
    kafka.add({**TO_T0, **when}, do)
    client = kafka.connect()
    client.send(produce("t", 0, acks=acks))
    kafka.advance(1_000)
    return kafka, client


@pytest.mark.parametrize("acks", [-1, 1])
@pytest.mark.parametrize(
    "error", ["NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "CORRUPT_MESSAGE", "INVALID_RECORD"]
)
def test_before_the_work_nothing_is_appended(error: str, acks: int) -> None:
    kafka, client = produced_to_t0(error, acks)
    [partitions] = client.produced()
    assert partitions[0][1] == -1
    assert partitions[0][0] > 0
    assert kafka.log_end() == 0


@pytest.mark.parametrize(
    ("versions", "fires"), [(9, True), ("9-10", True), ("8-9", True), ("9+", True), ("3-8", False), ("10+", False)]
)
def test_a_fault_for_some_versions_has_both_ends(versions: int | str, fires: bool) -> None:
    _, client = produced_to_t0("NOT_ENOUGH_REPLICAS", versions=versions)  # in version 9
    assert client.produced() == [{0: (19, -1) if fires else (0, 0)}]


@pytest.mark.parametrize(
    ("error", "code", "watermark"), [("REQUEST_TIMED_OUT", 7, 1), ("NOT_ENOUGH_REPLICAS_AFTER_APPEND", 20, 1)]
)
def test_after_the_append_it_is_in_the_log_under_the_offset_that_is_told(error: str, code: int, watermark: int) -> None:
    kafka, client = produced_to_t0(error)
    assert client.produced() == [{0: (code, 0)}]
    assert kafka.log_end() == 1
    assert kafka.partition().high_watermark == watermark


def test_what_only_acks_all_is_told_is_not_told_to_acks_1() -> None:
    kafka, client = produced_to_t0("REQUEST_TIMED_OUT", acks=1)
    assert client.produced() == [{0: (0, 0)}]
    assert kafka.cluster.faults.armed[0].hits == 0


def test_the_lost_acknowledgement_and_the_journal_explains_it() -> None:
    kafka, client = produced_to_t0("disconnect", at="after_append")
    assert client.data == b""
    assert (client.end, client.reason) == ("fin", "fault f1: disconnect")
    assert kafka.log_end() == 1
    [fired] = kafka.told(FaultFired)
    assert (fired.fault, fired.request, fired.at, fired.done) == ("f1", 1, "after_append", "disconnect")
    [answer] = kafka.told(Answer)
    assert (answer.outcome, answer.reason) == ("dropped", "fault f1: disconnect after_append")
    [added] = kafka.told(FaultAdded)
    assert added.text == "disconnect after_append of api=Produce, topic=t, partition=0"


def test_an_append_is_noticed_after_another_faulty_request_has_ended() -> None:
    kafka = FaultyCluster()
    hold = kafka.add({**TO_T0, "at": "before_work"}, "hold")
    kafka.add({**TO_T0, "at": "after_append"}, "disconnect")
    kafka.add({**TO_T0, "partition": 1}, "NOT_LEADER_OR_FOLLOWER")
    held, other = kafka.connect(), kafka.connect()
    held.send(produce("t", 0))
    other.send(produce("t", 1))
    assert other.produced() == [{1: (6, -1)}]
    kafka.release(hold)
    kafka.advance(1_000)
    assert (held.data, held.end, kafka.log_end()) == (b"", "fin", 1)


def test_an_answer_says_which_fault_or_which_rule_it_follows() -> None:
    kafka = FaultyCluster(followers="frozen")
    kafka.add(TO_T0, "NOT_ENOUGH_REPLICAS")
    client = kafka.connect()
    client.send(produce("t", 0), produce("t", 0, timeout_ms=10), produce("nobody"))
    kafka.advance(100)
    by_fault, in_vain, unknown = kafka.told(Answer)
    assert by_fault.reason == "fault f1: error NOT_ENOUGH_REPLICAS before_work"
    assert by_fault.partitions[0].error == "NOT_ENOUGH_REPLICAS"
    assert in_vain.reason.startswith("REQUEST_TIMED_OUT: it is appended, and the in-sync replicas did not all have it")
    assert unknown.reason.startswith("UNKNOWN_TOPIC_OR_PARTITION: the partition does not exist")


@pytest.mark.parametrize("at", ["before_work", "after_append"])
def test_the_other_partitions_of_the_request_are_handled_as_ever(at: str) -> None:
    kafka = FaultyCluster()
    kafka.add({**TO_T0, "at": at}, "NOT_LEADER_OR_FOLLOWER")
    client = kafka.connect()
    client.send(produce("t", partitions={0: ONE_RECORD, 1: ONE_RECORD, 2: b"bad"}))
    [partitions] = client.produced()
    assert partitions[0] == (6, -1 if at == "before_work" else 0)
    assert partitions[1] == (0, 0)
    assert partitions[2][0] > 0
    assert [kafka.log_end(index) for index in (0, 1)] == [0 if at == "before_work" else 1, 1]


def test_two_faults_of_one_request_each_have_their_partition() -> None:
    kafka = FaultyCluster()
    kafka.add(TO_T0, "NOT_LEADER_OR_FOLLOWER")
    kafka.add({**TO_T0, "partition": 1}, "CORRUPT_MESSAGE")
    client = kafka.connect()
    client.send(produce("t", partitions={0: ONE_RECORD, 1: ONE_RECORD, 2: ONE_RECORD}))
    assert client.produced() == [{2: (0, 0), 0: (6, -1), 1: (2, -1)}]


@pytest.mark.parametrize("version", [7, 9, 12, 13])
def test_by_name_and_by_id_in_any_version(version: int) -> None:
    kafka = FaultyCluster()
    topic = kafka.cluster.controller.existing("t")
    kafka.add(TO_T0, "CORRUPT_MESSAGE")
    kafka.add({"api": "Produce", "topic_id": topic.topic_id, "partition": 1}, "INVALID_RECORD")
    client = kafka.connect()
    partitions: dict[int, bytes | None] = dict.fromkeys(range(3), ONE_RECORD)
    client.send(produce(topic.topic_id if version >= 13 else "t", partitions=partitions, version=version))
    [errors] = client.produced(version)
    assert {index: error for index, (error, _) in errors.items()} == {0: 2, 1: 87, 2: 0}


def test_acks_0_is_not_answered_an_error_closes_the_connection() -> None:
    kafka, client = produced_to_t0("CORRUPT_MESSAGE", acks=0)
    assert client.data == b""
    assert client.end == "fin"
    assert kafka.log_end() == 0


def test_with_acks_0_the_other_partitions_are_appended_before_the_connection_is_closed() -> None:
    kafka = FaultyCluster()
    kafka.add(TO_T0, "NOT_LEADER_OR_FOLLOWER")
    client = kafka.connect()
    client.send(produce("t", partitions={0: ONE_RECORD, 1: ONE_RECORD}, acks=0))
    assert (client.data, client.end) == (b"", "fin")
    assert client.reason is not None
    assert client.reason.endswith("NOT_LEADER_OR_FOLLOWER on t-0"), client.reason
    assert [kafka.log_end(index) for index in (0, 1)] == [0, 1]


def test_a_delayed_request_with_acks_0_lets_the_next_one_on_its_connection_be_handled() -> None:
    kafka, client = produced_to_t0({"delay": 30}, acks=0)
    assert kafka.log_end() == 1
    client.send(produce("t", 0))
    assert client.produced() == [{0: (0, 1)}]


def test_times_are_counted_by_request() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "topic": "t"}, "CORRUPT_MESSAGE", times={"every": 2, "count": 2})
    client = kafka.connect()
    for _ in range(7):
        client.send(produce("t", 0))
    assert [partitions[0][0] for partitions in client.produced()] == [0, 2, 0, 2, 0, 0, 0]
    assert kafka.cluster.faults.armed[0].hits == 2


@pytest.mark.parametrize("at", ["request_read", "before_work", "after_append", "after_watermark", "before_answer"])
def test_a_delay_is_on_the_brokers_clock_and_the_next_request_waits(at: str) -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "at": at}, {"delay": 30})
    client, other = kafka.connect(), kafka.connect()
    client.send(produce("t", 0), produce("t", 0))
    other.send(produce("t", 1))
    assert (len(client.frames), len(other.frames)) == (0, 1)
    kafka.advance(29)
    assert client.frames == []
    kafka.advance(1)
    assert client.produced() == [{0: (0, 0)}, {0: (0, 1)}]


def test_within_a_window_of_the_clock_and_for_one_client() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "from_ms": 10, "until_ms": 20, "client_id": "test"}, 2, "every_time")
    client = kafka.connect()
    for wait in (0, 10, 9, 1):
        kafka.advance(wait)
        client.send(produce("t", 0), produce("t", 0, client_id="other"))
    assert [partitions[0][0] for partitions in client.produced()] == [0, 0, 2, 0, 2, 0, 0, 0]


def test_a_predicate_sees_the_request_and_one_that_fails_matches_nothing() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "predicate": lambda seen: seen.request.acks == 1}, 2, "every_time")
    kafka.add({"api": "Produce", "predicate": lambda seen: seen.nothing}, 3, "every_time")
    client = kafka.connect()
    client.send(produce("t", 0), produce("t", 0, acks=1))
    assert [partitions[0][0] for partitions in client.produced()] == [0, 2]
    [warning] = kafka.warnings
    assert warning.startswith("the predicate of fault f2 failed")


@pytest.mark.parametrize("point", ["before_work", "after_append", "before_answer"])
def test_a_barrier_holds_until_it_is_released(point: str) -> None:
    kafka = FaultyCluster()
    armed = kafka.add({"api": "Produce", "at": point}, Hold(), "every_time")
    clients = [kafka.connect() for _ in range(3)]
    for client in clients:
        client.send(produce("t", 0))
    assert armed.held == 3
    assert kafka.log_end() == (0 if point == "before_work" else 3)
    assert kafka.release(armed, 1) == 1
    assert [len(client.frames) for client in clients] == [1, 0, 0]
    kafka.cluster.now = kafka.now
    kafka.cluster.faults.remove(armed)
    kafka.cluster.advance_to(kafka.now)
    kafka.settle()
    assert [len(client.frames) for client in clients] == [1, 1, 1]
    [removed] = kafka.told(FaultRemoved)
    assert (removed.hits, removed.reason) == (3, "removed")


def test_a_held_request_of_a_client_that_has_gone_is_done_all_the_same() -> None:
    kafka = FaultyCluster()
    armed = kafka.add({"api": "Produce"}, "hold")
    client = kafka.connect()
    client.send(produce("t", 0))
    kafka.cluster.connection_lost(client.connection, kafka.now)
    assert kafka.release(armed) == 1
    assert kafka.log_end() == 1


# What changes the cluster.


def test_a_leader_move_after_the_append_completes_the_parked_request() -> None:
    kafka = FaultyCluster()
    kafka.add({**TO_T0, "at": "after_append"}, "move_leader")
    client = kafka.connect()
    client.send(produce("t", 0))
    assert client.produced() == [{0: (6, 0)}]
    assert kafka.partition().leader_id == 2
    assert kafka.log_end() == 0  # its followers had not fetched it yet: it is lost with the old leader


def test_the_leader_moves_before_the_work() -> None:
    kafka = FaultyCluster()
    kafka.add(TO_T0, {"move_leader": 3})
    client = kafka.connect()
    client.send(produce("t", 0))
    assert client.produced() == [{0: (6, -1)}]
    assert kafka.partition().leader_id == 3


def test_followers_freeze_after_the_append_and_the_timeout_arises_by_itself() -> None:
    kafka = FaultyCluster()
    kafka.add({**TO_T0, "at": "after_append"}, "freeze")
    client = kafka.connect()
    client.send(produce("t", 0, timeout_ms=500))
    kafka.advance(499)
    assert client.frames == []
    kafka.advance(1)
    assert client.produced() == [{0: (7, 0)}]
    assert kafka.partition().high_watermark == 0


def test_the_isr_shrinks_and_fewer_are_in_sync_than_have_to_be() -> None:
    kafka = FaultyCluster(min_insync_replicas=2)
    kafka.add(TO_T0, ["freeze", "shrink_isr"])
    client = kafka.connect()
    client.send(produce("t", 0))
    assert client.produced() == [{0: (19, -1)}]
    assert kafka.partition().isr == {1}


def test_a_broker_stops_after_the_append_and_starts_again() -> None:
    kafka = FaultyCluster()
    kafka.add({**TO_T0, "at": "after_append"}, "stop")
    client = kafka.connect()
    client.send(produce("t", 0))
    assert client.end == "fin"
    assert not kafka.cluster.lives.is_running(1)
    kafka.add({**TO_T0, "broker": 2, "partition": 1}, {"start": 1})
    kafka.connect(2).send(produce("t", 1))
    assert kafka.cluster.lives.is_running(1)


NO_BROKER_9 = "there is no broker 9: the ids are 1 to 3"


@pytest.mark.parametrize(
    "verb",
    [
        "stop", "start", "kill", "pause", "resume", "move_leader", "shrink_isr", "freeze", "thaw", "lag",
        "throttle_followers",
    ],
)  # fmt: skip
def test_an_action_on_a_broker_that_does_not_exist_is_refused(verb: str) -> None:
    kafka = FaultyCluster()
    with pytest.raises(ValueError) as raised:
        kafka.add(TO_T0, [{"delay": 1}, {verb: {"broker": 9}}])
    assert str(raised.value) == f"{verb!r} can never act: {NO_BROKER_9}"
    with pytest.raises(ValueError, match=f"'move_coordinator' can never act: {NO_BROKER_9}"):
        kafka.add({"api": "JoinGroup"}, {"move_coordinator": 9})
    assert kafka.cluster.faults.armed == []
    assert kafka.told(FaultAdded) == []
    assert kafka.add(TO_T0, {verb: {"broker": 3}}).name == "f1"


@pytest.mark.parametrize("at", ["connect", "before_work"])
def test_a_request_to_a_broker_that_does_not_exist_is_refused(at: str) -> None:
    kafka = FaultyCluster()
    with pytest.raises(ValueError) as raised:
        kafka.add({"broker": [1, 9], "at": at}, "disconnect")
    assert str(raised.value) == f"the fault can never match: {NO_BROKER_9}"
    assert kafka.cluster.faults.armed == []


def test_what_cannot_be_done_is_told_and_the_request_goes_on() -> None:
    kafka = FaultyCluster()
    kafka.cluster.lives.stop_broker(2, kafka.now)
    armed = kafka.add(TO_T0, {"move_leader": 2})
    client = kafka.connect()
    client.send(produce("t", 0))
    assert client.produced() == [{0: (0, 0)}]
    [warning] = kafka.warnings
    assert warning.startswith("fault f1 could not do 'move_leader': Broker 2 cannot lead t-0")
    assert armed.problems == [warning.removeprefix("fault f1 ")]


def test_an_action_on_a_partition_or_a_coordinator_waits_for_a_request_that_names_one() -> None:
    kafka = FaultyCluster()
    leader = kafka.add({"topic": "t"}, "move_leader")
    coordinator = kafka.add({}, "move_coordinator")
    client = kafka.connect()
    client.send(metadata(["t"]), metadata(None))
    assert len(client.frames) == 2
    assert (leader.matches, leader.hits, coordinator.matches) == (0, 0, 0)
    client.send(produce("t", 1))
    assert kafka.partition(1).leader_id == 2
    assert kafka.partition(0).leader_id == 1
    assert (leader.hits, leader.problems, coordinator.matches) == (1, [], 0)


def test_what_can_never_be_done_is_told_once() -> None:
    kafka = FaultyCluster()
    for broker_id in (2, 3):
        kafka.cluster.lives.stop_broker(broker_id, kafka.now)
    armed = kafka.add(TO_T0, [{"move_leader": 2}, {"move_leader": 3}], "every_time")
    client = kafka.connect()
    for _ in range(3):
        client.send(produce("t", 0, acks=1))
    assert len(client.produced()) == 3
    assert [warning.split(":")[0] for warning in kafka.warnings] == ["fault f1 could not do 'move_leader'"] * 2
    assert len(armed.problems) == 2


# Connections and answers.


def test_on_connecting() -> None:
    kafka = FaultyCluster()
    kafka.add({"at": "connect", "broker": 1}, "disconnect")
    kafka.add({"at": "connect"}, {"delay": 20})
    assert kafka.connect(1).end == "fin"
    client = kafka.connect(1)
    client.send(produce("t", 0))
    assert client.frames == []
    kafka.advance(20)
    assert client.produced() == [{0: (0, 0)}]
    kafka.add({"at": "connect"}, "blackhole")
    silent = kafka.connect(2)
    silent.send(produce("t", 0))
    kafka.advance(10_000)
    assert (silent.data, silent.end) == (b"", "")


@pytest.mark.parametrize("at", ["request_read", "before_work", "after_append", "before_answer", "after_answer"])
def test_a_blackhole_is_open_and_silent(at: str) -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "at": at}, "blackhole")
    client = kafka.connect()
    client.send(produce("t", 0), produce("t", 0))
    kafka.advance(10_000)
    assert client.end == ""
    assert len(client.frames) == (1 if at == "after_answer" else 0)
    assert kafka.log_end() == (0 if at in ("request_read", "before_work") else 1)


def test_a_dropped_answer_and_the_next_one_comes() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce"}, "drop")
    client = kafka.connect()
    client.send(produce("t", 0, correlation_id=1), produce("t", 0, correlation_id=2))
    [frame] = client.frames
    assert frame[:4] == (2).to_bytes(4, "big")
    assert kafka.log_end() == 2


def test_reset_after_the_answer() -> None:
    _, client = produced_to_t0({"disconnect": "reset"}, at="after_answer")
    assert client.produced() == [{0: (0, 0)}]
    assert client.end == "reset"


def test_throttled_told_and_muted() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce"}, {"throttle": 40})
    client = kafka.connect()
    client.send(produce("t", 0), produce("t", 0))
    [frame] = client.frames
    assert frame[-5:-1] == (40).to_bytes(4, "big")
    kafka.advance(39)
    assert len(client.frames) == 1
    kafka.advance(1)
    assert len(client.frames) == 2


# Other APIs: parts of their requests, by the same walk.


def test_groups_by_their_selectors() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "FindCoordinator", "group": "g"}, "COORDINATOR_NOT_AVAILABLE")
    client = kafka.connect()
    response = client.ask(10, 6, key_type=0, coordinator_keys=("g", "other"))
    assert {coordinator.key: int(coordinator.error_code) for coordinator in response.coordinators}["g"] == 15
    kafka.add({"api": "DescribeGroups", "group": "g"}, "NOT_COORDINATOR")
    response = client.ask(15, 5, groups=("g",), include_authorized_operations=False)
    assert [int(group.error_code) for group in response.groups] == [16]


def test_topics_of_metadata_one_and_all() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Metadata", "topic": "t"}, "LEADER_NOT_AVAILABLE", 2)
    client = kafka.connect()
    rest = {
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": False,
        "include_cluster_authorized_operations": False,
    }
    topics_metadata = client.ask(3, 9, topics=({"name": "t"}, {"name": "other"}), **rest)
    assert {topic.name: int(topic.error_code) for topic in topics_metadata.topics} == {"t": 5, "other": 3}
    topics_metadata = client.ask(3, 9, topics=None, **rest)
    assert {topic.name: int(topic.error_code) for topic in topics_metadata.topics} == {"t": 5}


def test_create_topics_before_and_after() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "CreateTopics", "topic": "a"}, "TOPIC_ALREADY_EXISTS")
    kafka.add({"api": "CreateTopics", "topic": "b", "at": "before_answer"}, "REQUEST_TIMED_OUT")
    new = {"num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    topics = tuple({"name": name, **new} for name in "abc")
    response = kafka.connect().ask(19, 7, topics=topics, timeout=timedelta(seconds=1), validate_only=False)
    assert {topic.name: int(topic.error_code) for topic in response.topics} == {"a": 36, "b": 7, "c": 0}
    assert set(kafka.cluster.metadata.topic_names()) == {"b", "c", "t"}


def test_a_request_that_cannot_be_read_is_refused_as_ever() -> None:
    kafka = FaultyCluster()
    armed = kafka.add({"api": "Produce"}, "CORRUPT_MESSAGE")
    client = kafka.connect()
    client.send(produce("t", 0)[:-3] + b"\xff\xff\xff")
    assert client.end == "fin"
    assert armed.hits == 0


def test_a_top_level_error_is_for_all() -> None:
    kafka = FaultyCluster()
    kafka.add({"api": "Produce", "topic": "t"}, {"error": {"error": "NOT_LEADER_OR_FOLLOWER", "level": "top"}})
    client = kafka.connect()
    values = {"transactional_id": None, "acks": -1, "timeout": timedelta(seconds=1)}
    data = [{"index": 0, "records": ONE_RECORD}]
    topics = [{"name": name, "partition_data": data} for name in ("t", "other")]
    client.send(request(PRODUCE, 9, values | {"topic_data": topics}))
    partitions = kafka.told(Answer)[0].partitions
    assert [(part.topic, part.error) for part in partitions] == [
        ("t", "NOT_LEADER_OR_FOLLOWER"),
        ("other", "NOT_LEADER_OR_FOLLOWER"),
    ]
