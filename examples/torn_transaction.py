"""One message that comes too late tears a transaction in two: the protocol before KIP-890, and after it.

A producer moves money between two accounts, each in a partition of its own. The network holds back one EndTxn; the
producer sends it again, and goes on with the next transaction, into which the held one then falls.

python examples/torn_transaction.py
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fakebroker.core.journal.journal import Journal
from fakebroker.core.journal.transaction_events import ProducerFenced, TransitionPrepared
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.record_batch import Record, decode_records, encode_batch, read_batch_header
from fakebroker.testing import SimulatedClient, Simulation

PRODUCE, FETCH, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 0, 1, 22, 24, 26
ALICE, BOB = 0, 1  # partitions of the topic "accounts"
TRANSACTIONAL = 0x10


def ask(connection: SimulatedClient, api_key: int, version: int, **values: Any) -> Any:
    """One request, and its answer."""
    connection.send(request_frame(api_key, version, values, 1, "bank"))
    return decode_response(api_key, version, connection.answers[-1][1])[1]


class Producer:
    """A transactional producer. Its version of transactions shows in the versions of its requests: with 1 it adds the
    partitions itself and has one epoch, with 2 (KIP-890) the broker adds them and each transaction has its own."""

    def __init__(self, cluster: Simulation, version: int) -> None:
        self.version = version
        self.connection = cluster.connect()
        timeout = timedelta(minutes=1)
        given = ask(
            self.connection,
            INIT_PRODUCER_ID,
            5,
            transactional_id="bank",
            transaction_timeout=timeout,
            producer_id=-1,
            producer_epoch=-1,
        )
        self.producer_id, self.epoch = given.producer_id, given.producer_epoch
        self.sequences = [0, 0]

    def write(self, account: int, value: str) -> None:
        if self.version == 1:
            ask(
                self.connection,
                ADD_PARTITIONS,
                3,
                v3_and_below_transactional_id="bank",
                v3_and_below_producer_id=self.producer_id,
                v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[{"name": "accounts", "partitions": [account]}],
            )
        records = encode_batch(
            [Record(None, value.encode())],
            base_timestamp_ms=1_800_000_000_000,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequences[account],
            attributes=TRANSACTIONAL,
        )
        self.sequences[account] += 1
        topics = [{"name": "accounts", "partition_data": [{"index": account, "records": records}]}]
        answer = ask(
            self.connection,
            PRODUCE,
            12 if self.version == 2 else 11,
            transactional_id="bank",
            acks=-1,
            timeout=timedelta(seconds=30),
            topic_data=topics,
        )
        error_name = kafka_name(answer.responses[0].partition_responses[0].error_code)
        print(f"  the producer writes {value!r}: {error_name}")

    def end_txn(self, committed: bool) -> dict[str, Any]:
        """Return the fields of an EndTxn request."""
        return {
            "transactional_id": "bank",
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "committed": committed,
        }

    def end(self, connection: SimulatedClient, end_txn: dict[str, Any]) -> Any:
        return ask(connection, END_TXN, 5 if self.version == 2 else 4, **end_txn)

    def finish(self, committed: bool) -> None:
        answer = self.end(self.connection, self.end_txn(committed))
        print(f"  the producer {'commits' if committed else 'aborts'}: {kafka_name(answer.error_code)}")
        if self.version == 2:
            self.epoch, self.sequences = answer.producer_epoch, [0, 0]


def read_committed(cluster: Simulation, account: int) -> list[str]:
    """Return the records that a consumer with isolation.level=read_committed returns to its user."""
    partition = {"partition": account, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    answer = ask(
        cluster.connect(),
        FETCH,
        11,
        replica_id=-1,
        max_wait=timedelta(0),
        min_bytes=0,
        isolation_level=1,
        session_epoch=-1,
        topics=[{"topic": "accounts", "partitions": [partition]}],
        forgotten_topics_data=[],
        rack_id="",
    )
    [response] = answer.responses[0].partitions
    starts = sorted(
        (transaction.first_offset, transaction.producer_id) for transaction in response.aborted_transactions or ()
    )
    data, values, aborted = response.records or b"", [], set()
    while data:
        header = read_batch_header(data)
        while starts and starts[0][0] <= header.base_offset:
            aborted.add(starts.pop(0)[1])
        if header.is_control:
            aborted.discard(header.producer_id)
        elif header.producer_id not in aborted:
            values += [(record.value or b"").decode() for record in decode_records(data[: header.size_in_bytes])]
        data = data[header.size_in_bytes :]
    return values


def run(version: int) -> dict[str, list[str]]:
    """Run both transactions, with a message in between that was meant for the first. Return what consumers read in the
    end."""
    journal = Journal()
    cluster = Simulation(brokers=1, journal=journal)
    for topic, count in (("__transaction_state", 1), ("accounts", 2)):
        cluster.topic(topic, count, 1)
    producer = Producer(cluster, version)

    print("the first transaction")
    producer.write(ALICE, "alice -10")
    producer.write(BOB, "bob +10")
    network, held = cluster.connect(), producer.end_txn(committed=True)
    print("  the producer commits: no answer, the network holds the request")
    producer.finish(committed=True)

    print("the second transaction")
    journal.clear()
    producer.write(ALICE, "alice -99")
    print(f"  the request that was held arrives: {kafka_name(producer.end(network, held).error_code)}")
    producer.write(BOB, "bob +99")
    producer.finish(committed=False)

    read = {"alice": read_committed(cluster, ALICE), "bob": read_committed(cluster, BOB)}
    print(f"what is read of what is committed: {read}")
    print("and the journal of the second transaction:")
    for event in journal:
        match event:
            case ProducerFenced():
                print(f"  {event.api} of epoch {event.producer_epoch} is refused: the epoch is {event.current_epoch}")
            case TransitionPrepared(partitions=partitions) if partitions:
                written = ", ".join(f"{topic}-{partition}" for topic, partition in partitions)
                change = f"{event.state} to {event.next_state}"
                print(f"  {event.reason}: {change} with {written}, epoch {event.producer_epoch}")
    return read


if __name__ == "__main__":
    for version in (1, 2):
        print(f"--- version {version} of transactions")
        run(version)
