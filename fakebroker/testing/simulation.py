"""A cluster in virtual time: no sockets, no clock, no sleeping. The times of all events are exact to the millisecond.

Theory   Clients exchange real frames with the core. Time is frozen until the caller advances it, then jumps from one
         deadline to the next. If wanted, all input and output of the cluster is on the `tape`: two runs are equal if
         and only if their tapes are, byte for byte. `arrivals` has then, in order, what clients received and the caller
         has not taken yet. Its entries are (milliseconds, client, frame, or None when its connection was closed).
Units    milliseconds since the start of the simulation, as clients measure them: without `skipped_ms`.
Errors   An internal error of the broker and a broken invariant raise AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.core.crash_loss import CrashLoss
from fakebroker.core.journal.journal import Journal
from fakebroker.core.life import Life
from fakebroker.core.replication.behaviour import Behaviour, Selection
from fakebroker.core.replication.partition import Partition
from fakebroker.core.schedule import order_of
from fakebroker.core.security.identity import PLAINTEXT, Listener
from fakebroker.network.connection import Connection
from fakebroker.network.effects import (
    AwaitWrite,
    Close,
    Effect,
    InternalError,
    Listen,
    PauseReading,
    ResumeReading,
    Send,
    SendInPieces,
    StopListening,
    Warn,
)
from fakebroker.testing.wire import split_frames
from timingwheel.mypyc import mypyc_attr

# The clocks start far apart, so that code that mixes them fails at once.
START_MONO_MS: Final = 5_000_000
START_WALL_MS: Final = 1_800_000_000_000


@mypyc_attr(allow_interpreted_subclasses=True)
class SimulatedClient:
    """A connection. `answers` are (milliseconds since the start, frame) in the order of arrival. `tell` gets them too,
    as the bytes of whole frames, and None when the broker closes."""

    def __init__(self, simulation: Simulation, connection: Connection, number: int) -> None:
        self._simulation = simulation
        self.connection = connection
        self.number = number
        self.answers: list[tuple[int, bytes]] = []
        self.closed: str | None = None
        self.closed_ms: int | None = None
        self.reading_paused = False
        self.tell: Callable[[bytes | None], object] = lambda data: None
        self._takes_answers = True

    def take_answers(self, takes: bool) -> None:
        """Stop reading (False), or read again all that was sent meanwhile (True)."""
        self._takes_answers = takes
        simulation = self._simulation
        simulation.record("takes answers" if takes else "takes no answers", self.number)
        simulation.cluster.set_write_blocked(self.connection, not takes, simulation.now)
        simulation.settle()

    def written(self) -> None:
        """Report to the broker that its responses are written, as it requested."""
        if self._takes_answers:
            self._simulation.cluster.set_write_blocked(self.connection, False, self._simulation.now)

    def send(self, *frames: bytes) -> None:
        """Deliver bytes to the broker now."""
        simulation = self._simulation
        data = b"".join(frames)
        simulation.record("sends", self.number, data)
        simulation.cluster.receive(self.connection, data, simulation.now)
        simulation.settle()

    def disconnect(self) -> None:
        self._simulation.record("goes", self.number)
        self._simulation.cluster.connection_lost(self.connection, self._simulation.now)
        self._simulation.settle()


@mypyc_attr(allow_interpreted_subclasses=True)
class Simulation:
    """A cluster with a clock that the test controls.

    followers    the behaviour of followers from the start, as in `FakeCluster`
    config       broker settings by Kafka's names, as text
    with_tape    keep all input and output on the `tape`, including payloads
    journal      the broker's journal, if wanted
    check_every  how often the core's own invariants are checked: after every call (1), or after every n-th
    racks        the racks of brokers, by id
    schedule     "first-come" or "random", as in `FakeCluster`; what is sent in one `with simulation.together()`
                 arrives at the same time
    """

    def __init__(
        self,
        brokers: int | Sequence[int] = 3,
        followers: str = "instant",
        config: dict[str, str] | None = None,
        seed: int = 0,
        check_every: int = 1,
        with_tape: bool = False,
        journal: Journal | None = None,
        racks: dict[int, str] | None = None,
        schedule: str = "first-come",
    ) -> None:
        self.elapsed_ms = self.skipped_ms = 0
        self.tape: list[tuple[int, str, int, bytes]] = []
        self.arrivals: list[tuple[int, int, bytes | None]] = []
        settings, behaviour = BrokerConfig().with_text(config or {}), Behaviour.parse(followers)
        order = order_of(schedule, seed)
        self.cluster = Cluster(self.now, brokers, settings, behaviour, Life(seed), journal, racks=racks, order=order)
        self.listening = set(self.cluster.registry.broker_ids)  # brokers with open ports
        self._clients: dict[Connection, SimulatedClient] = {}
        self.warnings: list[str] = []
        self._opened = 0
        self._check_every = check_every
        self._with_tape = with_tape
        self.settled, self._is_together = 0, False  # the number of settle calls, each after a possible change

    @property
    def now(self) -> Now:
        return Now(START_MONO_MS + self.elapsed_ms + self.skipped_ms, START_WALL_MS + self.elapsed_ms)

    def record(self, what: str, client: int, data: bytes = b"") -> None:
        """Put an event on the tape; client 0 stands for none."""
        if self._with_tape:
            self.tape.append((self.elapsed_ms, what, client, data))

    def tape_text(self) -> bytes:
        """Return the tape as text, one event per line: milliseconds, client, event, bytes in hexadecimal."""
        lines = (f"{at_ms} {client} {what} {data.hex()}".rstrip() for at_ms, what, client, data in self.tape)
        return "".join(f"{line}\n" for line in lines).encode()

    # Actions of users.

    def topic(self, name: str = "t", partitions: int = 1, replicas: int = 3, **configs: object) -> None:
        """Create a topic; the settings have underscores for dots."""
        texts = {key.replace("_", "."): str(value) for key, value in configs.items()}
        self.record(f"topic {name} {partitions} {replicas} {texts}", 0)
        self.cluster.admin.create_topic(NewTopic(name, partitions, replicas, {}, texts), self.now)
        self.settle()

    def followers(
        self, behaviour: str | None, topic: str | None = None, partition: int | None = None, broker: int | None = None
    ) -> None:
        self.record(f"followers {behaviour} {topic} {partition} {broker}", 0)
        chosen = None if behaviour is None else Behaviour.parse(behaviour)
        self.cluster.admin.set_followers(chosen, self.now, topic, partition, broker)
        self.settle()

    def script(self, steps: list[tuple[Any, str]], **selection: object) -> None:
        """Set the behaviour of followers over time: (milliseconds from now, behaviour). Raises TypeError for a time
        that is not a number."""
        self.record(f"script {steps} {selection}", 0)
        parsed = [(at_ms, Behaviour.parse(text)) for at_ms, text in steps]
        self.cluster.admin.script_followers(parsed, Selection(**selection), self.now)  # type: ignore[arg-type]
        self.settle()

    def stop(self, broker_id: int) -> None:
        self.record(f"stop {broker_id}", 0)
        self.cluster.lives.stop_broker(broker_id, self.now)
        self.settle()

    def kill(self, broker_id: int, loss: CrashLoss = CrashLoss.NOTHING) -> None:
        self.record(f"kill {broker_id}" + f", {loss.name.lower()} is lost" * bool(loss), 0)
        self.cluster.lives.kill_broker(broker_id, self.now, loss)
        self.settle()

    def pause(self, broker_id: int) -> None:
        self.record(f"pause {broker_id}", 0)
        self.cluster.lives.pause_broker(broker_id, self.now)
        self.settle()

    def resume(self, broker_id: int) -> None:
        self.record(f"resume {broker_id}", 0)
        self.cluster.lives.resume_broker(broker_id, self.now)
        self.settle()

    def start(self, broker_id: int) -> None:
        self.record(f"start {broker_id}", 0)
        self.cluster.lives.start_broker(broker_id, self.now)
        self.settle()

    def move_leader(self, broker_id: int, topic: str = "t", partition: int = 0) -> None:
        self.record(f"move {topic}-{partition} to {broker_id}", 0)
        self.cluster.admin.move_leader(topic, partition, broker_id, self.now)
        self.settle()

    def delete_topic(self, name: str = "t") -> None:
        self.record(f"delete {name}", 0)
        self.cluster.admin.delete_topic(name, self.now)
        self.settle()

    def partition(self, topic: str = "t", partition: int = 0) -> Partition:
        existing = self.cluster.metadata.find_partition(topic, partition)
        assert existing is not None
        return existing

    def connect(self, broker_id: int = 1, address: str = "10.0.0.1", listener: Listener = PLAINTEXT) -> SimulatedClient:
        self._opened += 1
        self.record(f"connects to {broker_id} from {address}", self._opened)
        connection = self.cluster.open_connection(broker_id, f"client {self._opened}", self.now, address, listener)
        client = self._clients[connection] = SimulatedClient(self, connection, self._opened)
        self.settle()
        return client

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let everything sent in the block arrive at the same time. With a random schedule nothing is handled before
        all of it has arrived. With "first-come" only the time at which responses are delivered differs."""
        self._is_together = True
        try:
            yield
        finally:
            self._is_together = False
            self.settle()

    def forget(self, client: SimulatedClient) -> None:
        """Forget a client, of which the connection must be closed."""
        assert client.connection.is_closed
        del self._clients[client.connection]

    def on_handling(self, tell: Callable[[int], None]) -> None:
        """Call `tell(client number)` whenever the broker handles a request."""
        self.cluster.on_handling = tell

    # Time.

    def next_event_ms(self) -> int | None:
        """Return when the cluster next has something to do, None if never."""
        deadline_ms = self.cluster.next_deadline_ms()
        return None if deadline_ms is None else max(self.elapsed_ms, deadline_ms - START_MONO_MS - self.skipped_ms)

    def advance(self, ms: int) -> None:
        """Advance the time, event by event."""
        end_ms = self.elapsed_ms + ms
        while (event_ms := self.next_event_ms()) is not None and event_ms <= end_ms:
            self.run_until(event_ms)
        self.run_until(end_ms)

    def run_until(self, at_ms: int) -> None:
        """Set the time to `at_ms`. The caller must not skip an event."""
        self.elapsed_ms = at_ms
        self.cluster.advance_to(self.now)
        self.settle()

    # Output.

    def settle(self) -> None:
        """Apply the effects, let the broker finish the work of its turn, and check the invariants."""
        if self._is_together:
            return
        cluster = self.cluster
        while True:
            while effects := cluster.take_effects():
                self._perform(effects)
            if not cluster.has_work:
                break
            cluster.advance_to(self.now)
        self.settled += 1
        if self.settled % self._check_every == 0:
            self.cluster.check_invariants()

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send():
                    self._answer(self._clients[effect.connection], effect.data)
                case SendInPieces(connection, frame):
                    self._answer(self._clients[connection], frame.join())
                case AwaitWrite(connection):
                    self._clients[connection].written()
                case Close(connection, reason):
                    client = self._clients[connection]
                    self.record(f"is closed: {reason}", client.number)
                    client.closed, client.closed_ms = reason, self.elapsed_ms
                    client.tell(None)
                    if self._with_tape:
                        self.arrivals.append((self.elapsed_ms, client.number, None))
                case PauseReading(connection):
                    self._clients[connection].reading_paused = True
                case ResumeReading(connection):
                    self._clients[connection].reading_paused = False
                case Listen(broker_id):
                    self.listening.add(broker_id)
                case StopListening(broker_id):
                    self.listening.discard(broker_id)
                case InternalError(what, error):
                    raise AssertionError(f"{what} failed") from error
                case Warn(text):
                    self.warnings.append(text)

    def _answer(self, client: SimulatedClient, data: bytes) -> None:
        assert client.closed is None, "an answer after the connection was closed"
        self.record("is answered", client.number, data)
        client.tell(data)
        frames = split_frames(data)
        client.answers += [(self.elapsed_ms, frame) for frame in frames]
        if self._with_tape:
            self.arrivals += [(self.elapsed_ms, client.number, frame) for frame in frames]
