"""Ids of idempotent producers: unique in the cluster, handed out by each broker from blocks of its own.

Source   metadata/.../controller/ProducerIdControlManager.java generateNextProducerId;
         core/.../coordinator/transaction/ProducerIdManager.scala RPCProducerIdManager @ 4.0.
Differs  A broker has its next block at once, where Kafka's asks ahead of time. A block is allocated when a broker first
         needs it. If a broker stops, the rest of its block is lost, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

PRODUCER_ID_BLOCK = 1000  # ids that a broker takes from the controller at once


class ProducerIdBlocks:
    """The controller's allocation of id blocks to brokers. `next_id` is the lowest free id."""

    def __init__(self, first: int = 0) -> None:
        self.next_id = first

    def next_block(self) -> range:
        """Allocate a block of unused ids."""
        start = self.next_id
        self.next_id += PRODUCER_ID_BLOCK
        return range(start, self.next_id)


class ProducerIdManager:
    """The producer ids of one broker, from its start to its stop."""

    def __init__(self, blocks: ProducerIdBlocks) -> None:
        self._blocks = blocks
        self._block: Iterator[int] = iter(())

    def generate_producer_id(self) -> int:
        """Return an unused id."""
        producer_id = next(self._block, None)
        if producer_id is None:
            self._block = iter(self._blocks.next_block())
            producer_id = next(self._block)
        return producer_id
