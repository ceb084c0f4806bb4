"""Requests about transactions, and a cluster with a transaction coordinator."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from support.asking import ask
from support.simulation import SimulatedClient, Simulation

INIT, ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, TXN_COMMIT = 22, 24, 25, 26, 27, 28
DESCRIBE_TXN, LIST_TXN = 65, 66
TRANSACTIONAL = 0x10


def with_coordinator(brokers: int = 1, partitions: int = 1, **config: str) -> Simulation:
    """`__transaction_state` has one partition, so broker 1 coordinates all; topic t has two."""
    simulation = Simulation(brokers=brokers, config={name.replace("_", "."): value for name, value in config.items()})
    simulation.topic("__transaction_state", partitions, brokers)
    simulation.topic("__consumer_offsets", 1, brokers)
    simulation.topic("t", 2, brokers)
    simulation.settle()
    return simulation


def init(client: SimulatedClient, version: int = 5, **values: Any) -> tuple[int, int, int]:
    """Return error, producer id and epoch."""
    defaults = {
        "transactional_id": "tx",
        "transaction_timeout": timedelta(seconds=60),
        "producer_id": -1,
        "producer_epoch": -1,
    }
    answer = ask(client, INIT, version, **(defaults | values))
    return int(answer.error_code), answer.producer_id, answer.producer_epoch


def add(client: SimulatedClient, producer: tuple[int, int], *partitions: int, version: int = 3) -> dict[int, int]:
    """Return the errors by partition of topic t."""
    topics = [{"name": "t", "partitions": partitions}]
    values: dict[str, Any] = {
        "v3_and_below_transactional_id": "tx",
        "v3_and_below_producer_id": producer[0],
        "v3_and_below_producer_epoch": producer[1],
        "v3_and_below_topics": topics,
        "transactions": [
            {
                "transactional_id": "tx",
                "producer_id": producer[0],
                "producer_epoch": producer[1],
                "topics": topics,
            }
        ],
    }
    answer = ask(client, ADD_PARTITIONS, version, **values)
    results = answer.results_by_topic_v3_and_below if version < 4 else answer.results_by_transaction[0].topic_results
    return {
        result.partition_index: int(result.partition_error_code)
        for topic in results
        for result in topic.results_by_partition
    }


def end(
    client: SimulatedClient,
    producer: tuple[int, int],
    committed: bool = True,
    version: int = 5,
    transactional_id: str = "tx",
) -> tuple[int, int, int]:
    """Return the error, and from v5 on the next producer id and epoch."""
    answer = ask(
        client,
        END,
        version,
        transactional_id=transactional_id,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=committed,
    )
    return int(answer.error_code), getattr(answer, "producer_id", -1), getattr(answer, "producer_epoch", -1)
