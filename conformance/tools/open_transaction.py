"""Begin a transaction that never ends, by requests of our own."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from conformance import frames
from conformance.clients.wire import Wire, check
from conformance.tools.command import Open

_PRODUCE, _FIND_COORDINATOR, _INIT_PRODUCER_ID, _ADD_PARTITIONS_TO_TXN = 0, 10, 22, 24
_TRANSACTION = 1  # a type of key, for FindCoordinator
_IS_TRANSACTIONAL = 0x10
_TIMEOUT = timedelta(minutes=10)
_LIMIT_S = 20.0
_AGAIN_S = 0.05
_LATER = (14, 15, 16)  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR


def open_transaction(bootstrap_servers: str, wanted: Open) -> None:
    """Raises RuntimeError if a broker refuses."""
    with Wire(bootstrap_servers) as wire:
        limit = time.monotonic() + _LIMIT_S
        while True:
            values = {"key": wanted.transactional_id, "key_type": _TRANSACTION}
            response = wire.ask(bootstrap_servers.split(",")[0], _FIND_COORDINATOR, 3, values)
            coordinator = f"{response.host}:{response.port}"
            producer = response if response.error_code else _producer(wire, coordinator, wanted)
            if producer.error_code not in _LATER or time.monotonic() > limit:
                break
            time.sleep(_AGAIN_S)
        check(producer.error_code, f"a producer id for {wanted.transactional_id}")
        if wanted.is_told:
            added = {
                "v3_and_below_transactional_id": wanted.transactional_id,
                "v3_and_below_producer_id": producer.producer_id,
                "v3_and_below_producer_epoch": producer.producer_epoch,
                "v3_and_below_topics": [{"name": wanted.topic, "partitions": [0]}],
            }
            answer = wire.ask(coordinator, _ADD_PARTITIONS_TO_TXN, 3, added)
            check(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code, "adding it")
        addresses, topic = wire.described(wanted.topic)
        records = frames.batch(
            b"open",
            attributes=_IS_TRANSACTIONAL,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
        )
        frame = frames.produce(wanted.topic, records, transactional_id=wanted.transactional_id)
        leader = next(addresses[part.leader_id] for part in topic.partitions if part.partition_index == 0)
        written = wire.exchange(leader, _PRODUCE, 9, frame)
        check(written.responses[0].partition_responses[0].error_code, f"writing to {wanted.topic}")


def _producer(wire: Wire, coordinator: str, wanted: Open) -> Any:
    values = {
        "transactional_id": wanted.transactional_id,
        "transaction_timeout": _TIMEOUT,
        "producer_id": -1,
        "producer_epoch": -1,
    }
    return wire.ask(coordinator, _INIT_PRODUCER_ID, 4, values)
