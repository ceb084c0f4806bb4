"""Messages of Kafka's exceptions: the sentence of each release, where it changed."""

from __future__ import annotations

import pytest

from fakebroker.producer.generation import Generation
from fakebroker.producer.sending import words
from fakebroker.protocol.topic_partition import TopicPartition

ORDERS = TopicPartition("orders", 3)


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("2.1", "Expiring 2 record(s) for orders-3:120004 ms has passed since batch creation"),
        ("4.2", "Expiring 2 record(s) for orders-3:120004 ms has passed since batch creation"),
        (
            "4.3",
            "Expiring 2 record(s) for orders-3:120004 ms has passed since batch creation. The request has not been "
            "sent, or no server response has been received yet.",
        ),
    ],
)
def test_a_batch_that_expired(release: str, text: str) -> None:
    assert words.expired(2, ORDERS, 120_004, Generation(release)) == text


@pytest.mark.parametrize(
    ("release", "is_timed_out", "text"),
    [
        ("2.0", False, "The server disconnected before a response was received."),
        ("2.7", False, "The server disconnected before a response was received."),
        ("2.8", False, "Disconnected from node 1"),
        ("3.5", True, "Disconnected from node 1 due to timeout"),
    ],
)
def test_no_broker_responded(release: str, is_timed_out: bool, text: str) -> None:
    assert words.disconnected(1, is_timed_out, Generation(release)) == text


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("2.0", "Failed to allocate memory within the configured max blocking time 50 ms."),
        ("3.0", "Failed to allocate memory within the configured max blocking time 50 ms."),
        (
            "3.1",
            "Failed to allocate 900 bytes within the configured max blocking time 50 ms. Total memory: 1000 bytes. "
            "Available memory: 100 bytes. Poolable size: 800 bytes",
        ),
    ],
)
def test_there_was_no_memory(release: str, text: str) -> None:
    assert words.no_memory(900, 50, 1_000, 100, 800, Generation(release)) == text


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("2.4", "larger than the maximum request size you have configured with the max.request.size configuration."),
        ("2.5", "larger than 1000, which is the value of the max.request.size configuration."),
    ],
)
def test_a_record_is_too_large(release: str, text: str) -> None:
    assert words.too_large_for_request(1_078, 1_000, Generation(release)).endswith(text)


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("2.2", "Timeout expired while initializing transactional state in 60000ms."),
        ("2.3", "Timeout expired after 60000 milliseconds while awaiting InitProducerId"),
        ("3.1", "Timeout expired after 60000ms while awaiting InitProducerId"),
        (
            "4.3",
            "Timeout expired after 60000ms while awaiting InitProducerId. InitTransactions timed out - did not "
            "complete coordinator discovery or receive the InitProducerId response within max.block.ms.",
        ),
    ],
)
def test_a_transaction_that_was_waited_for_in_vain(release: str, text: str) -> None:
    assert words.not_done_in_time("initTransactions", "InitProducerId", 60_000, Generation(release)) == text
