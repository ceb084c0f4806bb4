"""WriteTxnMarkers, DescribeTransactions and ListTransactions, every version."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient
from support.transactions import DESCRIBE_TXN, LIST_TXN, MARKERS, add, end, init, with_coordinator

UNKNOWN, NOT_LEADER, FENCED_EPOCH, FENCED_COORDINATOR, NOT_FOUND, INVALID_REQUEST, NOT_COORDINATOR = (
    3, 6, 47, 52, 105, 42, 16,
)  # fmt: skip
INVALID_PATTERN = 128


def write(client: SimulatedClient, version: int, *partitions: int, **values: Any) -> dict[int, int]:
    marker = {
        "producer_id": 7,
        "producer_epoch": 0,
        "transaction_result": True,
        "topics": [{"name": "t", "partition_indexes": partitions}],
        "coordinator_epoch": 0,
        "transaction_version": 0,
    }
    answer = ask(client, MARKERS, version, markers=[marker | values])
    return {
        partition.partition_index: int(partition.error_code) for partition in answer.markers[0].topics[0].partitions
    }


@pytest.mark.parametrize("version", served_versions(MARKERS))
class TestMarkers:
    def test_each_partition_on_its_own(self, version: int) -> None:
        simulation = with_coordinator(3)
        assert write(simulation.connect(1), version, 0, 1, 9) == {0: 0, 1: NOT_LEADER, 9: UNKNOWN}
        assert simulation.partition("t", 0).leader_log.log_end_offset == 1

    def test_an_older_coordinator(self, version: int) -> None:
        client = with_coordinator().connect()
        assert write(client, version, 0, coordinator_epoch=2) == {0: 0}
        assert write(client, version, 0, coordinator_epoch=1) == {0: FENCED_COORDINATOR}
        assert write(client, version, 0, coordinator_epoch=2, producer_epoch=3) == {0: 0}
        assert write(client, version, 0, coordinator_epoch=2, producer_epoch=2) == {0: FENCED_EPOCH}

    def test_none(self, version: int) -> None:
        assert ask(with_coordinator().connect(), MARKERS, version, markers=[]).markers == ()

    def test_it_waits_for_the_replicas(self, version: int) -> None:
        simulation = with_coordinator(3)
        simulation.followers("frozen", "t", broker=2)
        client = simulation.connect(1)
        with pytest.raises(ValueError, match="unpack"):
            write(client, version, 0)
        simulation.followers(None, "t", broker=2)
        assert len(client.answers) == 1


class TestDescribe:
    def test_as_it_was_written(self) -> None:
        simulation = with_coordinator()
        client = simulation.connect()
        _, producer_id, epoch = init(client)
        add(client, (producer_id, epoch), 0, 1)
        described, missing, empty = ask(
            client, DESCRIBE_TXN, 0, transactional_ids=["tx", "other", ""]
        ).transaction_states
        assert (described.transaction_state, described.producer_id, described.producer_epoch) == ("Ongoing", 0, 0)
        assert described.transaction_timeout == timedelta(seconds=60)
        assert [(topic.topic, topic.partitions) for topic in described.topics] == [("t", (0, 1))]
        assert (int(missing.error_code), int(empty.error_code)) == (NOT_FOUND, INVALID_REQUEST)

    def test_another_broker(self) -> None:
        client = with_coordinator(3).connect(2)
        [described] = ask(client, DESCRIBE_TXN, 0, transactional_ids=["tx"]).transaction_states
        assert int(described.error_code) == NOT_COORDINATOR


@pytest.mark.parametrize("version", served_versions(LIST_TXN))
class TestList:
    def listed(self, client: SimulatedClient, version: int, **values: Any) -> Any:
        defaults = {
            "state_filters": [],
            "producer_id_filters": [],
            "duration_filter": -1,
            "transactional_id_pattern": None,
        }
        return ask(client, LIST_TXN, version, **(defaults | values))

    def ids(self, client: SimulatedClient, version: int, **values: Any) -> list[str]:
        return [
            transaction.transactional_id for transaction in self.listed(client, version, **values).transaction_states
        ]

    def test_filters(self, version: int) -> None:
        simulation = with_coordinator()
        client = simulation.connect()
        _, producer_id, epoch = init(client)
        init(client, transactional_id="another")
        add(client, (producer_id, epoch), 0)
        if version >= 1:
            assert "tx" not in self.ids(client, version, duration_filter=0)
        simulation.advance(100)
        assert self.ids(client, version) == ["tx", "another"]
        assert self.ids(client, version, state_filters=["Ongoing"]) == ["tx"]
        assert self.ids(client, version, producer_id_filters=[producer_id + 1]) == ["another"]
        unknown = self.listed(client, version, state_filters=["Ongoing", "Going"])
        assert unknown.unknown_state_filters == ("Going",)
        if version >= 1:
            assert "tx" in self.ids(client, version, duration_filter=99)
            assert "tx" not in self.ids(client, version, duration_filter=100)
        if version >= 2:
            assert self.ids(client, version, transactional_id_pattern="a.*") == ["another"]
            assert int(self.listed(client, version, transactional_id_pattern="(").error_code) == INVALID_PATTERN

    def test_what_is_over_is_told(self, version: int) -> None:
        client = with_coordinator().connect()
        _, producer_id, epoch = init(client)
        add(client, (producer_id, epoch), 0)
        end(client, (producer_id, epoch))
        [state] = self.listed(client, version).transaction_states
        assert state.transaction_state == "CompleteCommit"
