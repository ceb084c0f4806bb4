"""A cluster in virtual time, transactional producers with callers that wait, and a read_committed view of the
records."""

from __future__ import annotations

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.client.transaction_calls import TransactionCall
from fakebroker.producer.errors import (
    ProducerError,
)
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.protocol.record_batch import decode_records
from fakebroker.testing.producing.simulated_producers import SimulatedProducer, SimulatedProducers
from fakebroker.testing.simulation import Simulation

PARTITIONS = 2
_MAX_BLOCK_MS = 5_000


class World:
    """A cluster, and producers with one transactional id each. `told` has the result of each record."""

    def __init__(self, generation: str, seed: int = 0, brokers: int = 3) -> None:
        self.generation = generation
        self.simulation = Simulation(brokers, seed=seed, check_every=50, with_tape=True)
        self.simulation.topic("t", PARTITIONS, min(brokers, 3))
        self.producers = SimulatedProducers(self.simulation)
        self.told: dict[int, int | ProducerError] = {}

    def add(self, transactional_id: str, seed: int = 0, **settings: object) -> SimulatedProducer:
        given: dict[str, object] = {
            "transactional.id": transactional_id, "linger.ms": 0, "max.block.ms": _MAX_BLOCK_MS,
        }  # fmt: skip
        given |= {name.replace("_", "."): value for name, value in settings.items()}
        return self.producers.add(ProducerConfig(self.generation, given), seed)

    def wait(self, client: SimulatedProducer, call: TransactionCall, most_ms: int = 60_000) -> TransactionCall:
        """Let time pass until the caller would go on."""
        client.settle()
        left_ms = most_ms
        while not call.is_done and left_ms > 0:
            self.producers.advance(1)
            left_ms -= 1
        return call

    def init(self, client: SimulatedProducer) -> TransactionCall:
        return self.wait(client, client.producer.init_transactions(self.producers.now_ms))

    def commit(self, client: SimulatedProducer) -> TransactionCall:
        return self.wait(client, client.producer.commit_transaction(self.producers.now_ms))

    def abort(self, client: SimulatedProducer) -> TransactionCall:
        return self.wait(client, client.producer.abort_transaction(self.producers.now_ms))

    def send(self, client: SimulatedProducer, record: int, partition_: int = 0) -> Sending:
        def told(metadata: RecordMetadata | None, error: ProducerError | None) -> None:
            result = metadata.offset if metadata is not None else error
            assert result is not None
            self.told[record] = result

        sending = client.producer.send(
            "t", b"%d" % record, self.simulation.now.wall_ms, self.producers.now_ms, partition=partition_, callback=told
        )
        client.settle()
        return sending

    def committed(self) -> list[int]:
        """The records that read_committed sees, partition by partition: all before the last stable offset that no
        marker aborts."""
        return [record for at in range(PARTITIONS) for record in self._committed(at)]

    def _committed(self, at: int) -> list[int]:
        seen: list[tuple[int, int]] = []
        open_: dict[int, list[tuple[int, int]]] = {}
        for batch in self.simulation.partition("t", at).leader_log.batches_from(0):
            producer_id = int.from_bytes(bytes(batch.data[43:51]), "big", signed=True)
            attributes = int.from_bytes(bytes(batch.data[21:23]), "big")
            records = list(decode_records(batch.data))
            if attributes & 0x20:
                key = records[0].key
                assert key is not None
                ended = open_.pop(producer_id, [])
                seen += ended if key[3] == 1 else []
            else:
                values = [(batch.base_offset + index, int(one.value or b"")) for index, one in enumerate(records)]
                open_.setdefault(producer_id, []).extend(values)
        return [record for _, record in sorted(seen)]
