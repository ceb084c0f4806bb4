"""Transactional producers beside a cluster: what read_committed sees of a transaction is all of it or nothing."""

from __future__ import annotations

import pytest
from support import doses
from support.transactional_world import World

from fakebroker.producer.errors import (
    IllegalProducerStateError,
    ProducerClosedError,
    ProducerError,
    ProducerTimeoutError,
)
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.producer.transactions.requests import GroupMetadata
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

both = pytest.mark.parametrize("generation", ["2.0", "4.3"])
all_kinds = pytest.mark.parametrize("generation", ["2.0", "2.4", "3.0", "4.3"])


@all_kinds
def test_committed_is_seen_and_aborted_is_not(generation: str) -> None:
    world = World(generation)
    client = world.add("tx")
    assert world.init(client).error is None
    for number in range(4):
        client.producer.begin_transaction()
        world.send(client, 2 * number, 0)
        world.send(client, 2 * number + 1, 1)
        world.producers.advance(50)
        call = world.abort(client) if number % 2 else world.commit(client)
        assert (call.is_done, call.error) == (True, None)
    assert world.committed() == [0, 4, 1, 5]
    assert client.producer.sender.uncaught is None


@all_kinds
def test_offsets_are_committed_with_the_transaction(generation: str) -> None:
    world = World(generation)
    client = world.add("tx")
    world.init(client)
    client.producer.begin_transaction()
    world.send(client, 1)
    world.producers.advance(50)
    offsets = {TopicPartition("t", 0): 7}
    call = client.producer.send_offsets_to_transaction(offsets, GroupMetadata("g"), world.producers.now_ms)
    assert world.wait(client, call).error is None
    assert world.commit(client).error is None
    world.producers.advance(50)
    assert world.committed() == [1]


@both
def test_a_second_producer_fences_the_first(generation: str) -> None:
    world = World(generation)
    first, second = world.add("tx"), world.add("tx", 1)
    world.init(first)
    first.producer.begin_transaction()
    world.send(first, 1)
    world.producers.advance(50)
    assert world.init(second).error is None
    world.send(first, 2, 1)
    call = world.commit(first)
    assert call.is_done
    error: BaseException | None = call.error
    while error is not None and not isinstance(error, BrokerError):
        error = error.__cause__
    assert isinstance(error, BrokerError)
    assert error.code == ErrorCode.invalid_producer_epoch  # which is ProducerFencedException in 2.0
    if generation != "2.0":  # its record was refused; whether it is fenced the coordinator says
        aborted = world.abort(first).error
        assert isinstance(aborted, BrokerError)
        assert aborted.code == ErrorCode.producer_fenced
        with pytest.raises(BrokerError, match="was fenced by another"):
            first.producer.begin_transaction()
    second.producer.begin_transaction()
    world.send(second, 3)
    world.producers.advance(50)  # sending waits for metadata, and the commit comes after that
    assert world.commit(second).error is None
    world.producers.advance(50)
    assert world.committed() == [3]


@both
def test_a_call_at_the_wrong_time_raises_an_error(generation: str) -> None:
    world = World(generation)
    client = world.add("tx")
    with pytest.raises(ProducerError):
        client.producer.begin_transaction()
    world.init(client)
    assert world.commit(client).error is not None
    client.producer.begin_transaction()
    with pytest.raises(ProducerError):
        client.producer.begin_transaction()
    plain = world.producers.add(ProducerConfig(generation, {"enable.idempotence": False}))
    call = plain.producer.init_transactions(world.producers.now_ms)
    assert isinstance(call.error, IllegalProducerStateError)
    client.producer.close(world.producers.now_ms, 0)
    with pytest.raises(ProducerClosedError):
        client.producer.begin_transaction()


@both
def test_after_max_block_ms_without_a_broker_a_later_init_transactions_succeeds(generation: str) -> None:
    world = World(generation)
    client = world.add("tx", max_block_ms=700)
    for broker_id in (1, 2, 3):
        world.simulation.stop(broker_id)
    call = client.producer.init_transactions(world.producers.now_ms)
    client.settle()
    world.producers.advance(699)
    assert not call.is_done
    world.producers.advance(1)
    assert isinstance(call.error, ProducerTimeoutError)
    for broker_id in (1, 2, 3):
        world.simulation.start(broker_id)
    world.producers.advance(5_000)
    again = world.init(client)
    assert again.error is None, "the same call is made again, and gets what the first asked for"


def test_a_producer_closed_in_a_transaction_aborts_it() -> None:
    world = World("4.3")
    client = world.add("tx")
    world.init(client)
    client.producer.begin_transaction()
    world.send(client, 1)
    world.producers.advance(50)
    client.producer.close(world.producers.now_ms, 5_000)
    client.settle()
    world.producers.advance(1_000)
    assert client.producer.is_closed
    assert world.committed() == []
    partition = world.simulation.partition("t", 0)
    assert partition.leader_log.log_end_offset == 2, "the record, and the marker that aborts it"


@both
@pytest.mark.parametrize("at_ms", doses.nightly_but([1, 9, 17], range(1, 22, 4)))
def test_a_connection_that_goes_at_any_time_is_made_again(generation: str, at_ms: int) -> None:
    """Also while the sender sleeps before it asks again, and hears nothing."""
    world = World(generation)
    client = world.add("tx", retry_backoff_ms=10, max_block_ms=60_000)
    call = client.producer.init_transactions(world.producers.now_ms)
    client.settle()
    world.producers.advance(at_ms)
    for broker_id in (1, 2, 3):
        world.simulation.kill(broker_id)
    world.producers.advance(35)
    for broker_id in (1, 2, 3):
        world.simulation.start(broker_id)
    assert world.wait(client, call).error is None
    assert client.producer.sender.uncaught is None
