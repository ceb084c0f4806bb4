"""The seam between the sender and the network: what is sent, and what the sender asks of the network.

Source   clients/.../clients/KafkaClient.java, as far as Sender and NetworkClientUtils use it.
Differs  Nothing is polled: answers come by the sender's doors.
"""

from __future__ import annotations

from fakebroker.producer.copy_on_write_map import hash_of_partition
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_batch import ProducerBatch
from fakebroker.producer.transactions.requests import TxnRequest
from fakebroker.producer.transactions.transaction_manager import TxnRequestHandler
from fakebroker.protocol.topic_partition import TopicPartition
from timingwheel.mypyc import mypyc_attr


class ProduceRequest:
    """One batch for each of some partitions, on its way to a node. With acks=0 nobody answers it. `transactional_id` is
    that of a transactional producer; `is_transaction_v2`: the broker adds the partitions to the transaction. `drained`
    are the batches as the accumulator gave them, `batches` the same by partition, in the order of Kafka's map."""

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
    """What the transaction manager asks, on its way to a node. Without a `handler` the sender itself asked (2.0)."""

    def __init__(self, node: int, timeout_ms: int, request: TxnRequest, handler: TxnRequestHandler | None) -> None:
        self.node = node
        self.timeout_ms = timeout_ms
        self.request = request
        self.handler = handler


@mypyc_attr(allow_interpreted_subclasses=True)
class Client:
    """The network, as the sender sees it."""

    def ready(self, node: int, now_ms: int) -> bool:
        """Whether a request could go there; if not, connecting begins."""
        raise NotImplementedError

    def is_ready(self, node: int, now_ms: int) -> bool:
        """The same, and nothing begins."""
        raise NotImplementedError

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        """How long it will at least not be ready."""
        raise NotImplementedError

    def connection_failed(self, node: int) -> bool:
        """Whether the connection that was begun could not be made, or was lost."""
        raise NotImplementedError

    def least_loaded_node(self, now_ms: int) -> int | None:
        """A node that any may ask: one with few requests in flight; None if there is none to be connected."""
        raise NotImplementedError

    def send(self, request: ProduceRequest, now_ms: int) -> None:
        raise NotImplementedError

    def send_transactional(self, request: TransactionalRequest, now_ms: int) -> None:
        """What a transaction manager asks, the id of an idempotent producer too."""
        raise NotImplementedError
