"""The network client as the sender knows it, and what becomes of the sender's requests.

Source   Sender.sendProduceRequest, handleProduceResponse of 2.0 and 4.3.
"""

from __future__ import annotations

from fakebroker.producer.client.frames import ProduceBody, ProduceResponse
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.network.client_request import ClientResponse
from fakebroker.producer.network.network_client import NetworkClient
from fakebroker.producer.network.node_api_versions import PRODUCE, client_range
from fakebroker.producer.sending.client import Client, ProduceRequest, TransactionalRequest
from fakebroker.producer.sending.response_errors import PartitionAnswer
from fakebroker.producer.sending.sender import Sender
from fakebroker.protocol.error_code import ErrorCode


class SenderNetwork(Client):
    def __init__(self, client: NetworkClient, metadata: Metadata) -> None:
        self._client = client
        self._metadata = metadata
        self._wanted = client_range(PRODUCE, metadata.config.generation)

    def ready(self, node: int, now_ms: int) -> bool:
        found = self._metadata.fetch().node_by_id(node)
        assert found is not None, f"node {node} leads something, and is not known"
        return self._client.ready(found, now_ms)

    def is_ready(self, node: int, now_ms: int) -> bool:
        return self._client.is_ready(node, now_ms)

    def connection_failed(self, node: int) -> bool:
        return self._client.connection_failed(node)

    def least_loaded_node(self, now_ms: int) -> int | None:
        found = self._client.least_loaded_node(now_ms).node
        return None if found is None else found.node_id

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        return self._client.poll_delay_ms(node, now_ms)

    def send(self, request: ProduceRequest, now_ms: int) -> None:
        topics = {partition.topic for partition, _ in request.batches.items()}
        ids = self._metadata.topic_ids()
        body = ProduceBody(request, {topic: ids[topic] for topic in topics if topic in ids})
        asked = self._client.new_client_request(request.node, self._wanted, body, now_ms, request.expects_response)
        self._client.send(asked, now_ms)

    def send_transactional(self, request: TransactionalRequest, now_ms: int) -> None:
        raise AssertionError("the producer is neither idempotent nor transactional: KafkaProducer refuses that")


def complete(response: ClientResponse, sender: Sender, metadata: Metadata, now_ms: int) -> None:
    """What the sender sent has come to an end."""
    body = response.request.body
    if not isinstance(body, ProduceBody):
        return  # 2.0 tells of its own requests too, if no version was found for them
    request = body.request
    if response.was_disconnected:
        sender.handle_disconnect(request, response.was_timed_out, now_ms)
    elif response.version_mismatch is not None:
        refused = [PartitionAnswer(one, ErrorCode.unsupported_version) for one, _ in request.batches.items()]
        sender.handle_produce_response(request, refused, 0, now_ms)
    elif isinstance(response.body, ProduceResponse):
        answer = response.body
        sender.handle_produce_response(request, answer.answers, answer.throttle_time_ms, now_ms)
        if answer.leaders and isinstance(metadata, Metadata43):
            metadata.update_partition_leadership(answer.leaders, answer.nodes)
    else:
        sender.handle_no_response(request, now_ms)
