"""Quotas in virtual time: what is answered at once, and for how long the connection is muted afterwards.

Requests of 1500 bytes with 100 bytes per second: the first is 150/s over ten assumed windows, so 50 / 100 x 10 000 ms
= 5 s. A second one five seconds later makes 300/s: 20 s. (tests/core/quota/test_quota.py has the arithmetic.)
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.apis import with_parts
from support.messages import decode_response
from support.requests import (
    API_VERSIONS,
    CREATE_TOPICS,
    FETCH,
    INIT_PRODUCER_ID,
    METADATA,
    Produced,
    api_versions,
    batch,
    fetch,
    metadata,
    produce,
    request,
)
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.errors import KafkaError
from fakebroker.core.quota.quota import DEFAULT, QuotaEntity
from fakebroker.network.connection import ChannelMuteState
from fakebroker.protocol.error_code import ErrorCode

REQUEST_BYTES = 1_500
MINE = QuotaEntity(None, "test")
NONE, TIMED_OUT = 0, 7


def produce_1500(**fields: Any) -> bytes:
    """Return a Produce request that counts 1500 bytes: its header and body, not its length."""
    frame = b""
    size = REQUEST_BYTES - 200
    while len(frame) != 4 + REQUEST_BYTES:
        frame = produce("t", records=batch(bytes(size)), **fields)
        size += 4 + REQUEST_BYTES - len(frame)
    return frame


def throttled(entity: QuotaEntity = MINE, config: dict[str, str] | None = None, **quotas: float) -> Simulation:
    simulation = Simulation(config=config)
    simulation.topic()
    simulation.cluster.members.client_quotas.alter(entity, quotas or {"producer_byte_rate": 100})
    return simulation


def answers(client: SimulatedClient, version: int = 9) -> list[tuple[int, int, int]]:
    """Return (milliseconds, correlation id, throttle time) of each Produce response."""
    responses = []
    for at_ms, frame in client.answers:
        produced = Produced(frame, version)
        responses.append((at_ms, produced.correlation_id, produced.response.throttle_time.total_seconds() * 1000))
    return responses


def test_the_answer_goes_out_at_once_and_the_connection_is_muted_for_what_it_says() -> None:
    simulation = throttled()
    client = simulation.connect()
    client.send(produce_1500(correlation_id=1), produce_1500(correlation_id=2), produce_1500(correlation_id=3))
    assert answers(client) == [(0, 1, 5_000)]
    assert (client.connection.state, client.reading_paused) == (ChannelMuteState.THROTTLED, True)
    simulation.advance(4_999)
    assert len(client.answers) == 1
    simulation.advance(1)
    assert answers(client) == [(0, 1, 5_000), (5_000, 2, 20_000)]
    # At 25 s both samples are gone: the third request stands alone again.
    simulation.advance(20_000)
    assert answers(client)[2:] == [(25_000, 3, 5_000)]
    simulation.advance(5_000)
    assert client.connection.state is ChannelMuteState.READY
    assert not client.reading_paused
    assert client.connection.throttle is None


@pytest.mark.parametrize("version", [3, 5, 8, 9, 12])
def test_the_throttle_time_is_in_every_version(version: int) -> None:
    simulation = throttled()
    client = simulation.connect()
    client.send(produce_1500(acks=1, version=version))
    assert answers(client, version) == [(0, 1, 5_000)]


def test_acks_zero_is_muted_without_an_answer() -> None:
    simulation = throttled()
    client = simulation.connect()
    client.send(produce_1500(acks=0, correlation_id=1), produce_1500(acks=1, correlation_id=2))
    assert client.connection.state is ChannelMuteState.THROTTLED
    simulation.advance(4_999)
    assert client.answers == []
    simulation.advance(1)
    assert answers(client) == [(5_000, 2, 20_000)]


def test_acks_zero_is_exempt_from_the_request_quota() -> None:
    simulation = throttled(config={"fakebroker.request.handler.time.us": "1000000"}, request_percentage=1)
    client = simulation.connect()
    client.send(produce_1500(acks=0))
    assert client.connection.state is ChannelMuteState.READY
    client.send(produce_1500(acks=1))
    assert answers(client) == [(0, 1, 1_000)]  # capped at one window


def test_a_parked_request_is_judged_when_it_is_answered() -> None:
    simulation = throttled()
    simulation.followers("frozen")
    client = simulation.connect()
    client.send(*(produce_1500(correlation_id=number, timeout_ms=500) for number in (1, 2)))
    assert client.connection.state is ChannelMuteState.BUSY
    simulation.advance(30_000)
    # Recorded at 500 and, the throttling over at 5500, at 6000: 3000 bytes in 5.5 s and 5 windows, 285.7/s.
    assert answers(client) == [(500, 1, 5_000), (6_000, 2, 19_500)]


def test_t_2t_3t_without_a_quota_that_matters() -> None:
    simulation = throttled(producer_byte_rate=10_000)
    simulation.followers("frozen")
    client = simulation.connect()
    client.send(*(produce_1500(correlation_id=number, timeout_ms=500) for number in (1, 2, 3)))
    simulation.advance(1_500)
    assert answers(client) == [(500, 1, 0), (1_000, 2, 0), (1_500, 3, 0)]


def test_another_connection_of_the_same_client_is_free_until_it_asks() -> None:
    simulation = throttled()
    first, second = simulation.connect(), simulation.connect()
    first.send(produce_1500())
    assert second.connection.state is ChannelMuteState.READY
    simulation.advance(1_000)
    second.send(produce_1500())  # 3000 bytes in ten windows: 300/s
    assert answers(second) == [(1_000, 1, 20_000)]
    simulation.advance(4_000)
    assert first.connection.state is ChannelMuteState.READY
    assert second.connection.state is ChannelMuteState.THROTTLED


def test_each_client_id_and_each_broker_has_its_own_sum() -> None:
    simulation = throttled(QuotaEntity(None, DEFAULT))
    simulation.topic("two", partitions=2)
    mine, other = simulation.connect(1), simulation.connect(1)
    mine.send(produce_1500())
    other.send(produce_1500(client_id="else"))
    elsewhere = simulation.connect(2)
    elsewhere.send(produce_1500())
    assert [answers(client)[0][2] for client in (mine, other, elsewhere)] == [5_000, 5_000, 5_000]


def test_a_user_quota_is_shared_by_its_clients() -> None:
    simulation = throttled(QuotaEntity("ANONYMOUS", None))
    mine, other = simulation.connect(), simulation.connect()
    mine.send(produce_1500())
    other.send(produce_1500(client_id="else"))
    assert [answers(client)[0][2] for client in (mine, other)] == [5_000, 20_000]


def test_a_client_without_a_quota_is_not_touched() -> None:
    simulation = throttled(QuotaEntity(None, "another client"))
    client = simulation.connect()
    client.send(*(produce_1500(correlation_id=number) for number in range(5)))
    assert answers(client) == [(0, number, 0) for number in range(5)]


def test_a_removed_quota_lets_go_with_the_next_request_not_before() -> None:
    simulation = throttled()
    client = simulation.connect()
    client.send(produce_1500(correlation_id=1), produce_1500(correlation_id=2))
    simulation.cluster.members.client_quotas.alter(MINE, None)
    simulation.advance(4_999)
    assert answers(client) == [(0, 1, 5_000)]
    simulation.advance(1)
    assert answers(client)[1:] == [(5_000, 2, 0)]


# What carries a throttle time besides Produce: (frame, api key, version, whether that version has the field).
OTHERS: dict[str, tuple[bytes, int, int, bool]] = {
    "ApiVersions v0": (api_versions(0), API_VERSIONS, 0, False),
    "ApiVersions v1": (api_versions(1), API_VERSIONS, 1, True),
    "ApiVersions v3": (api_versions(3), API_VERSIONS, 3, True),
    "ApiVersions v99": (api_versions(3).replace(b"\x00\x12\x00\x03", b"\x00\x12\x00\x63", 1), API_VERSIONS, 0, False),
    "Metadata v2": (metadata(None, 2), METADATA, 2, False),
    "Metadata v3": (metadata(None, 3), METADATA, 3, True),
    "Metadata v12": (metadata(None), METADATA, 12, True),
    "Fetch v4": (fetch("t", version=4), FETCH, 4, True),
    "Fetch v11": (fetch("t"), FETCH, 11, True),
    "CreateTopics v5": (
        request(CREATE_TOPICS, 5, {"topics": [], "timeout": timedelta(0), "validate_only": False}),
        CREATE_TOPICS,
        5,
        True,
    ),
    "InitProducerId v4": (
        request(
            INIT_PRODUCER_ID,
            4,
            {
                "transactional_id": None,
                "transaction_timeout": timedelta(0),
                "producer_id": -1,
                "producer_epoch": -1,
            },
        ),
        INIT_PRODUCER_ID,
        4,
        True,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_request_quota_throttles_every_api(name: str) -> None:
    """Each request counts 525 ms: 52.5 in ten windows is 5.25 %, and 0.25 / 5 x 10 s is 500 ms."""
    frame, api_key, version, has_field = OTHERS[name]
    simulation = throttled(config={"fakebroker.request.handler.time.us": "525000"}, request_percentage=5)
    client = simulation.connect()
    client.send(frame, metadata(None))
    ((at_ms, answer),) = client.answers
    assert at_ms == 0
    _, response = decode_response(api_key, version, answer)
    throttle_time = getattr(response, "throttle_time", None)
    assert (throttle_time is not None) == has_field
    if throttle_time is not None:
        assert throttle_time.total_seconds() == 0.5
    simulation.advance(499)
    assert len(client.answers) == 1
    simulation.advance(1)
    assert [at_ms for at_ms, _ in client.answers] == [0, 500]


def test_the_request_quota_is_capped_at_one_window_and_the_rest_is_paid_by_the_next_requests() -> None:
    config = {"fakebroker.request.handler.time.us": "1000000", "quota.window.size.seconds": "2"}
    simulation = throttled(config=config, request_percentage=1)
    client = simulation.connect()
    client.send(metadata(None), metadata(None), metadata(None))
    simulation.advance(4_000)
    assert [at_ms for at_ms, _ in client.answers] == [0, 2_000, 4_000]


def test_a_throttled_fetch_is_answered_empty_and_its_records_come_with_the_next() -> None:
    simulation = throttled(config={"fakebroker.request.handler.time.us": "10000"}, request_percentage=0.01)
    producer = simulation.connect()
    producer.send(produce("t", acks=1, client_id="writer"))
    client = simulation.connect()
    client.send(fetch("t"))
    ((_, answer),) = client.answers
    _, response = decode_response(FETCH, 11, answer)
    assert (response.responses, response.throttle_time.total_seconds()) == ((), 1.0)
    simulation.cluster.members.client_quotas.alter(MINE, None)
    client.send(fetch("t"))
    simulation.advance(1_000)
    _, response = decode_response(FETCH, 11, client.answers[1][1])
    assert response.responses[0].partitions[0].records


def test_a_request_that_fails_as_a_whole_counts_no_bytes() -> None:
    simulation = throttled()
    client = simulation.connect()
    client.send(
        produce("t", records=batch(bytes(2_000), producer_id=1, producer_epoch=0, base_sequence=0, attributes=16))
    )
    client.send(produce_1500(correlation_id=2))
    assert answers(client) == [(0, 1, 0), (0, 2, 5_000)]


def test_acks_zero_that_fails_counts_and_closes() -> None:
    simulation = throttled()
    client, other = simulation.connect(), simulation.connect()
    client.send(produce_1500(acks=0, partition=7))
    assert client.closed is not None
    assert client.connection.throttle is None
    other.send(produce_1500(acks=1))
    assert answers(other) == [(0, 1, 20_000)]
    simulation.advance(30_000)


def test_a_peer_that_goes_while_it_is_throttled_leaves_no_timer() -> None:
    simulation = throttled()
    timers = simulation.cluster.members.timer.timer.size
    client = simulation.connect()
    client.send(produce_1500())
    assert simulation.cluster.members.timer.timer.size == timers + 1
    client.disconnect()
    assert simulation.cluster.members.timer.timer.size == timers
    simulation.advance(5_000)


def test_a_request_whose_peer_has_gone_counts_all_the_same() -> None:
    simulation = throttled()
    simulation.followers("frozen")
    client, other = simulation.connect(), simulation.connect()
    client.send(produce_1500(timeout_ms=500))
    client.disconnect()
    simulation.advance(500)
    assert client.answers == []
    other.send(produce_1500(acks=1))
    assert answers(other) == [(500, 1, 20_000)]


def test_a_throttle_that_ends_while_the_answer_is_not_written_waits_for_it() -> None:
    simulation = throttled()
    client = simulation.connect()
    client.send(produce_1500(correlation_id=1), produce_1500(correlation_id=2))
    client.take_answers(False)
    simulation.advance(6_000)
    assert answers(client) == [(0, 1, 5_000)]
    client.take_answers(True)
    assert [at_ms for at_ms, _, _ in answers(client)] == [0, 6_000]


def test_a_request_counts_once_though_its_handler_fails_after_it_was_throttled() -> None:
    def fails(context: Any, _: Any) -> None:
        assert context.throttle() == 500
        raise KafkaError(ErrorCode.invalid_request, "on purpose")

    simulation = throttled(config={"fakebroker.request.handler.time.us": "525000"}, request_percentage=5)
    apis = simulation.cluster._dispatcher._apis
    apis[METADATA] = with_parts(apis[METADATA], handle=fails)
    client = simulation.connect()
    client.send(metadata(["t"]))
    ((_, answer),) = client.answers
    _, response = decode_response(METADATA, 12, answer)
    assert response.throttle_time == timedelta(milliseconds=500)
    simulation.advance(500)
    assert client.connection.state is ChannelMuteState.READY


def test_a_throttle_that_is_over_before_the_answer() -> None:
    """The transition is BUSY_THROTTLED -> BUSY: a handler may be throttled first and respond later."""
    simulation = throttled()
    simulation.followers("frozen")
    client = simulation.connect()
    client.send(produce_1500(timeout_ms=500, correlation_id=1), produce_1500(acks=1, correlation_id=2))
    simulation.cluster.sockets.throttle(client.connection, 200)
    assert client.connection.state is ChannelMuteState.BUSY_THROTTLED
    simulation.advance(200)
    assert client.connection.state is ChannelMuteState.BUSY
    simulation.cluster.members.client_quotas.alter(MINE, None)
    simulation.advance(300)
    assert [(at_ms, number) for at_ms, number, _ in answers(client)] == [(500, 1), (500, 2)]


def test_a_broker_that_starts_again_has_counted_nothing_and_knows_the_quotas_that_hold() -> None:
    simulation = throttled(request_percentage=50, producer_byte_rate=100)
    cluster = simulation.cluster
    simulation.connect().send(produce_1500(correlation_id=1))
    cluster.members.client_quotas.alter(MINE, {"request_percentage": None})
    simulation.stop(1)
    cluster.members.client_quotas.alter(MINE, {"producer_byte_rate": 50})
    simulation.start(1)
    quotas = cluster.brokers[1].quotas
    assert quotas.enabled
    assert (quotas.produce.quotas_enabled, quotas.request.quotas_enabled) == (True, False)
    assert quotas.produce.quota("ANONYMOUS", "test") == 50
    simulation.move_leader(1)
    client = simulation.connect()
    client.send(produce_1500(correlation_id=3))
    # 1500 bytes in one second, at 50 bytes per second: what was sent before the stop is forgotten.
    assert answers(client) == [(0, 3, 20_000)]
