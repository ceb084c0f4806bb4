"""A stock producer with a torn transaction: the network holds back one request for a moment.

Between client and broker stands a proxy that keeps the first EndTxn. The client waits a second, connects anew and sends
it again. Then the proxy forwards the held EndTxn, within the next transaction. librdkafka (up to 2.16 at least) uses
version 1 of transactions. In this version no broker can tell the two requests apart.

pip install confluent-kafka
python examples/held_commit.py
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress

from confluent_kafka import Consumer, Producer

from fakebroker import FakeCluster

END_TXN = 26


class HoldingProxy:
    """Passes everything on, but for the first EndTxn after `hold()`: that one stays until `release()`, even if its
    client has gone."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._is_holding = False
        self._held: tuple[socket.socket, bytes] | None = None
        self._answered = threading.Event()

    def start(self, broker_port: int) -> None:
        threading.Thread(target=self._accept, args=(broker_port,), daemon=True).start()

    def hold(self) -> None:
        self._is_holding = True

    def release(self) -> None:
        assert self._held is not None
        broker, request = self._held
        broker.sendall(request)
        self._answered.wait(10)  # its response has no other reader any more

    def _accept(self, broker_port: int) -> None:
        while True:
            client, _ = self._listener.accept()
            broker = socket.create_connection(("127.0.0.1", broker_port))
            threading.Thread(target=self._pass_requests, args=(client, broker), daemon=True).start()
            threading.Thread(target=self._pass_answers, args=(broker, client), daemon=True).start()

    def _pass_requests(self, client: socket.socket, broker: socket.socket) -> None:
        with client.makefile("rb") as stream:
            while len(header := stream.read(6)) == 6:
                size, api_key = struct.unpack(">ih", header)
                request = header + stream.read(size - 2)
                if self._is_holding and api_key == END_TXN:
                    self._is_holding, self._held = False, (broker, request)
                    return
                broker.sendall(request)
        broker.close()

    def _pass_answers(self, broker: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):  # one of the two has gone
            while data := broker.recv(1 << 16):
                if self._held is not None and broker is self._held[0]:
                    self._answered.set()
                else:
                    client.sendall(data)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def read_committed(bootstrap_servers: str) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "auditor",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.subscribe(["accounts"])
    values, ends = [], 0
    while ends < 2 and (message := consumer.poll(10)) is not None:
        if message.error():
            ends += 1  # of a partition
        else:
            values.append((message.value() or b"").decode())
    consumer.close()
    return sorted(values)


proxy, port = HoldingProxy(), free_port()
config = {"group.initial.rebalance.delay.ms": 0}
with FakeCluster(brokers=1, port=port, advertised_port=proxy.port, config=config) as kafka:
    proxy.start(port)
    kafka.create_topic("accounts", partitions=2)
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": "bank",
            "socket.timeout.ms": 1_000,  # then it connects anew, and sends the request again
            "log_level": 0,
        }
    )
    producer.init_transactions(10)

    producer.begin_transaction()
    producer.produce("accounts", "alice -10", partition=0)
    producer.produce("accounts", "bob +10", partition=1)
    proxy.hold()
    started = time.monotonic()
    producer.commit_transaction(30)
    print(f"the first is committed, after {time.monotonic() - started:.1f} s")

    producer.begin_transaction()
    producer.produce("accounts", "alice -99", partition=0)
    producer.flush(10)
    proxy.release()
    producer.produce("accounts", "bob +99", partition=1)
    producer.flush(10)
    producer.abort_transaction(10)
    print("the second is aborted")
    print("what a consumer reads of what is committed:", read_committed(kafka.bootstrap_servers))
