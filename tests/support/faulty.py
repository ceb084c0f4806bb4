"""A cluster with faults, and clients that accept any bytes, whole frames or not."""

from __future__ import annotations

from typing import Any

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.fault import Fault
from fakebroker.core.journal.journal import Journal
from fakebroker.core.replication.behaviour import Behaviour
from fakebroker.core.replication.partition import Partition
from fakebroker.network.connection import Connection
from fakebroker.network.effects import AwaitWrite, Close, InternalError, Reset, Send, SendInPieces, Warn
from support.messages import decode_response
from support.requests import Produced, request

START = Now(1_000, 1_800_000_000_000)


class AnyClient:
    """A client that records what it received, by time in ms since the start, and its end: "", "fin" or "reset"."""

    def __init__(self, cluster: FaultyCluster, connection: Connection) -> None:
        self._cluster = cluster
        self.connection = connection
        self.came: list[tuple[int, bytes]] = []
        self.end = ""
        self.reason = ""

    def send(self, *frames: bytes) -> None:
        self._cluster.cluster.receive(self.connection, b"".join(frames), self._cluster.now)
        self._cluster.settle()

    def ask(self, api_key: int, version: int, **values: Any) -> Any:
        """Return the response to a request, at once."""
        before = len(self.data)
        self.send(request(api_key, version, values, correlation_id=7))
        return decode_response(api_key, version, self.data[before + 4 :])[1]

    @property
    def data(self) -> bytes:
        return b"".join(data for _, data in self.came)

    @property
    def frames(self) -> list[bytes]:
        """Return the complete frames, without their length."""
        frames_, data = [], self.data
        while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "big"):
            size = int.from_bytes(data[:4], "big")
            frames_.append(data[4 : 4 + size])
            data = data[4 + size :]
        return frames_

    def produced(self, version: int = 9) -> list[dict[int, tuple[int, int]]]:
        """Return (error, base offset) by partition, for each response to a Produce."""
        return [Produced(frame, version).partitions for frame in self.frames]


class FaultyCluster:
    """Three brokers and a topic t, in virtual time. Broker 1 leads all of them, unless said otherwise."""

    def __init__(self, partitions: int = 3, followers: str = "instant", leader: int = 1, **config: object) -> None:
        self.elapsed_ms = 0
        self.journal = Journal()
        settings = BrokerConfig().with_text({name.replace("_", "."): str(value) for name, value in config.items()})
        self.cluster = Cluster(START, 3, settings, Behaviour.parse(followers), journal=self.journal)
        self.clients: dict[Connection, AnyClient] = {}
        self.warnings: list[str] = []
        for broker_id in (1, 2, 3):
            self.cluster.registry[broker_id].set_endpoint("host", 9091 + broker_id)
        replicas = [(leader - 1 + shift) % 3 + 1 for shift in range(3)]
        assignments = [(index, replicas) for index in range(partitions)]
        self.cluster.admin.create_topic(NewTopic("t", assignments=assignments), self.now)
        self.settle()

    @property
    def now(self) -> Now:
        return START.at(START.mono_ms + self.elapsed_ms)

    def add(self, when: Any = None, do: Any = None, times: Any = "once", force: bool = False) -> Armed:
        self.cluster.now = self.now
        return self.cluster.faults.add(Fault(when, do, times, force))

    def release(self, armed: Armed, count: int | None = None) -> int:
        self.cluster.now = self.now
        released = self.cluster.faults.release(armed, count)
        self.cluster.advance_to(self.now)
        self.settle()
        return released

    def connect(self, broker_id: int = 1) -> AnyClient:
        connection = self.cluster.open_connection(broker_id, "me:1", self.now, "10.0.0.1")
        client = self.clients[connection] = AnyClient(self, connection)
        self.settle()
        return client

    def advance(self, ms: int) -> None:
        """Let time go, each deadline at its own time."""
        end_ms = self.elapsed_ms + ms
        while (deadline := self.cluster.next_deadline_ms()) is not None and deadline - START.mono_ms <= end_ms:
            self.elapsed_ms = max(self.elapsed_ms, deadline - START.mono_ms)
            self.cluster.advance_to(self.now)
            self.settle()
        self.elapsed_ms = end_ms
        self.cluster.advance_to(self.now)
        self.settle()

    def partition(self, index: int = 0, topic: str = "t") -> Partition:
        partition = self.cluster.metadata.find_partition(topic, index)
        assert partition is not None
        return partition

    def log_end(self, index: int = 0, topic: str = "t") -> int:
        return self.partition(index, topic).leader_log.log_end_offset

    def told(self, kind: type) -> list[Any]:
        """Return the events of that kind."""
        return [event for event in self.journal.events() if isinstance(event, kind)]

    def settle(self) -> None:
        while True:
            effects = self.cluster.take_effects()
            for effect in effects:
                match effect:
                    case Send(connection):
                        self.clients[connection].came.append((self.elapsed_ms, effect.data))
                    case SendInPieces(connection, frame):
                        self.clients[connection].came.append((self.elapsed_ms, frame.join()))
                    case Reset(connection):
                        self.clients[connection].end = "reset"
                    case Close(connection, reason):
                        client = self.clients[connection]
                        client.end, client.reason = client.end or "fin", reason
                    case AwaitWrite(connection):
                        self.cluster.set_write_blocked(connection, False, self.now)
                    case Warn(text):
                        self.warnings.append(text)
                    case InternalError(what, error):
                        raise AssertionError(what) from error
            if self.cluster.has_work:
                self.cluster.advance_to(self.now)
            elif not effects:
                return
            self.cluster.check_invariants()
