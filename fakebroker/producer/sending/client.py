"""The interface between the sender and the network: the requests, and the calls that the sender makes.

Source   clients/.../clients/KafkaClient.java, as far as Sender and NetworkClientUtils use it.
Differs  There is no poll: responses arrive by the `handle_` methods of the sender.
"""

from __future__ import annotations

from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.transactions.requests import TxnRequest
from fakebroker.producer.transactions.transaction_manager import TxnRequestHandler
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr


class ClientProduceRequest:
    """A Produce request to a node, with one batch for each of its partitions. With acks=0 it has no response.
    `is_transaction_v2`: the broker adds the partitions to the transaction. `drained` has the batches in drain order;
    `batches` has them by partition, in the order of Kafka's map."""

    def __init__(
        self,
        node: int,
        acks: int,
        timeout_ms: int,
        batches: list[ProducerBatch],
        transactional_id: str | None = None,
        is_transaction_v2: bool = False,
    ) -> None:
        self.node = node
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.transactional_id = transactional_id
        self.is_transaction_v2 = is_transaction_v2
        self.drained = batches
        self.batches: HashMap[TopicPartition, ProducerBatch] = HashMap(hash_of_partition, len(batches))
        for batch in batches:
            self.batches.put(batch.partition, batch)

    @property
    def expects_response(self) -> bool:
        return self.acks != 0


class TransactionalRequest:
    """A request of the transaction manager to a node. `handler` is None if the sender itself sends it (2.0)."""

    def __init__(self, node: int, timeout_ms: int, request: TxnRequest, handler: TxnRequestHandler | None) -> None:
        self.node = node
        self.timeout_ms = timeout_ms
        self.request = request
        self.handler = handler


@mypyc_attr(allow_interpreted_subclasses=True)
class Client:
    """The network, as the sender uses it."""

    def ready(self, node: int, now_ms: int) -> bool:
        """Return True if a request can be sent to the node. If not, start to connect."""
        raise NotImplementedError

    def is_ready(self, node: int, now_ms: int) -> bool:
        """Return True if a request can be sent to the node, without connecting."""
        raise NotImplementedError

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        """Return the minimum time until the node can be ready."""
        raise NotImplementedError

    def connection_failed(self, node: int) -> bool:
        """Return True if the last connection to the node failed or was lost."""
        raise NotImplementedError

    def least_loaded_node(self, now_ms: int) -> int | None:
        """Return a node with few requests in flight, for requests that any node serves; None if none can be
        connected."""
        raise NotImplementedError

    def send(self, request: ClientProduceRequest, now_ms: int) -> None:
        raise NotImplementedError

    def send_transactional(self, request: TransactionalRequest, now_ms: int) -> None:
        """Send a request of the transaction manager, also the InitProducerId of an idempotent producer."""
        raise NotImplementedError
