"""Calls of a transactional producer (producer/client/transaction_doors.py)."""

from __future__ import annotations

import pytest
from support.transactional_world import World

from fakebroker.producer.client.transaction_doors import TransactionCall


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_a_call_of_a_fenced_producer_ends_with_the_error(generation: str) -> None:
    world = World(generation)
    first, second = world.add("tx"), world.add("tx", 1)
    world.init(first)
    first.producer.begin_transaction()
    world.send(first, 1)
    world.producers.advance(50)
    world.init(second)
    ended: list[TransactionCall] = []
    call = world.wait(first, first.producer.commit_transaction(world.producers.now_ms, ended.append))
    assert call.error is not None
    assert ended == [call]
