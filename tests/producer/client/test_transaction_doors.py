"""Calls of a transactional producer (producer/client/transaction_doors.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.transactional_world import World

from fakebroker.apis import registry
from fakebroker.apis.cluster import api_versions
from fakebroker.producer.client.transaction_doors import TransactionCall
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import ErrorCode

INIT_PRODUCER_ID = 22


@pytest.fixture
def without_init_producer_id(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve all APIs but InitProducerId."""
    registry.load()
    monkeypatch.delitem(registry._apis, INIT_PRODUCER_ID)
    api_versions._whole_answer.cache_clear()
    yield
    api_versions._whole_answer.cache_clear()


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


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_a_request_without_a_usable_version_ends_the_call(generation: str, without_init_producer_id: None) -> None:
    """A version mismatch is fatal, as in Kafka's TransactionManager, TxnRequestHandler.onComplete."""
    world = World(generation)
    error = world.init(world.add("tx")).error
    assert isinstance(error, BrokerError)
    assert error.code == ErrorCode.unsupported_version
    assert str(error) == f"The node does not serve the API {INIT_PRODUCER_ID}."
