"""Connections against a first-in-first-out queue: whatever happens to them, each answers its requests in order, one at
a time, and no answer before its throttling is over. `settle` checks the core's invariants after every step."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.requests import Produced, produce
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.network.connection import ChannelMuteState

EVERYBODY = QuotaEntity("ANONYMOUS", None)


class Run:
    """The simulation, and for each connection the requests that it sent: (correlation id, has an answer)."""

    def __init__(self) -> None:
        config = {"max.connections": "3", "max.connections.per.ip": "2", "connections.max.idle.ms": "900"}
        self.simulation = Simulation(followers="frozen", config=config)
        self.simulation.topic()
        self.clients: dict[int, SimulatedClient] = {}
        self.sent: dict[SimulatedClient, list[tuple[int, bool]]] = {}
        self.rest: dict[SimulatedClient, bytes] = {}
        self.next_id = 0
        for slot in range(4):
            self.open(slot)

    def open(self, slot: int) -> None:
        old = self.clients.get(slot)
        if old is None or old.connection.is_closed:
            client = self.clients[slot] = self.simulation.connect(address=f"10.0.0.{slot % 2}")
            self.sent[client], self.rest[client] = [], b""

    def send(self, slot: int, acks: int, timeout_ms: int) -> None:
        client = self.clients[slot]
        self.next_id += 1
        frame = produce("t", acks=acks, timeout_ms=timeout_ms, correlation_id=self.next_id)
        self.sent[client].append((self.next_id, acks != 0))
        client.send(self.rest[client] + frame)
        self.rest[client] = b""

    def half(self, slot: int, size: int) -> None:
        """Some bytes of a request; the others come with the next `send`."""
        client = self.clients[slot]
        if not self.rest[client]:
            self.next_id += 1
            frame = produce("t", acks=1, correlation_id=self.next_id)
            self.sent[client].append((self.next_id, True))
            client.send(frame[:size])
            self.rest[client] = frame[size:]

    def advance(self, ms: int) -> None:
        self.simulation.advance(ms)

    def block(self, slot: int, blocked: bool) -> None:
        connection = self.clients[slot].connection
        if connection.state is not ChannelMuteState.WAITING:  # has been written nothing
            self.clients[slot].take_answers(not blocked)

    def lose(self, slot: int) -> None:
        self.clients[slot].disconnect()

    def quota(self, producer_byte_rate: int | None) -> None:
        self.simulation.cluster.members.client_quotas.alter(EVERYBODY, {"producer_byte_rate": producer_byte_rate})

    def followers(self, behaviour: str) -> None:
        self.simulation.followers(behaviour)

    def check(self) -> None:
        counted = 0
        for client, sent in self.sent.items():
            answers = [(at_ms, Produced(frame)) for at_ms, frame in client.answers]
            expected = [number for number, answered in sent if answered]
            assert [answer.correlation_id for _, answer in answers] == expected[: len(answers)]
            allowed_ms = 0
            for at_ms, answer in answers:
                assert at_ms >= allowed_ms, "answered while throttled"
                allowed_ms = at_ms + answer.response.throttle_time.total_seconds() * 1000
            connection = client.connection
            counted += connection.state not in (ChannelMuteState.WAITING, ChannelMuteState.CLOSED)
            assert (connection.throttle is not None) == (
                connection.state in (ChannelMuteState.THROTTLED, ChannelMuteState.BUSY_THROTTLED)
            )
            if not connection.is_closed:
                assert client.reading_paused == connection.reading_paused == (not connection.can_handle)
        assert self.simulation.cluster.sockets.connections.quotas[1].total == counted


SLOTS = st.integers(0, 3)


class ConnectionMachine(RuleBasedStateMachine):
    """Four clients of one broker, as rules."""

    def __init__(self) -> None:
        super().__init__()
        self.run = Run()

    @rule(slot=SLOTS, acks=st.sampled_from([-1, -1, 0, 1]), timeout_ms=st.integers(0, 300))
    def send(self, slot: int, acks: int, timeout_ms: int) -> None:
        self.run.send(slot, acks, timeout_ms)

    @rule(slot=SLOTS, size=st.integers(1, 60))
    def half(self, slot: int, size: int) -> None:
        self.run.half(slot, size)

    @rule(ms=st.integers(0, 20) | st.integers(0, 1_200))
    def advance(self, ms: int) -> None:
        self.run.advance(ms)

    @rule(slot=SLOTS, blocked=st.booleans())
    def block(self, slot: int, blocked: bool) -> None:
        self.run.block(slot, blocked)

    @rule(slot=SLOTS)
    def lose(self, slot: int) -> None:
        self.run.lose(slot)

    @rule(slot=SLOTS)
    def open(self, slot: int) -> None:
        self.run.open(slot)

    @rule(producer_byte_rate=st.sampled_from([None, 1, 50, 10_000]))
    def quota(self, producer_byte_rate: int | None) -> None:
        self.run.quota(producer_byte_rate)

    @rule(behaviour=st.sampled_from(["frozen", "instant", "lagging:40"]))
    def followers(self, behaviour: str) -> None:
        self.run.followers(behaviour)

    @invariant()
    def a_connection_is_a_queue(self) -> None:
        self.run.check()

    def teardown(self) -> None:
        run = self.run
        for slot, client in run.clients.items():
            if not client.connection.is_closed:
                run.block(slot, False)
        run.simulation.followers("instant")
        run.simulation.advance(2_000)
        run.check()
        assert all(client.connection.is_closed for client in run.sent)
        assert run.simulation.cluster.brokers[1].replicas.produce_purgatory.num_delayed() == 0


TestConnectionMachine = ConnectionMachine.TestCase
