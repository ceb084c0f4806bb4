"""Common parts of the stories: a cluster and producers in one virtual time, both journals, and the picture."""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.core.journal.events import Answer
from fakebroker.core.journal.journal import Journal
from fakebroker.producer.journal.events import ProducerEvent, RequestSent
from fakebroker.producer.journal.journal import ProducerJournal
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.record_batch import decode_records
from fakebroker.testing import Simulation, Timelines, TimelineStep
from fakebroker.testing.producing.picture import picture
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers

_SETTLED_MS = 100


class Story:
    """`title` is that of the picture. Time 0 is when `begin` is called."""

    def __init__(self, title: str, brokers: int = 1, config: dict[str, str] | None = None) -> None:
        self.title = title
        self.broker_journal = Journal()
        self.cluster = Simulation(brokers, config=config, journal=self.broker_journal)
        self.producers = SimulatedProducers(self.cluster)
        self.journals: list[ProducerJournal] = []
        self._began_ms = 0

    def producer(self, name: str, generation: str, **settings: object) -> SimulatedProducer:
        """A producer of that release of Kafka; settings with underscores for dots."""
        values = {key.replace("_", "."): value for key, value in settings.items()}
        config = ProducerConfig(generation, {"client.id": name, **values})
        self.journals.append(self.producers.new_journal(config))
        return self.producers.add(config, journal=self.journals[-1])

    def send(
        self,
        producer: SimulatedProducer,
        size: int = 100,
        topic: str = "orders",
        partition: int | None = 0,
        key: str | None = None,
    ) -> None:
        producer.producer.send(
            topic,
            bytes(size),
            self.cluster.now.wall_ms,
            self.producers.now_ms,
            key=None if key is None else key.encode(),
            partition=partition,
        )
        producer.settle()

    def log(self, partition: int = 0, topic: str = "orders", broker: int | None = None) -> list[str]:
        """The keys of what stands in its log, at its leader or at that broker; records without a key are left out."""
        partition_state = self.cluster.partition(topic, partition)
        log = partition_state.leader_log if broker is None else partition_state.replicas[broker].log
        records = (record for batch in log.batches_from(0) for record in decode_records(batch.data))
        return [record.key.decode() for record in records if record.key is not None]

    def begin(self) -> None:
        """Producers know the cluster by now; from here on it is told."""
        self.advance(_SETTLED_MS)
        self._began_ms = self.producers.now_ms

    def advance(self, ms: int) -> None:
        self.producers.advance(ms)

    def at(self, at_ms: int, do: Callable[[], object]) -> None:
        """Schedule an action at so many milliseconds after the beginning of the story."""
        after_ms = self._began_ms + at_ms - self.producers.now_ms
        self.producers.at(self.cluster.elapsed_ms + after_ms, lambda: (do(), None)[1])

    def timelines(self) -> Timelines:
        events: list[ProducerEvent] = [event for journal in self.journals for event in journal]
        return Timelines(events, self.broker_journal)

    def steps(self) -> list[TimelineStep]:
        return self.timelines().of_run(self._began_ms)

    def tell(self, *kinds: type) -> None:
        """Print the steps of these kinds; of requests, those that are a Produce."""
        steps = self.steps()
        others = {
            (step.event.producer, step.correlation_id)
            for step in steps
            if isinstance(step.event, RequestSent) and not step.event.batches
        }
        for step in steps:
            is_other = isinstance(step.event, Answer) and not (step.event.partitions or step.event.outcome == "none")
            is_other |= (step.where, step.correlation_id) in others
            if isinstance(step.event, kinds) and not is_other:
                print(f"{step.elapsed_ms:>7,} ms  {step.where:<10} {step.text}")

    def svg(self) -> str:
        return picture(self.steps(), self.title)
