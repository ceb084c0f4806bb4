"""A producer's part in a transaction over simulated connections, a reader's view of it, and the events in the
journal."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fakebroker.core.journal.events import Event
from fakebroker.core.journal.journal import Journal
from fakebroker.core.journal.transaction_events import TransactionEvent
from fakebroker.protocol.record_batch import decode_records, read_batch_header
from support.asking import ask
from support.messages import decode_response
from support.requests import FETCH, PRODUCE, batch, request
from support.simulation import SimulatedClient, Simulation
from support.transactions import TRANSACTIONAL

READ_COMMITTED = 1


def recorded(simulation: Simulation) -> Journal:
    journal = Journal()
    simulation.cluster.probe.listen(journal.append)
    return journal


def of_transactions(journal: Journal) -> list[Event]:
    """Return the events of transactions, and forget all events so far."""
    events: list[Event] = [event for event in journal if isinstance(event, TransactionEvent)]
    journal.clear()
    return events


def names(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def produce_frame(
    producer: tuple[int, int], value: bytes, partition: int = 0, sequence: int = 0, version: int = 12
) -> bytes:
    """Return a Produce of one record to topic t in the transaction of "tx": v11 and below are transaction version 1."""
    records = batch(
        value,
        timestamp_ms=1_800_000_000_000,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        attributes=TRANSACTIONAL,
    )
    values = {
        "transactional_id": "tx",
        "acks": -1,
        "timeout": timedelta(seconds=30),
        "topic_data": [{"name": "t", "partition_data": [{"index": partition, "records": records}]}],
    }
    return request(PRODUCE, version, values, correlation_id=9)


def produce(
    client: SimulatedClient,
    producer: tuple[int, int],
    value: bytes = b"v",
    partition: int = 0,
    sequence: int = 0,
    version: int = 12,
) -> int:
    """Return the error code of a Produce, at once."""
    before = len(client.answers)
    client.send(produce_frame(producer, value, partition, sequence, version))
    ((_, frame),) = client.answers[before:]
    return produced(frame, version)


def produced(frame: bytes, version: int = 12) -> int:
    _, answer = decode_response(PRODUCE, version, frame)
    return int(answer.responses[0].partition_responses[0].error_code)


def fetched(client: SimulatedClient, partition: int = 0, isolation: int = READ_COMMITTED) -> Any:
    """Return the Fetch response about a partition of topic t, from its start."""
    answer = ask(
        client,
        FETCH,
        11,
        max_wait=timedelta(0),
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=isolation,
        topics=[
            {
                "topic": "t",
                "partitions": [
                    {
                        "partition": partition,
                        "fetch_offset": 0,
                        "partition_max_bytes": 1 << 20,
                    }
                ],
            }
        ],
    )
    return answer.responses[0].partitions[0]


def read_committed(client: SimulatedClient, partition: int = 0) -> list[bytes]:
    """Return the values that a read_committed consumer gives to its user, without aborted ones."""
    answer = fetched(client, partition)
    aborted = sorted(
        (transaction.first_offset, transaction.producer_id) for transaction in answer.aborted_transactions or ()
    )
    data, values, hidden = answer.records or b"", [], set()
    while data:
        header = read_batch_header(data)
        one, data = data[: header.size_in_bytes], data[header.size_in_bytes :]
        while aborted and aborted[0][0] <= header.base_offset:
            hidden.add(aborted.pop(0)[1])
        if header.is_control:
            hidden.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in hidden):
            values += [record.value or b"" for record in decode_records(one)]
    return values
