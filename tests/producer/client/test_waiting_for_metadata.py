"""Callers that wait for the metadata of a topic, and the events that wake them."""

from __future__ import annotations

from fakebroker.producer.client.sending import Sending, goes_on_after_waiting, wait_on_metadata
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata.metadata_response import MetadataResponse, PartitionMetadata, TopicMetadata
from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.producer_config import ProducerConfig


def test_a_client_that_begins_anew_asks_once() -> None:
    """Only responses wake Kafka's thread (ProducerMetadata.update). If woken before, it would send a second request."""
    metadata = Metadata43(ProducerConfig("4.3"), lambda: 0.5, 0.0)
    metadata.bootstrap([Node(-1, "first", 9092)], 0)
    sending = Sending("t", None, None, b"value", (), 0, None, 0)
    assert not wait_on_metadata(sending, metadata, 0)
    metadata.rebootstrap()
    request = metadata.new_request(1)
    assert not goes_on_after_waiting(sending, metadata, 1)
    topic = TopicMetadata("t", [PartitionMetadata(0, 1, 0)])
    metadata.update(request, MetadataResponse([Node(1, "there", 9092)], [topic], 13), 2)
    assert goes_on_after_waiting(sending, metadata, 2)
    assert not metadata.update_requested()
