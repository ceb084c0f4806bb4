"""Records between `send` and a batch, without a sender (producer/client/record_sends.py)."""

from __future__ import annotations

import pytest

from fakebroker.producer.accumulator_2_0 import RecordAccumulator20
from fakebroker.producer.accumulator_4_3 import RecordAccumulator43
from fakebroker.producer.client.record_sends import RecordSends
from fakebroker.producer.client.sender_thread import SenderThread
from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import AfterCloseError, ProducerTimeoutError
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_2_0 import Metadata20
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.producer_config import ProducerConfig

MAX_BLOCK_MS = 1_000
both = pytest.mark.parametrize("generation", ["2.0", "4.3"])


class World:
    """The sends of a producer that knows no topic. Its sender waits for a minute."""

    def __init__(self, generation: str) -> None:
        config = ProducerConfig(generation, {"max.block.ms": MAX_BLOCK_MS, "enable.idempotence": False})
        metadata: Metadata
        accumulator: RecordAccumulator20 | RecordAccumulator43
        if generation == "2.0":
            metadata, accumulator = Metadata20(config), RecordAccumulator20(config)
        else:
            metadata = Metadata43(config, lambda: 0.5)
            accumulator = RecordAccumulator43(config, lambda: 0, lambda: 0.5)
        self.thread = SenderThread(0)
        self.thread.wait(0, 60_000)
        self.sends = RecordSends(metadata, accumulator, lambda: 0, self.thread)

    def send(self, now_ms: int) -> Sending:
        return self.sends.send("t", b"value", 0, now_ms, None, None, (), None)


@both
def test_a_record_of_an_unknown_topic_wakes_the_sender_and_waits_for_metadata(generation: str) -> None:
    world = World(generation)
    assert world.sends.next_deadline_ms() is None
    first, second = world.send(5), world.send(7)
    assert world.thread.poll_until_ms == 7
    assert world.sends.next_deadline_ms() == 5 + MAX_BLOCK_MS
    world.sends.advance_to(5 + MAX_BLOCK_MS)
    assert isinstance(first.error, ProducerTimeoutError)
    assert not second.is_done
    assert world.sends.next_deadline_ms() == 7 + MAX_BLOCK_MS


@both
def test_a_withdrawn_record_waits_no_longer(generation: str) -> None:
    world = World(generation)
    sending = world.send(5)
    world.sends.withdraw(sending, 6)
    assert sending.is_done
    assert world.sends.next_deadline_ms() is None


@both
def test_no_record_is_taken_once_the_sender_is_being_closed(generation: str) -> None:
    world = World(generation)
    waiting = world.send(5)
    world.thread.initiate_close(6, 100)
    world.sends.advance_to(6)
    assert waiting.error is not None
    assert isinstance(world.send(7).error, AfterCloseError)
