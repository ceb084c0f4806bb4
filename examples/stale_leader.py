"""A leader that does not know that it was deposed: acks=1 is acknowledged and lost, acks=all is not.

Three brokers in virtual time, and the journal of what they did. Broker 1 leads, and loses the network.

python examples/stale_leader.py
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from fakebroker.core.journal.broker_events import LeaderStale, MetadataCaughtUp
from fakebroker.core.journal.events import Append, LeaderChanged
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.error_code import kafka_name
from fakebroker.protocol.messages import decode_response, request_frame
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.testing import SimulatedClient, Simulation, check_history

PRODUCE, VERSION = 0, 9


def produce(client: SimulatedClient, value: str, acks: int) -> None:
    """Ask for one record to be written, within a minute."""
    records = encode_batch([Record(None, value.encode())], base_timestamp_ms=cluster.now.wall_ms)
    topics = [{"name": "orders", "partition_data": [{"index": 0, "records": records}]}]
    values = {"transactional_id": None, "acks": acks, "timeout": timedelta(minutes=1), "topic_data": topics}
    client.send(request_frame(PRODUCE, VERSION, values, 1, "shop"))


def told(client: SimulatedClient) -> str:
    """Return the last response of the client as text."""
    if not client.answers:
        return "nothing yet"
    answer: Any = decode_response(PRODUCE, VERSION, client.answers[-1][1])[1]
    [[partition]] = [topic.partition_responses for topic in answer.responses]
    return f"{kafka_name(partition.error_code)}, offset {partition.base_offset}"


journal = Journal()
cluster = Simulation(brokers=3, journal=journal)
cluster.topic("orders")
careless, careful = cluster.connect(1), cluster.connect(1)

print("Broker 1 is cut off: from the others, and from the controller.")
cluster.cluster.lives.cut([1], [2, 3], [1], cluster.now)
cluster.advance(9_000)
print("9 s later its session is over, and broker 2 leads. Clients of broker 1 are told")
produce(careless, "paid", acks=1)
produce(careful, "sent", acks=-1)
print("  with acks=1:  ", told(careless))
print("  with acks=all:", told(careful))
produce(cluster.connect(2), "returned", acks=-1)

print("The network is back, and broker 1 hears. They are told")
cluster.cluster.lives.join([1], [2, 3], [1], cluster.now)
cluster.advance(15)
print("  with acks=1:   nothing more")
print("  with acks=all:", told(careful))
retried = cluster.connect(2)
produce(retried, "sent", acks=-1)
print("  and again, at broker 2:", told(retried))

print("The journal:")
for event in journal:
    match event:
        case LeaderChanged():
            print(f"  broker {event.leader} leads, in epoch {event.leader_epoch}")
        case LeaderStale():
            print(f"  broker {event.broker} does not know, and goes on in epoch {event.leader_epoch}")
        case Append() if event.error == "NONE":
            print(f"  broker {event.broker} appends at offset {event.base_offset}, in epoch {event.leader_epoch}")
        case MetadataCaughtUp():
            print(f"  broker {event.broker} knows, and follows")
for finding in check_history(journal, kinds=["lost"]):
    print(finding)
