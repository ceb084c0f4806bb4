"""OffsetCommit, every version (apis/groups/offset_commit.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.messages import decode_response
from support.offsets import (
    OFFSET_COMMIT,
    OFFSET_FETCH,
    commit,
    commit_values,
    errors_of,
    fetch,
    fetch_values,
    name_of,
    topic_id,
    with_coordinator,
)
from support.requests import request
from support.simulation import SimulatedClient, Simulation

from fakebroker.protocol.group_records.decode import decode_record
from fakebroker.protocol.record_batch import decode_records

UNKNOWN, NOT_AVAILABLE, NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER = 3, 15, 16, 22, 25
TOO_LARGE, GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_ID = 12, 69, 100


@pytest.fixture
def simulation() -> Simulation:
    simulation = with_coordinator(Simulation(brokers=3))
    simulation.topic("t", partitions=2)
    return simulation


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


@pytest.mark.parametrize("version", served_versions(OFFSET_COMMIT))
class TestEachVersion:
    def test_what_is_committed_is_there(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        offsets = {("t", 0): (5, 1, "here"), ("t", 1): (7, -1, None)}
        assert commit(simulation, client, "g", offsets, version) == {("t", 0): 0, ("t", 1): 0}
        epoch = 1 if version >= 6 else -1
        assert fetch(simulation, client, {"g": [("t", 0), ("t", 1)]}) == {
            "g": {("t", 0): (5, epoch, "here"), ("t", 1): (7, -1, "")}
        }

    def test_partitions_that_are_not_there(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        offsets = {("t", 0): 5, ("t", 2): 5, ("nowhere", 0): 5, ("t", -1): 5}
        unknown = ("?", 0) if version >= 10 else ("nowhere", 0)
        assert commit(simulation, client, "g", offsets, version) == {
            ("t", 0): 0,
            ("t", 2): UNKNOWN,
            ("t", -1): UNKNOWN,
            unknown: UNKNOWN_TOPIC_ID if version >= 10 else UNKNOWN,
        }
        assert fetch(simulation, client, {"g": None}) == {"g": {("t", 0): (5, -1, "")}}

    def test_nothing_that_is_there(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        """The coordinator gets no such request."""
        other = simulation.connect(2)
        assert commit(simulation, other, "g", {("t", 9): 5}, version) == {("t", 9): UNKNOWN}
        assert commit(simulation, other, "g", {}, version) == {}

    def test_a_topic_without_partitions(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        """The response has the topic only if it does not exist."""
        topics: list[dict[str, Any]] = [
            {"name": name, "topic_id": topic_id(simulation, name), "partitions": []} for name in ("t", "nowhere")
        ]
        answer = ask(client, OFFSET_COMMIT, version, **commit_values(simulation, "g", {}, topics=topics))
        unknown = "?" if version >= 10 else "nowhere"
        assert [(name_of(simulation, topic), topic.partitions) for topic in answer.topics] == [(unknown, ())]

    def test_too_much_metadata(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        offsets = {("t", 0): (5, -1, "x" * 4097), ("t", 1): (5, -1, "x" * 4096)}
        assert commit(simulation, client, "g", offsets, version) == {("t", 0): TOO_LARGE, ("t", 1): 0}
        assert list(fetch(simulation, client, {"g": None})["g"]) == [("t", 1)]

    def test_a_commit_of_an_unknown_member(self, simulation: Simulation, client: SimulatedClient, version: int) -> None:
        values: dict[str, Any] = {"generation_id_or_member_epoch": 1, "member_id": "m"}
        expected = GROUP_ID_NOT_FOUND if version >= 9 else ILLEGAL_GENERATION
        assert commit(simulation, client, "g", {("t", 0): 5}, version, **values) == {("t", 0): expected}
        assert commit(simulation, client, "g", {("t", 0): 5}, version) == {("t", 0): 0}
        assert commit(simulation, client, "g", {("t", 0): 5}, version, **values) == {("t", 0): UNKNOWN_MEMBER}

    def test_the_record_knows_which_topic_it_was(
        self, simulation: Simulation, client: SimulatedClient, version: int
    ) -> None:
        """The record has the topic id even if the client names the topic only. A record with an expiry time has no
        field for it."""
        commit(simulation, client, "g", {("t", 0): 5}, version)
        log = simulation.partition("__consumer_offsets", 0).leader_log
        [record] = decode_records(list(log.batches)[-1].records)
        decoded = decode_record(record.key, record.value)
        assert decoded is not None
        key, value = decoded
        assert (key.group, key.topic, value.offset) == ("g", "t", 5)
        assert value.topic_id == topic_id(simulation, "t")

    def test_another_broker(self, simulation: Simulation, version: int) -> None:
        other = simulation.connect(2)
        assert commit(simulation, other, "g", {("t", 0): 5}, version) == {("t", 0): NOT_COORDINATOR}


class TestReplication:
    """OffsetCommit while a follower of __consumer_offsets is frozen."""

    def _send(self, simulation: Simulation, client: SimulatedClient) -> None:
        client.send(request(OFFSET_COMMIT, 9, commit_values(simulation, "g", {("t", 0): 5})))

    def _answer(self, simulation: Simulation, client: SimulatedClient) -> tuple[int, dict[tuple[str, int], int]]:
        [(at_ms, frame)] = client.answers
        return at_ms, errors_of(simulation, decode_response(OFFSET_COMMIT, 9, frame)[1], 9)

    def test_a_commit_waits_for_it(self, simulation: Simulation, client: SimulatedClient) -> None:
        simulation.followers("frozen", "__consumer_offsets", broker=3)
        self._send(simulation, client)
        simulation.advance(300)
        assert client.answers == []
        other = simulation.connect()
        assert fetch(simulation, other, {"g": [("t", 0)]}) == {"g": {("t", 0): (-1, -1, "")}}
        simulation.followers(None, "__consumer_offsets", broker=3)
        assert self._answer(simulation, client) == (300, {("t", 0): 0})
        assert fetch(simulation, other, {"g": [("t", 0)]}) == {"g": {("t", 0): (5, -1, "")}}

    def test_its_time_is_over(self, simulation: Simulation, client: SimulatedClient) -> None:
        simulation.followers("frozen", "__consumer_offsets", broker=3)
        self._send(simulation, client)
        simulation.advance(10_000)
        assert self._answer(simulation, client) == (5_000, {("t", 0): NOT_AVAILABLE})
        simulation.followers(None, "__consumer_offsets", broker=3)
        assert fetch(simulation, client, {"g": [("t", 0)]}) == {"g": {("t", 0): (5, -1, "")}}  # it was written

    def test_its_leader_goes(self, simulation: Simulation, client: SimulatedClient) -> None:
        simulation.followers("frozen", "__consumer_offsets", broker=3)
        self._send(simulation, client)
        simulation.move_leader(2, "__consumer_offsets")
        assert self._answer(simulation, client) == (0, {("t", 0): NOT_COORDINATOR})

    def test_its_broker_stops(self, simulation: Simulation, client: SimulatedClient) -> None:
        """The coordinator refuses further commits. The next leader loads the replicated ones."""
        commit(simulation, client, "g", {("t", 0): 4})
        simulation.followers("frozen", "__consumer_offsets", broker=3)
        self._send(simulation, client)
        simulation.stop(1)
        assert client.closed is not None
        assert len(client.answers) == 2
        assert fetch(simulation, simulation.connect(2), {"g": [("t", 0)]}) == {"g": {("t", 0): (4, -1, "")}}
        simulation.followers(None, "__consumer_offsets", broker=3)
        assert fetch(simulation, simulation.connect(2), {"g": [("t", 0)]}) == {"g": {("t", 0): (5, -1, "")}}
        simulation.start(1)
        simulation.move_leader(1, "__consumer_offsets")
        assert commit(simulation, simulation.connect(1), "g", {("t", 0): 6}) == {("t", 0): 0}
        assert fetch(simulation, simulation.connect(1), {"g": [("t", 0)]}) == {"g": {("t", 0): (6, -1, "")}}

    def test_too_few_in_sync_replicas_are_waited_for(self, simulation: Simulation) -> None:
        """Coordinators append with acks=1, so it is not refused at once."""
        simulation.cluster.admin.alter_topic_configs("__consumer_offsets", {"min.insync.replicas": "3"}, simulation.now)
        simulation.stop(3)
        client = simulation.connect()
        self._send(simulation, client)
        simulation.advance(4_999)
        assert client.answers == []
        simulation.advance(1)
        assert self._answer(simulation, client) == (5_000, {("t", 0): NOT_AVAILABLE})


def test_a_commit_does_not_create_the_offsets_topic() -> None:
    simulation = Simulation(brokers=1)
    simulation.topic("t", replicas=1)
    assert commit(simulation, simulation.connect(), "g", {("t", 0): 5}) == {("t", 0): NOT_COORDINATOR}


def test_a_batch_that_is_too_large(simulation: Simulation, client: SimulatedClient) -> None:
    simulation.cluster.admin.alter_topic_configs("__consumer_offsets", {"max.message.bytes": "200"}, simulation.now)
    assert commit(simulation, client, "g", {("t", 0): (5, -1, "x" * 200)}) == {("t", 0): -1}
    assert fetch(simulation, client, {"g": None}) == {"g": {}}


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_retention_time(simulation: Simulation, client: SimulatedClient, version: int) -> None:
    for name, milliseconds in (("short", 1_000), ("default", -1)):
        values = {"retention_time": timedelta(milliseconds=milliseconds)}
        commit(simulation, client, name, {("t", 0): 5}, version, **values)
    simulation.advance(600_000)
    assert fetch(simulation, client, {"short": None, "default": None}) == {
        "short": {},
        "default": {("t", 0): (5, -1, "")},
    }


def test_many_partitions_are_asked_about_in_slices(simulation: Simulation) -> None:
    simulation.topic("many", partitions=2_000)
    client = simulation.connect()
    offsets = {("many", index): index for index in range(2_000)}
    client.send(request(OFFSET_COMMIT, 9, commit_values(simulation, "g", offsets)))
    assert client.answers == []  # others have their turn first
    simulation.advance(0)
    [(_, answer)] = client.answers
    assert len(decode_response(OFFSET_COMMIT, 9, answer)[1].topics[0].partitions) == 2_000
    client.send(request(OFFSET_FETCH, 8, fetch_values(simulation, {"g": None}, 8)))
    assert len(client.answers) == 1
    simulation.advance(0)
    assert len(decode_response(OFFSET_FETCH, 8, client.answers[1][1])[1].groups[0].topics[0].partitions) == 2_000
