"""A client with a fetch session, compared with the same reads outside of all sessions.

The oracle is a full, sessionless fetch of the same partitions at the same moment. A response of a
session has that or less. A partition in it is as in the oracle. An omitted partition is as in the last response that
had it, and has nothing to read.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.asking import ask
from support.requests import FETCH, batch, produce
from support.simulation import Simulation

TOPICS = ("t", "u")
PARTITIONS = 2
VERSIONS = (7, 11, 12, 13, 18)
BATCH = batch(b"a", b"b")
NOBODYS_ID = UUID(int=7)

Place = tuple[str, int]

ALL = [(topic, index) for topic in TOPICS for index in range(PARTITIONS)]

places = st.tuples(st.sampled_from((*TOPICS, "nobody")), st.integers(0, PARTITIONS))
offsets = st.sampled_from([0, 2, 2, 4, 4, 9])


class Told(NamedTuple):
    """The client's state of a partition."""

    error: int
    high_watermark: int
    log_start_offset: int
    records: bytes


class FetchSessionMachine(RuleBasedStateMachine):
    @initialize(version=st.sampled_from(VERSIONS), wanted=st.dictionaries(places, offsets, max_size=5))
    def begin(self, version: int, wanted: dict[Place, int]) -> None:
        self.version = version
        self.simulation = Simulation(config={"log.retention.ms": "-1"})
        for topic in TOPICS:
            self._make(topic)
        self.client, self.other = self.simulation.connect(), self.simulation.connect()
        self.session_id = self.epoch = 0
        self.wanted: dict[Place, int] = {}
        self.known: dict[Place, Told] = {}
        self.ids = {topic.topic_id: topic.name for topic in self.simulation.cluster.metadata.topics()}
        self._begin_session(wanted)

    # What goes on in the cluster.

    @rule(topic=st.sampled_from(TOPICS), partition=st.integers(0, PARTITIONS - 1), times=st.integers(1, 2))
    def append(self, topic: str, partition: int, times: int) -> None:
        for _ in range(times):
            self.other.send(produce(topic, partition, acks=1, records=BATCH))
        self._fetch_what_is_new({}, [])

    @rule(topic=st.sampled_from(TOPICS), partition=st.integers(0, PARTITIONS - 1), offset=st.sampled_from([1, 2, 4]))
    def delete_records(self, topic: str, partition: int, offset: int) -> None:
        metadata = self.simulation.cluster.metadata.find_partition(topic, partition)
        assert metadata is not None
        metadata.delete_records_before(offset)
        self._fetch_what_is_new({}, [])

    @rule(is_frozen=st.booleans())
    def freeze(self, is_frozen: bool) -> None:
        self.simulation.followers("frozen" if is_frozen else None)
        self._fetch_what_is_new({}, [])

    @rule(broker=st.integers(1, 2), partition=st.integers(0, PARTITIONS - 1))
    def move(self, broker: int, partition: int) -> None:
        if broker in self.simulation.partition("t", partition).isr:
            self.simulation.move_leader(broker, "t", partition)
        self._fetch_what_is_new({}, [])

    @rule()
    def make_again(self) -> None:
        """Only where topics go by their names: by its id another one is another."""
        if self.version < 13:
            self.simulation.delete_topic("u")
            self._make("u")
            self._fetch_what_is_new({}, [])

    def _make(self, topic: str) -> None:
        """Broker 1 leads all of it."""
        self.simulation.topic(topic, PARTITIONS)
        for partition in range(PARTITIONS):
            self.simulation.move_leader(1, topic, partition)

    # What the client does.

    @rule(wanted=st.dictionaries(places, offsets, max_size=5))
    def begin_session(self, wanted: dict[Place, int]) -> None:
        self._begin_session(wanted)

    def _begin_session(self, wanted: dict[Place, int]) -> None:
        self.wanted, self.known = dict(wanted), {}
        answer = self._fetch(self.session_id, 0, wanted, [])
        assert int(answer.error_code) == 0
        assert answer.session_id > 0
        self.session_id, self.epoch = answer.session_id, 1
        self._check(answer, is_full=True)

    @rule(added=st.dictionaries(places, offsets, max_size=3), forgotten=st.lists(places, max_size=2))
    def ask_for_something_else(self, added: dict[Place, int], forgotten: list[Place]) -> None:
        self._fetch_what_is_new(added, forgotten)

    @rule()
    def read_on(self) -> None:
        """Read from the end of the known records wherever there are more."""
        ends = {}
        for topic, index in self.wanted:
            metadata = self.simulation.cluster.metadata.find_partition(topic, index)
            if metadata is not None:
                ends[topic, index] = metadata.high_watermark
        self._fetch_what_is_new(ends, [])

    def _fetch_what_is_new(self, named: dict[Place, int], forgotten: list[Place]) -> None:
        if not self.session_id:
            self._begin_session(dict.fromkeys(ALL, 0))
        self.wanted |= named
        for place in forgotten:
            self.wanted.pop(place, None)
            self.known.pop(place, None)
        answer = self._fetch(self.session_id, self.epoch, named, forgotten)
        assert int(answer.error_code) == 0
        if not self.wanted:
            assert answer.session_id == 0
            self.session_id, self.known = 0, {}
            return
        assert answer.session_id == self.session_id
        self.epoch += 1
        self._check(answer, is_full=False)

    @rule(ahead=st.sampled_from([-1, 1, 7]))
    def miss_the_epoch(self, ahead: int) -> None:
        epoch = self.epoch + ahead
        if self.session_id and epoch > 0:
            answer = self._fetch(self.session_id, epoch, {}, list(self.wanted))
            assert (int(answer.error_code), answer.session_id, len(answer.responses)) == (71, 0, 0)

    @rule()
    def end_session(self) -> None:
        if self.session_id:
            self._fetch(self.session_id, -1, {}, [])
            answer = self._fetch(self.session_id, self.epoch, {}, [])
            assert int(answer.error_code) == 70
            self.session_id, self.wanted, self.known = 0, {}, {}

    @rule()
    def each_partition_has_a_turn(self) -> None:
        """Read one batch at a time: of n partitions with records n responses have each once, in any order."""
        self._begin_session(dict.fromkeys(ALL, 0))
        readable = [place for place, answer_ in self.known.items() if answer_.records]
        served = []
        for _ in readable:
            answer = self._fetch(self.session_id, self.epoch, {}, [], max_bytes=1)
            self.epoch += 1
            answers = self._read(answer)
            served += [place for place, answer_ in answers.items() if answer_.records]
            self.known |= answers
        assert sorted(served) == sorted(readable)

    @invariant()
    def sessions_are_well(self) -> None:
        if hasattr(self, "simulation"):
            for broker in self.simulation.cluster.brokers.values():
                broker.fetch_manager.cache.check_invariants()
            assert len(self.simulation.cluster.brokers[1].fetch_manager.cache) == (1 if self.session_id else 0)

    # How.

    def _fetch(
        self, session_id: int, epoch: int, wanted: dict[Place, int], forgotten: list[Place], max_bytes: int = 1 << 20
    ) -> Any:
        return ask(
            self.client,
            FETCH,
            self.version,
            replica_id=-1,
            max_wait=timedelta(0),
            min_bytes=1,
            max_bytes=max_bytes,
            isolation_level=0,
            session_id=session_id,
            session_epoch=epoch,
            rack_id="",
            topics=[
                self._topic(topic)
                | {"partitions": [{"partition": index, "fetch_offset": offset, "partition_max_bytes": 1 << 20}]}
                for (topic, index), offset in wanted.items()
            ],
            forgotten_topics_data=[self._topic(topic) | {"partitions": [index]} for topic, index in forgotten],
        )

    def _topic(self, name: str) -> dict[str, Any]:
        by_name = {known: topic_id for topic_id, known in self.ids.items()}
        return {"topic": name, "topic_id": by_name.get(name, NOBODYS_ID)}

    def _read(self, answer: Any) -> dict[Place, Told]:
        answers: dict[Place, Told] = {}
        for topic in answer.responses:
            name = topic.topic if self.version < 13 else self.ids.get(topic.topic_id, "nobody")
            for p in topic.partitions:
                partition_ = Told(int(p.error_code), p.high_watermark, p.log_start_offset, bytes(p.records or b""))
                assert answers.setdefault((name, p.partition_index), partition_) is partition_, "told twice"
        return answers

    def _check(self, answer: Any, is_full: bool) -> None:
        answers = self._read(answer)
        expected = self._read(self._fetch(0, -1, self.wanted, []))
        assert set(expected) == set(self.wanted)
        assert answers.keys() <= expected.keys()
        if is_full:
            assert answers.keys() == expected.keys()
        for place, now in expected.items():
            if place in answers:
                assert answers[place] == now
            else:
                before = self.known[place]
                assert (now.error, now.records) == (0, b""), "what is to be read, and errors, are always told"
                assert now[:3] == before[:3]
        self.known |= answers


FetchSessionMachine.TestCase.settings = settings(stateful_step_count=30)
TestFetchSessions = FetchSessionMachine.TestCase
