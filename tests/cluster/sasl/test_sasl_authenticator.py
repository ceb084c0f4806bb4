"""The order of requests on a connection that has to authenticate by SASL (cluster/sasl/authenticator.py, states.py)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import served_versions
from support.requests import request
from support.sasl_client import (
    API_VERSIONS,
    CONFIG,
    ILLEGAL_SASL_STATE,
    METADATA,
    SASL_AUTHENTICATE,
    SASL_AUTHENTICATION_FAILED,
    SASL_HANDSHAKE,
    UNSUPPORTED_SASL_MECHANISM,
    SaslClient,
)
from support.simulation import Simulation

from fakebroker.apis.registry import SLICED_FRAME_BYTES
from fakebroker.cluster.sasl.states import STEPS, TRANSITIONS, SaslArrival, SaslEvent, SaslState
from fakebroker.core.journal.events import Answer, Login, Request
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.framing import encode_frame

DELAY_MS = 100  # connection.failed.authentication.delay.ms
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def simulation(journal: Journal) -> Simulation:
    return Simulation(brokers=1, config=CONFIG, journal=journal)


@pytest.fixture
def client(simulation: Simulation) -> SaslClient:
    return SaslClient(simulation)


def versions_of(client: SaslClient, version: int = 3) -> Any:
    return client.ask(API_VERSIONS, version, client_software_name="test", client_software_version="1")


@pytest.mark.parametrize("handshake", [1])
@pytest.mark.parametrize("version", served_versions(SASL_AUTHENTICATE))
@pytest.mark.parametrize("asks_versions", [True, False])
def test_a_login_begins_with_or_without_api_versions(
    client: SaslClient, asks_versions: bool, handshake: int, version: int
) -> None:
    if asks_versions:
        assert versions_of(client).error_code == 0
    answer = client.handshake("PLAIN", handshake)
    assert answer.error_code == 0
    assert sorted(answer.mechanisms) == sorted(MECHANISMS)
    answer = client.authenticate(b"\0alice\0secret", version)
    assert (answer.error_code, answer.error_message, answer.auth_bytes) == (0, "", b"")
    assert client.principal == "User:alice"
    assert client.answers()


def test_after_handshake_v0_tokens_have_no_header(client: SaslClient) -> None:
    assert client.handshake("PLAIN", 0).error_code == 0
    client.client.send(encode_frame(b"\0alice\0secret"))
    assert client.client.answers[-1][1] == b""
    assert client.answers()


def test_after_handshake_v0_a_refused_token_has_no_response(simulation: Simulation, client: SaslClient) -> None:
    client.handshake("PLAIN", 0)
    client.client.send(encode_frame(b"\0alice\0wrong"))
    assert client.client.closed_ms is None
    simulation.advance(DELAY_MS)
    assert client.closed == "failed authentication: Authentication failed: Invalid username or password"
    assert len(client.client.answers) == 1


def test_an_unsupported_mechanism_is_refused_with_the_list(simulation: Simulation, client: SaslClient) -> None:
    assert client.handshake("GSSAPI") is None
    simulation.advance(DELAY_MS - 1)
    assert (client.client.answers, client.closed) == ([], None)
    simulation.advance(1)
    [(at_ms, frame)] = client.client.answers
    assert at_ms == DELAY_MS
    assert frame[4:6] == UNSUPPORTED_SASL_MECHANISM.to_bytes(2, "big")
    assert client.closed == "failed authentication: Unsupported SASL mechanism GSSAPI"


def test_a_refusal_comes_after_the_delay_and_just_before_the_close(simulation: Simulation, client: SaslClient) -> None:
    assert client.plain(password="wrong") is None
    client.client.send(request(METADATA, 9, {"topics": None}))
    assert client.client.reading_paused
    simulation.advance(DELAY_MS)
    at_ms, frame = client.client.answers[-1]
    assert (at_ms, client.client.closed_ms, len(client.client.answers)) == (DELAY_MS, DELAY_MS, 2)
    assert frame[5:7] == SASL_AUTHENTICATION_FAILED.to_bytes(2, "big")
    assert b"Authentication failed: Invalid username or password" in frame


def test_a_paused_broker_refuses_once_it_is_resumed(simulation: Simulation, client: SaslClient) -> None:
    client.plain(password="wrong")
    simulation.pause(1)
    simulation.advance(10 * DELAY_MS + 1)
    assert client.client.closed_ms is None
    simulation.resume(1)
    simulation.advance(DELAY_MS)
    assert client.closed is not None
    assert len(client.client.answers) == 2


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_broker_that_ends_within_the_delay_sends_no_refusal(
    simulation: Simulation, client: SaslClient, end: str
) -> None:
    client.plain(password="wrong")
    getattr(simulation, end)(1)
    simulation.advance(10 * DELAY_MS)
    assert client.closed is not None
    assert len(client.client.answers) == 1


def test_without_a_delay_the_refusal_comes_at_once() -> None:
    simulation = Simulation(brokers=1, config=CONFIG | {"connection.failed.authentication.delay.ms": "0"})
    client = SaslClient(simulation)
    assert client.plain(password="wrong").error_code == SASL_AUTHENTICATION_FAILED
    assert client.closed is not None


def test_a_client_that_goes_within_the_delay_is_forgotten(simulation: Simulation, client: SaslClient) -> None:
    client.plain(password="wrong")
    client.client.disconnect()
    simulation.advance(DELAY_MS)
    assert client.closed is None
    assert len(client.client.answers) == 1


@pytest.mark.parametrize("api_key", [METADATA, 0, 1, 10, SASL_AUTHENTICATE])
@pytest.mark.parametrize("asks_versions", [True, False])
def test_another_request_before_the_handshake_closes_the_connection(
    client: SaslClient, api_key: int, asks_versions: bool
) -> None:
    if asks_versions:
        versions_of(client)
    before = len(client.client.answers)
    client.client.send(any_request(api_key))
    assert len(client.client.answers) == before
    assert client.closed is not None
    assert "Unexpected Kafka request" in client.closed


def any_request(api_key: int) -> bytes:
    values: dict[int, tuple[int, dict[str, Any]]] = {
        0: (3, {"acks": 1, "timeout": timedelta(0), "topic_data": []}),
        1: (4, {"max_wait": timedelta(0), "min_bytes": 0, "max_bytes": 0, "isolation_level": 0, "topics": []}),
        METADATA: (9, {"topics": None}),
        10: (0, {"key": "g"}),
        SASL_AUTHENTICATE: (1, {"auth_bytes": b"\0alice\0secret"}),
    }
    version, values_ = values[api_key]
    return request(api_key, version, values_)


@pytest.mark.parametrize("version", served_versions(API_VERSIONS, 3))
def test_api_versions_comes_once(client: SaslClient, version: int) -> None:
    values = {"client_software_name": "a", "client_software_version": "1", "cluster_id": None, "node_id": -1}
    assert client.ask(API_VERSIONS, version, **values).error_code == 0
    assert client.ask(API_VERSIONS, version, **values) is None
    assert client.closed is not None
    assert "ApiVersions" in client.closed


def test_api_versions_that_cannot_be_answered_well_may_come_again(client: SaslClient) -> None:
    assert client.ask(API_VERSIONS, 3, client_software_name="-", client_software_version="1").error_code == 42
    client.client.send(encode_frame(b"\0\x12\x7f\xff\0\0\0\x01\xff\xff\0"))  # version 32767
    assert client.client.answers[-1][1][4:6] == b"\0\x23"  # UNSUPPORTED_VERSION
    assert versions_of(client).error_code == 0
    assert client.plain().error_code == 0


def test_api_versions_is_answered_whatever_cluster_the_client_expects(client: SaslClient) -> None:
    values = {"client_software_name": "a", "client_software_version": "1", "cluster_id": "another", "node_id": 7}
    assert client.ask(API_VERSIONS, 5, **values).error_code == 0


@pytest.mark.parametrize("api_key", [METADATA, API_VERSIONS, SASL_HANDSHAKE, 10])
def test_another_request_during_the_exchange_gets_its_own_error(
    simulation: Simulation, client: SaslClient, api_key: int
) -> None:
    client.handshake("PLAIN")
    frames = {
        API_VERSIONS: request(API_VERSIONS, 0, {}),
        SASL_HANDSHAKE: request(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}),
    }
    client.client.send(frames.get(api_key) or any_request(api_key))
    assert len(client.client.answers) == 1
    simulation.advance(DELAY_MS)
    assert client.closed is not None
    assert "during SASL authentication" in client.closed
    assert len(client.client.answers) == 2
    if api_key != METADATA:  # without topics it has no place for an error
        assert ILLEGAL_SASL_STATE.to_bytes(2, "big") in client.client.answers[1][1][4:]


@pytest.mark.parametrize(("size", "is_closed"), [(SLICED_FRAME_BYTES - 1, False), (SLICED_FRAME_BYTES, True)])
def test_another_large_request_during_the_exchange_closes_the_connection(
    client: SaslClient, size: int, is_closed: bool
) -> None:
    def metadata(name: str) -> bytes:
        return request(METADATA, 8, {"topics": [{"name": "t"}, {"name": name}]})

    client.handshake("PLAIN")
    frame = metadata("x" * (size + 4 - len(metadata(""))))  # 4 bytes tell the length
    assert len(frame) == size + 4
    client.client.send(frame)
    assert len(client.client.answers) == 1
    assert (client.closed is not None) == is_closed


@pytest.mark.parametrize("frame", [b"", b"\0", b"\x60\x82", b"\0\x12", b"\0\x11\0\x09\0\0\0\1\xff\xff", b"\xff" * 30])
def test_garbage_closes_the_connection_at_once(client: SaslClient, frame: bytes) -> None:
    client.client.send(encode_frame(frame))
    assert client.client.answers == []
    assert client.closed is not None
    assert "it is not a kafka client" in client.closed


@pytest.mark.parametrize(
    "frame", [b"", b"\0\x24\0\x09\0\0\0\1\xff\xff", b"\0\x24\0\x01\0\0\0\1\xff\xff", b"\0alice\0secret"]
)
def test_garbage_during_the_exchange_closes_the_connection_at_once(client: SaslClient, frame: bytes) -> None:
    client.handshake("PLAIN")
    client.client.send(encode_frame(frame))
    assert len(client.client.answers) == 1
    assert client.closed is not None


@pytest.mark.parametrize("length", [524_289, -1, 104_857_600, 2**31 - 1])
def test_a_frame_above_the_limit_closes_the_connection_after_the_delay(
    simulation: Simulation, client: SaslClient, length: int
) -> None:
    client.client.send(length.to_bytes(4, "big", signed=True))
    assert client.closed is None
    simulation.advance(DELAY_MS)
    assert client.closed == "failed authentication: Failing SASL authentication due to invalid receive size"


def test_the_limit_of_frames_ends_with_the_authentication(client: SaslClient) -> None:
    client.plain()
    client.client.send((600_000).to_bytes(4, "big"))
    assert client.closed is None


def test_requests_behind_the_last_token_are_handled(client: SaslClient) -> None:
    client.client.send(
        request(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}),
        request(SASL_AUTHENTICATE, 1, {"auth_bytes": b"\0alice\0secret"}),
        any_request(METADATA),
        any_request(10),
    )
    assert len(client.client.answers) == 4


def test_a_login_on_an_authenticated_connection_is_an_illegal_state(client: SaslClient) -> None:
    client.plain()
    assert client.handshake("PLAIN").error_code == ILLEGAL_SASL_STATE
    assert client.authenticate(b"\0bob\0word").error_code == ILLEGAL_SASL_STATE
    assert client.principal == "User:alice"
    assert client.answers()


def test_messages_of_a_login_are_no_requests_of_the_journal(journal: Journal, client: SaslClient) -> None:
    versions_of(client)
    client.plain()
    assert not [event for event in journal if isinstance(event, Request | Answer)]
    client.answers()
    assert [event.request for event in journal if isinstance(event, Request)] == [1]


def logins(journal: Journal) -> list[tuple[str, str, str]]:
    return [(event.mechanism, event.principal, event.error) for event in journal if isinstance(event, Login)]


def test_each_login_is_an_event(journal: Journal, simulation: Simulation, client: SaslClient) -> None:
    client.plain("bob", "word")
    for other in (SaslClient(simulation), SaslClient(simulation)):
        other.plain("bob", "wrong\x07\n")
    SaslClient(simulation).handshake("NTLM\x1b[2J")
    assert logins(journal) == [
        ("PLAIN", "User:bob", "NONE"),
        ("PLAIN", "", "SASL_AUTHENTICATION_FAILED"),
        ("PLAIN", "", "SASL_AUTHENTICATION_FAILED"),
        ("", "", "UNSUPPORTED_SASL_MECHANISM"),
    ]


def test_every_state_has_an_end_and_every_step_a_way_on() -> None:
    for state in SaslState:
        if state not in (SaslState.COMPLETE, SaslState.FAILED):
            assert TRANSITIONS[state, SaslEvent.FAILED] is SaslState.FAILED
    assert {state for state, _ in STEPS} <= {state for state, _ in TRANSITIONS}
    assert not [
        arrival
        for state, arrival in STEPS
        if state is SaslState.INITIAL_REQUEST and arrival in (SaslArrival.OTHER_REQUEST, SaslArrival.SASL_AUTHENTICATE)
    ]
