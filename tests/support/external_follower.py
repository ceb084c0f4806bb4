"""A test's own follower: Fetch with a replica id, in any version, in the simulation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from fakebroker.protocol.record_batch import read_batch_header
from support.messages import decode_response
from support.requests import FETCH, request
from support.simulation import Simulation


class Fetched(NamedTuple):
    """The response about one partition of a Fetch: with the (first, last) offset of each batch."""

    error: int
    high_watermark: int
    batches: list[tuple[int, int]]
    diverging: tuple[int, int] = (-1, -1)
    leader: tuple[int, int] = (-1, -1)


class ExternalFollower:
    """A follower: it sends fetches as replica `replica_id` to a broker, on a separate connection."""

    def __init__(self, simulation: Simulation, replica_id: int = 3, broker: int = 1, version: int = 17) -> None:
        self._simulation = simulation
        self.replica_id = replica_id
        self.version = version
        self.client = simulation.connect(broker)

    def send(
        self,
        offset: int,
        *,
        epoch: int = -1,
        last_epoch: int = -1,
        max_wait_ms: int = 0,
        replica_epoch: int = -1,
        partition: int = 0,
    ) -> None:
        topic = self._simulation.cluster.metadata.topic("t")
        values = {
            "replica_id": self.replica_id,
            "replica_state": {"replica_id": self.replica_id, "replica_epoch": replica_epoch},
            "max_wait": timedelta(milliseconds=max_wait_ms),
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "topics": [
                {
                    "topic": "t",
                    "topic_id": topic.topic_id if topic else None,
                    "partitions": [
                        {
                            "partition": partition,
                            "current_leader_epoch": epoch,
                            "fetch_offset": offset,
                            "last_fetched_epoch": last_epoch,
                            "log_start_offset": 0,
                            "partition_max_bytes": 1 << 20,
                        }
                    ],
                }
            ],
        }
        self.client.send(request(FETCH, self.version, values))

    def fetch(self, offset: int, **kwargs: int) -> Fetched:
        """Send a fetch and return the response that comes at once."""
        before = len(self.client.answers)
        self.send(offset, **kwargs)
        ((_, frame),) = self.client.answers[before:]
        return self.read(frame)

    @property
    def answers(self) -> list[tuple[int, Fetched]]:
        return [(at_ms, self.read(frame)) for at_ms, frame in self.client.answers]

    def read(self, frame: bytes) -> Fetched:
        response: Any = decode_response(FETCH, self.version, frame)[1]
        ((partition,),) = (topic.partitions for topic in response.responses)
        batches, records = [], partition.records or b""
        while records:
            header = read_batch_header(records)
            batches.append((header.base_offset, header.last_offset))
            records = records[header.size_in_bytes :]
        diverging = getattr(partition, "diverging_epoch", None)
        leader = getattr(partition, "current_leader", None)
        return Fetched(
            int(partition.error_code),
            partition.high_watermark,
            batches,
            (diverging.epoch, diverging.end_offset) if diverging else (-1, -1),
            (leader.leader_id, leader.leader_epoch) if leader else (-1, -1),
        )
