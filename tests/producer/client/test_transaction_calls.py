"""Calls of a transactional producer (producer/client/transaction_calls.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.transactional_world import World

from fakebroker.apis import registry
from fakebroker.apis.cluster import api_versions
from fakebroker.producer.client.sender_thread import SenderThread
from fakebroker.producer.client.transaction_calls import TransactionCall, TransactionCalls, ignore
from fakebroker.producer.errors import (
    AfterCloseError,
    IllegalProducerStateError,
    ProducerClosedError,
    ProducerTimeoutError,
)
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producer.transactions.api_versions import ApiVersions
from fakebroker.producer.transactions.transaction_manager_2_0 import TransactionManager20
from fakebroker.producer.transactions.transaction_manager_4_3 import TransactionManager43
from fakebroker.protocol.error_code import ErrorCode

INIT_PRODUCER_ID = 22
MAX_BLOCK_MS = 1_000


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


def calls_of(generation: str, transactional_id: str) -> tuple[TransactionCalls, SenderThread]:
    """Return the calls of a producer, and its sender, which waits for a minute."""
    given: dict[str, object] = {"max.block.ms": MAX_BLOCK_MS}
    given |= {"transactional.id": transactional_id} if transactional_id else {}
    config = ProducerConfig(generation, given)
    thread = SenderThread(0)
    thread.wait(0, 60_000)
    manager = TransactionManager20(config) if generation == "2.0" else TransactionManager43(config, ApiVersions())
    return TransactionCalls(config, manager, thread), thread


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_a_call_wakes_the_sender_and_is_late_after_its_time_but_may_be_repeated(generation: str) -> None:
    calls, thread = calls_of(generation, "tx")
    assert calls.next_deadline_ms() is None
    ended: list[TransactionCall] = []
    first = calls.init_transactions(5, ended.append)
    assert thread.poll_until_ms == 5
    assert calls.next_deadline_ms() == 5 + MAX_BLOCK_MS
    calls.advance_to(4 + MAX_BLOCK_MS)
    assert ended == []
    calls.advance_to(5 + MAX_BLOCK_MS)
    assert ended == [first]
    assert isinstance(first.error, ProducerTimeoutError)
    again = calls.init_transactions(2_000, ignore)
    assert again.result is first.result
    assert not again.is_done


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_calls_that_wait_fail_with_the_end_of_the_producer(generation: str) -> None:
    calls, thread = calls_of(generation, "tx")
    waiting = calls.init_transactions(5, ignore)
    thread.initiate_close(6, 0)
    calls.fail_all(ProducerClosedError("over"))
    assert isinstance(waiting.error, ProducerClosedError)
    assert isinstance(calls.init_transactions(7, ignore).error, AfterCloseError)
    assert calls.next_deadline_ms() is None


@pytest.mark.parametrize("generation", ["2.0", "4.3"])
def test_a_producer_without_a_transactional_id_has_no_calls(generation: str) -> None:
    calls, _ = calls_of(generation, "")
    assert isinstance(calls.commit_transaction(5, ignore).error, IllegalProducerStateError)
    with pytest.raises(IllegalProducerStateError):
        calls.begin_transaction()
