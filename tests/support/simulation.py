"""The cluster in virtual time: no sockets, no clock, no sleeping. What happens when is exact to the millisecond."""

from __future__ import annotations

import struct

from fakebroker.apis.context import NewTopic
from fakebroker.core.behaviour import Behaviour
from fakebroker.core.clock import Now
from fakebroker.core.cluster import Cluster
from fakebroker.core.config import ClusterConfig
from fakebroker.core.connection import Connection
from fakebroker.core.effects import AwaitWrite, Close, Effect, InternalError, PauseReading, ResumeReading, Send
from fakebroker.core.follower_set import Selection
from fakebroker.core.journal import Journal
from fakebroker.core.partition import Partition
from fakebroker.protocol.topic_partition import TopicPartition

# The clocks start far apart, so that code that mixes them fails at once.
START_MONO_MS = 5_000_000
START_WALL_MS = 1_800_000_000_000


class SimulatedClient:
    """One connection. `answers` are (milliseconds since the start, frame) in the order of arrival."""

    def __init__(self, simulation: Simulation, connection: Connection) -> None:
        self._simulation = simulation
        self.connection = connection
        self.answers: list[tuple[int, bytes]] = []
        self.closed: str | None = None
        self.closed_ms: int | None = None
        self.reading_paused = False
        self._takes_answers = True

    def take_answers(self, takes: bool) -> None:
        """The peer stops reading, or reads again all that it was sent."""
        self._takes_answers = takes
        simulation = self._simulation
        simulation.cluster.set_write_blocked(self.connection, not takes, simulation.now)
        simulation.settle()

    def written(self) -> None:
        """The broker asks to be told when its answers are written."""
        if self._takes_answers:
            self._simulation.cluster.set_write_blocked(self.connection, False, self._simulation.now)

    def send(self, *frames: bytes) -> None:
        """Bytes arrive at the broker now."""
        simulation = self._simulation
        simulation.cluster.receive(self.connection, b"".join(frames), simulation.now)
        simulation.settle()

    def disconnect(self) -> None:
        self._simulation.cluster.connection_lost(self.connection, self._simulation.now)
        self._simulation.settle()


class Simulation:
    """A cluster with a clock in the test's hand. Fails on any bug that the broker reports of itself."""

    def __init__(
        self,
        brokers: int = 3,
        followers: str = "instant",
        config: dict[str, str] | None = None,
        seed: int = 0,
        journal: Journal | None = None,
    ) -> None:
        self.elapsed_ms = 0
        settings = ClusterConfig().with_text(config or {})
        self.cluster = Cluster(self.now, brokers, settings, Behaviour.parse(followers), seed, journal)
        self._clients: dict[Connection, SimulatedClient] = {}

    @property
    def now(self) -> Now:
        return Now(START_MONO_MS + self.elapsed_ms, START_WALL_MS + self.elapsed_ms)

    def topic(self, name: str = "t", partitions: int = 1, replicas: int = 3, **configs: object) -> None:
        """Make a topic; settings with underscores for dots."""
        texts = {key.replace("_", "."): str(value) for key, value in configs.items()}
        self.cluster.create_topic(NewTopic(name, partitions, replicas, {}, texts), self.now)

    def connect(self, broker_id: int = 1, address: str = "10.0.0.1") -> SimulatedClient:
        peer = f"client {len(self._clients) + 1}"
        connection = self.cluster.open_connection(broker_id, peer, self.now, address)
        client = self._clients[connection] = SimulatedClient(self, connection)
        self.settle()
        return client

    def followers(
        self, behaviour: str | None, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> None:
        chosen = None if behaviour is None else Behaviour.parse(behaviour)
        self.cluster.set_followers(chosen, self.now, topic, partition, broker)
        self.settle()

    def script(self, steps: list[tuple[int, str]], **selection: object) -> None:
        parsed = [(at_ms, Behaviour.parse(text)) for at_ms, text in steps]
        self.cluster.script_followers(parsed, Selection(**selection), self.now)  # type: ignore[arg-type]
        self.settle()

    def stop(self, broker_id: int) -> None:
        self.cluster.stop_broker(broker_id, self.now)
        self.settle()

    def start(self, broker_id: int) -> None:
        self.cluster.start_broker(broker_id, self.now)
        self.settle()

    def move_leader(self, broker_id: int, topic: str = "t", partition: int = 0) -> None:
        self.cluster.move_leader(topic, partition, broker_id, self.now)
        self.settle()

    def delete_topic(self, name: str = "t") -> None:
        self.cluster.delete_topic(name, self.now)
        self.settle()

    def partition(self, topic: str = "t", partition: int = 0) -> Partition:
        found = self.cluster.controller.find_partition(TopicPartition(topic, partition))
        assert found is not None
        return found

    def advance(self, ms: int) -> None:
        """Let time pass, event by event."""
        end_ms = self.elapsed_ms + ms
        while (deadline := self.cluster.next_deadline_ms()) is not None and deadline - START_MONO_MS <= end_ms:
            self.elapsed_ms = max(self.elapsed_ms, deadline - START_MONO_MS)
            self.cluster.advance_to(self.now)
            self.settle()
        self.elapsed_ms = end_ms
        self.cluster.advance_to(self.now)
        self.settle()

    def settle(self) -> None:
        """Perform the effects, and check what must always hold."""
        while effects := self.cluster.take_effects():
            self._perform(effects)
        self.cluster.check_invariants()

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(connection, data):
                    client = self._clients[connection]
                    assert client.closed is None, "an answer after the connection was closed"
                    client.answers += [(self.elapsed_ms, frame) for frame in split_frames(data)]
                case AwaitWrite(connection):
                    self._clients[connection].written()
                case Close(connection, reason):
                    client = self._clients[connection]
                    client.closed, client.closed_ms = reason, self.elapsed_ms
                case PauseReading(connection):
                    self._clients[connection].reading_paused = True
                case ResumeReading(connection):
                    self._clients[connection].reading_paused = False
                case InternalError(what, error):
                    raise AssertionError(f"{what} failed") from error


def split_frames(data: bytes) -> list[bytes]:
    frames = []
    while data:
        (size,) = struct.unpack_from(">i", data)
        frames.append(data[4 : 4 + size])
        data = data[4 + size :]
    return frames
