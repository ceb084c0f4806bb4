"""Responses with a few altered bytes: the producer continues in each case. An invalid response ends the connection,
with a reason; the producer connects again and retries. Valid fields are accepted, as in Kafka: an error code, an
offset, a throttle time, an address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.doses import count

from fakebroker.producer.client.effects import CloseConnection, Connect, SendBytes
from fakebroker.producer.client.kafka_producer import KafkaProducer
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.simulation import START_MONO_MS, SimulatedClient, Simulation

PORT = 9092
PRODUCE = 0
GENERATIONS = ("2.0", "2.1", "4.4")
SHARED = {"request.timeout.ms": 1_000, "retry.backoff.ms": 20, "reconnect.backoff.ms": 20, "linger.ms": 0}

Alter = Callable[[int, bytes], bytes]  # the key of the API, and the frame with its length


class World:
    """A producer with two brokers, each the leader of a partition of "t". `alter` is applied to each response."""

    def __init__(self, generation: str, alter: Alter, **more: object) -> None:
        self.simulation = Simulation(2)
        self.simulation.topic("t", 2, 1)
        for broker in (1, 2):
            self.simulation.cluster.registry[broker].set_endpoint(f"broker-{broker}", PORT)
        given = SHARED | {name.replace("_", "."): value for name, value in more.items()}
        bootstrap = [(f"broker-{broker}", PORT) for broker in (1, 2)]
        self.machine = KafkaProducer(ProducerConfig(generation, given), bootstrap, lambda: 0, lambda: 0.5, self.now_ms)
        self.alter = alter
        self.told: list[tuple[int, int | ProducerError]] = []
        self.sendings: list[Sending] = []
        self.reasons: list[str] = []
        self._links: dict[int, SimulatedClient] = {}
        self._keys: dict[int, list[int]] = {}  # of requests without an answer, by connection
        self._arriving: list[tuple[int, int, bytes | None]] = []
        self._records = 0

    @property
    def now_ms(self) -> int:
        return START_MONO_MS + self.simulation.elapsed_ms

    def send(self, partition: int = 0) -> int:
        record = self._records = self._records + 1

        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            assert (metadata is None) != (error is None)
            self.told.append((record, metadata.offset if metadata is not None else error or ProducerError()))

        self.sendings.append(self.machine.send("t", b"%d" % record, 0, self.now_ms, None, partition, (), told))
        self.settle()
        return record

    def advance(self, ms: int) -> None:
        end_ms = self.now_ms + ms
        while True:
            self.settle()
            due = [self.machine.next_deadline_ms(), *(at_ms for at_ms, _, _ in self._arriving[:1])]
            if (event_ms := self.simulation.next_event_ms()) is not None:
                due.append(START_MONO_MS + event_ms)
            next_ms = max(self.now_ms, min((at_ms for at_ms in due if at_ms is not None), default=end_ms + 1))
            if next_ms > end_ms:
                break
            self.simulation.run_until(next_ms - START_MONO_MS)
            while self._arriving and self._arriving[0][0] <= self.now_ms:
                self._arrive(*self._arriving.pop(0)[1:])
            self.machine.advance_to(self.now_ms)
        self.simulation.run_until(end_ms - START_MONO_MS)

    def settle(self) -> None:
        for effect in self.machine.take_effects():
            self._do(effect)
        self.machine.check_invariants()

    def _arrive(self, number: int, data: bytes | None) -> None:
        """Deliver the data to the producer a millisecond after it was sent."""
        if data is None:
            self.machine.connection_lost(number, self.now_ms)
        elif number in self._links:
            self.machine.received(number, self.alter(self._keys[number].pop(0), data), self.now_ms)
        self.settle()

    def _do(self, effect: Connect | SendBytes | CloseConnection) -> None:
        match effect:
            case Connect(number, host, port):
                known = {f"broker-{broker}": broker for broker in (1, 2)}
                if port != PORT or host not in known:
                    self._arriving.append((self.now_ms + 1, number, None))
                    return
                link = self._links[number] = self.simulation.connect(known[host])
                self._keys[number] = []
                link.tell = lambda data: self._arriving.append((self.now_ms + 1, number, data))
                self.machine.connected(number, self.now_ms)
            case CloseConnection(number, reason):
                self.reasons += [reason] if reason else []
                gone = self._links.pop(number, None)
                if gone is not None and gone.closed is None:
                    gone.disconnect()
            case SendBytes():
                self._keys[effect.connection].append(int.from_bytes(effect.data[4:6], "big"))
                self._links[effect.connection].send(effect.data)


def first_produce(change: Callable[[bytes], bytes]) -> Alter:
    """Alter the first response to a Produce."""
    is_over = False

    def alter(key: int, frame: bytes) -> bytes:
        nonlocal is_over
        if key != PRODUCE or is_over:
            return frame
        is_over = True
        return change(frame)

    return alter


# Where the last byte of it stands in an answer about one partition, length included: before v9 of Produce, and in v13.
TOPICS, TOPIC, PARTITIONS, INDEX = (11, 9), (14, 10), (18, 26), (22, 30)


def with_byte(place: tuple[int, int], value: int) -> Callable[[bytes, bool], bytes]:
    def altered(frame: bytes, is_new: bool) -> bytes:
        at = place[is_new]
        assert frame[at] != value
        return frame[:at] + bytes([value]) + frame[at + 1 :]

    return altered


def twice(frame: bytes, is_new: bool) -> bytes:
    """Repeat the partition with the same fields."""
    at = PARTITIONS[is_new]
    end = len(frame) - (6 if is_new else 4)  # tags of the topic and of all; the throttle time
    body = frame[4:at] + bytes([frame[at] + 1]) + frame[at + 1 : end] * 2 + frame[end:]
    return len(body).to_bytes(4, "big") + body


NONSENSE: dict[str, Callable[[bytes, bool], bytes]] = {
    "another correlation id": with_byte((4, 4), 127),
    "a negative length": lambda frame, _: b"\xff\xff\xff\xfb" + frame[4:],
    "a length below that of a header": lambda frame, _: bytes(4),
    "cut short": lambda frame, _: (len(frame) - 9).to_bytes(4, "big") + frame[4:-5],
    "more topics than there are": with_byte(TOPICS, 100),
    "no topic, and more bytes": with_byte(TOPICS, 0),
    "no topic": lambda frame, is_new: b"\0\0\0\x0b" + frame[4:8] + (b"\0\1\0\0\0\0\0" if is_new else bytes(8)[:7]),
    "another topic": with_byte(TOPIC, 200),
    "more partitions than there are": with_byte(PARTITIONS, 100),
    "another partition": with_byte(INDEX, 7),
    "the same partition twice": twice,
}  # fmt: skip


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_ends_the_connection_with_a_reason_and_the_record_is_sent_again(
    nonsense: str, generation: str, idempotent: bool
) -> None:
    seen: list[bytes] = []

    def change(frame: bytes) -> bytes:
        altered = NONSENSE[nonsense](frame, generation == "4.4")
        seen.append(altered)
        return altered

    more: dict[str, object] = {"enable_idempotence": idempotent, "retries": 5, "acks": "all"}
    world = World(generation, first_produce(change), **more)
    record = world.send()
    world.advance(5_000)
    assert len(seen) == 1
    assert [one for one, _ in world.told] == [record]
    assert isinstance(world.told[0][1], int)
    assert len(world.reasons) == 1


@settings(max_examples=count(40, 2_000))
@example(generation="2.1", kind="transactional", changes=[(1, 20, 255), (7, 70, 7)])
@given(
    generation=st.sampled_from(GENERATIONS),
    kind=st.sampled_from(["plain", "idempotent", "transactional"]),
    changes=st.lists(
        st.tuples(
            st.integers(0, 12),  # which answer
            st.integers(0, 120),  # of its bytes, modulo its length
            st.one_of(st.sampled_from([0, 1, 2, 127, 128, 255]), st.integers(0, 255)),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_a_producer_outlives_any_altered_answer(
    generation: str, kind: str, changes: list[tuple[int, int, int]]
) -> None:
    """Every response may be altered. No door raises, and each record is called back, or its caller still waits."""
    answers = 0

    def alter(key: int, frame: bytes) -> bytes:
        nonlocal answers
        altered = bytearray(frame)
        for answer, at, value in changes:
            if answer == answers:
                altered[at % len(altered)] = value
        answers += 1
        return bytes(altered)

    more: dict[str, object] = {
        "enable_idempotence": kind != "plain",
        "retries": 3,
        "acks": "all",
        "max_block_ms": 3_000,
    }
    if kind == "transactional":
        more["transactional_id"] = "me"
    if generation != "2.0":
        more["delivery_timeout_ms"] = 4_000
    world = World(generation, alter, **more)
    if kind == "transactional":
        world.machine.init_transactions(world.now_ms)
        world.advance(3_100)
        try:
            world.machine.begin_transaction()
        except ProducerError:
            return  # it was told an error that is final
    for partition in (0, 1, 0):
        world.send(partition)
        world.advance(300)
    world.advance(8_000)
    heard = Counter(record for record, _ in world.told)
    twice = {record for record, times in heard.items() if times > 1}
    # As in Kafka: `send` refuses a record if a fenced producer cannot add the partition to its transaction. The record
    # is in a batch by then, and the batch fails, too.
    refused = {record for record, sending in enumerate(world.sendings, 1) if sending.error is not None}
    assert twice <= (refused if kind == "transactional" and generation != "2.0" else set())
    assert max(heard.values(), default=0) <= 2
    # KIP-91 bounds all of it. A turn that waits for a producer id or a coordinator does not look at what expires.
    if generation != "2.0" and kind == "plain":
        assert set(heard) | refused == {1, 2, 3}


@settings(max_examples=count(40, 2_000))
@given(
    generation=st.sampled_from(GENERATIONS),
    answer=st.integers(0, 2),
    changes=st.lists(st.tuples(st.integers(0, 80), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_an_altered_answer_to_a_produce_costs_no_later_record(
    generation: str, answer: int, changes: list[tuple[int, int]]
) -> None:
    """The response about its own records may be anything. A later record is written once the broker accepts it."""
    answers = 0

    def alter(key: int, frame: bytes) -> bytes:
        nonlocal answers
        altered = bytearray(frame)
        if key == PRODUCE:
            if answers == answer:
                for at, value in changes:
                    altered[at % len(altered)] = value
            answers += 1
        return bytes(altered)

    more: dict[str, object] = {"enable_idempotence": False, "retries": 3, "acks": "all"}
    if generation != "2.0":
        more["delivery_timeout_ms"] = 4_000
    world = World(generation, alter, **more)
    for _ in range(3):
        world.send()
        world.advance(2_000)
    world.advance(20_000)
    client = world.machine.client
    if any(not client.is_ready(node, world.now_ms) and client.poll_delay_ms(node, world.now_ms) for node in (1, 2)):
        return  # it was told to wait, for up to 24 days
    last = world.send()
    world.advance(2_000)
    assert [type(what) for record, what in world.told if record == last] == [int]
