"""The network client as the sender uses it, and the outcomes of the sender's requests.

Theory   A coordinator is a node as named by FindCoordinator.
Source   Sender.sendProduceRequest, handleProduceResponse, TxnRequestHandler.onComplete of 2.0 and 4.3.
"""

from __future__ import annotations

from fakebroker.producer.client.frames import ProduceBody, ProduceResponse
from fakebroker.producer.client.transaction_frames import TransactionResponse, transaction_range
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientResponse
from fakebroker.producer.network.network_client import NetworkClient
from fakebroker.producer.network.node_api_versions import PRODUCE, client_range
from fakebroker.producer.sending.client import Client, ClientProduceRequest, TransactionalRequest
from fakebroker.producer.sending.response_errors import PartitionResponse
from fakebroker.producer.sending.sender import Sender
from fakebroker.protocol.error_code import ErrorCode

_LAST_BEFORE_TRANSACTION_V2 = 11  # Produce versions above this imply KIP-890


class SenderNetwork(Client):
    def __init__(self, client: NetworkClient, metadata: Metadata) -> None:
        self._client = client
        self._metadata = metadata
        self._generation = metadata.config.generation
        self._wanted = client_range(PRODUCE, self._generation)
        self._coordinators: dict[int, Node] = {}  # as FindCoordinator named them, even if the metadata lack them

    def ready(self, node: int, now_ms: int) -> bool:
        broker = self._coordinators.get(node) or self._metadata.fetch().node_by_id(node)
        assert broker is not None, f"node {node} leads or coordinates something, and is not known"
        return self._client.ready(broker, now_ms)

    def is_ready(self, node: int, now_ms: int) -> bool:
        return self._client.is_ready(node, now_ms)

    def connection_failed(self, node: int) -> bool:
        return self._client.connection_failed(node)

    def least_loaded_node(self, now_ms: int) -> int | None:
        node = self._client.least_loaded_node(now_ms).node
        return None if node is None else node.node_id

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        return self._client.poll_delay_ms(node, now_ms)

    def send(self, request: ClientProduceRequest, now_ms: int) -> None:
        topics = {partition.topic for partition, _ in request.batches.items()}
        ids = self._metadata.topic_ids()
        body = ProduceBody(request, {topic: ids[topic] for topic in topics if topic in ids})
        wanted = self._wanted
        if request.transactional_id is not None and not request.is_transaction_v2:
            wanted = wanted._replace(max_version=min(wanted.max_version, _LAST_BEFORE_TRANSACTION_V2))
        client_request = self._client.new_client_request(request.node, wanted, body, now_ms, request.expects_response)
        self._client.send(client_request, now_ms)

    def send_transactional(self, request: TransactionalRequest, now_ms: int) -> None:
        wanted = transaction_range(request.request, self._generation)
        self._client.send(self._client.new_client_request(request.node, wanted, request, now_ms), now_ms)

    def complete_transactional(self, response: ClientResponse, request: TransactionalRequest, sender: Sender) -> None:
        if response.was_disconnected:
            sender.handle_transactional_disconnect(request)
        elif response.version_mismatch is not None:
            sender.handle_transactional_refusal(request, str(response.version_mismatch))
        else:
            assert isinstance(response.body, TransactionResponse)
            coordinator = response.body.coordinator
            if coordinator is not None:
                self._coordinators[coordinator.node_id] = coordinator
            sender.handle_transactional_response(request, response.body.answer)


def complete(response: ClientResponse, network: SenderNetwork, sender: Sender, metadata: Metadata, now_ms: int) -> None:
    """Pass the outcome of a request to the sender."""
    body = response.request.body
    if isinstance(body, TransactionalRequest):
        network.complete_transactional(response, body, sender)
    if not isinstance(body, ProduceBody):
        return  # 2.0 also returns its internal requests if no version is usable
    request = body.request
    if response.was_disconnected:
        sender.handle_disconnect(request, response.was_timed_out, now_ms)
    elif response.version_mismatch is not None:
        refused = [PartitionResponse(one, ErrorCode.unsupported_version) for one, _ in request.batches.items()]
        sender.handle_produce_response(request, refused, 0, now_ms)
    elif isinstance(response.body, ProduceResponse):
        answer = response.body
        sender.handle_produce_response(request, answer.answers, answer.throttle_time_ms, now_ms)
        if answer.leaders and isinstance(metadata, Metadata43):
            metadata.update_partition_leadership(answer.leaders, answer.nodes)
    else:
        sender.handle_no_response(request, now_ms)
