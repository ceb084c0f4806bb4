"""Faults on the requests of a login, and faults by the principal of a client, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, reject
from hypothesis import strategies as st
from support.requests import produce, request
from support.sasl_client import CONFIG, ILLEGAL_SASL_STATE, LISTENER, SASL_AUTHENTICATION_FAILED, SaslClient, add_user
from support.simulation import Simulation

from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import POINTS
from fakebroker.core.journal.events import Answer, Login, Request
from fakebroker.core.journal.fault_events import FaultFired
from fakebroker.core.journal.journal import Journal
from fakebroker.network.effects import InternalError

FAILURE_DELAY_MS = 100  # connection.failed.authentication.delay.ms
UNKNOWN_SERVER_ERROR = -1
ALICE = {"api": "SaslAuthenticate", "principal": "User:alice"}
WRONG_PASSWORD = "Authentication failed: Invalid username or password"
WRONG_PROOF = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def simulation(journal: Journal) -> Simulation:
    made = Simulation(brokers=1, config=CONFIG, journal=journal)
    made.topic(replicas=1)
    add_user(made, "carol", "word")
    return made


def add(simulation: Simulation, when: Any, do: Any, times: Any = "once") -> Armed:
    simulation.cluster.now = simulation.now
    return simulation.cluster.faults.add(Fault(when, do, times))


def logins(journal: Journal) -> list[tuple[str, str, str]]:
    return [(event.principal, event.error, event.reason) for event in journal if isinstance(event, Login)]


def test_a_refused_login_fails_as_a_wrong_password_does(simulation: Simulation, journal: Journal) -> None:
    add(simulation, ALICE, "SASL_AUTHENTICATION_FAILED")
    by_fault, by_password = SaslClient(simulation), SaslClient(simulation)
    for client, password in ((by_fault, "secret"), (by_password, "wrong")):
        assert client.plain(password=password) is None
    simulation.advance(FAILURE_DELAY_MS - 1)
    assert [client.closed for client in (by_fault, by_password)] == [None, None]
    simulation.advance(1)
    [refused], [wrong] = by_fault.client.answers[1:], by_password.client.answers[1:]
    assert refused == wrong
    assert by_password.closed == f"failed authentication: {WRONG_PASSWORD}"
    assert by_fault.closed == f"{by_password.closed} (fault f1)"
    assert logins(journal) == [
        ("", "SASL_AUTHENTICATION_FAILED", f"{WRONG_PASSWORD} (fault f1)"),
        ("", "SASL_AUTHENTICATION_FAILED", WRONG_PASSWORD),
    ]
    assert SaslClient(simulation).plain().error_code == 0


def refusal(simulation: Simulation, client: SaslClient) -> tuple[int, str]:
    """Return the error code and the message of the last SaslAuthenticate response, v2, after the delay of failures."""
    simulation.advance(FAILURE_DELAY_MS)
    frame = client.client.answers[-1][1]
    return int.from_bytes(frame[5:7], "big", signed=True), frame[8 : 7 + frame[7]].decode()


def test_a_refusal_may_have_a_message(simulation: Simulation) -> None:
    add(simulation, ALICE, {"error": {"error": "SASL_AUTHENTICATION_FAILED", "message": "the account is locked"}})
    client = SaslClient(simulation)
    client.plain()
    assert refusal(simulation, client) == (SASL_AUTHENTICATION_FAILED, "the account is locked")


@pytest.mark.parametrize(
    ("error", "code"), [("ILLEGAL_SASL_STATE", ILLEGAL_SASL_STATE), ("UNKNOWN_SERVER_ERROR", UNKNOWN_SERVER_ERROR)]
)
def test_other_errors_of_a_login_refuse_it_too(simulation: Simulation, journal: Journal, error: str, code: int) -> None:
    add(simulation, {"api": "SaslAuthenticate"}, error)
    client = SaslClient(simulation)
    client.plain()
    assert refusal(simulation, client)[0] == code
    assert client.closed is not None
    assert [login[1] for login in logins(journal)] == [error]


@pytest.mark.parametrize("times", [1, {"on_call": 2}], ids=["the first message", "the last message"])
def test_scram_is_refused_at_each_of_its_messages(simulation: Simulation, times: Any) -> None:
    add(simulation, ALICE | {"principal": ["User:bob", "User:carol"]}, "SASL_AUTHENTICATION_FAILED", times)
    client = SaslClient(simulation)
    client.scram("carol", "word")
    assert refusal(simulation, client) == (SASL_AUTHENTICATION_FAILED, WRONG_PROOF)
    assert SaslClient(simulation).scram("carol", "word").error_code == 0


def test_a_token_of_oauthbearer_names_its_principal(simulation: Simulation) -> None:
    fault = add(simulation, {"api": "SaslAuthenticate", "principal": "User:dave"}, "SASL_AUTHENTICATION_FAILED", 9)
    for name, hits in (("erin", 0), ("dave", 1)):
        client = SaslClient(simulation)
        client.handshake("OAUTHBEARER")
        client.authenticate(unsecured_token(simulation, name))
        simulation.advance(FAILURE_DELAY_MS)
        assert fault.hits == hits
        assert (client.closed is not None) == bool(hits)
    unreadable = SaslClient(simulation)
    unreadable.handshake("OAUTHBEARER")
    unreadable.authenticate(b"n,,\x01auth=Bearer no.token.\x01\x01")
    assert fault.matches == 1


def unsecured_token(simulation: Simulation, name: str) -> bytes:
    from fakebroker.server.oauth.tokens import unsecured

    now_s = simulation.now.wall_ms // 1000
    return f"n,,\x01auth=Bearer {unsecured({'sub': name, 'iat': now_s, 'exp': now_s + 60})}\x01\x01".encode()


def test_a_mechanism_is_refused(simulation: Simulation, journal: Journal) -> None:
    add(simulation, {"api": "SaslHandshake", "mechanism": "PLAIN"}, "UNSUPPORTED_SASL_MECHANISM", "every_time")
    assert SaslClient(simulation).scram("carol", "word").error_code == 0
    client = SaslClient(simulation)
    client.handshake("PLAIN")
    simulation.advance(FAILURE_DELAY_MS)
    assert client.closed == "failed authentication: Unsupported SASL mechanism PLAIN (fault f1)"
    frame = client.client.answers[-1][1]
    assert frame[4:6] == b"\0\x21"
    assert b"SCRAM-SHA-256" in frame
    assert b"PLAIN" not in frame
    assert logins(journal)[-1][1] == "UNSUPPORTED_SASL_MECHANISM"


def test_a_login_stalls_for_so_long(simulation: Simulation, journal: Journal) -> None:
    add(simulation, ALICE, {"delay": 5_000})
    client, other = SaslClient(simulation), SaslClient(simulation)
    assert client.plain() is None
    assert other.plain("bob", "word").error_code == 0
    simulation.advance(4_999)
    assert client.principal == "User:ANONYMOUS"
    simulation.advance(1)
    assert client.principal == "User:alice"
    assert client.answers()
    assert [login[0] for login in logins(journal)] == ["User:bob", "User:alice"]


@pytest.mark.parametrize(
    ("do", "known"), [("blackhole", []), ("hold", []), ("drop", ["User:alice"])], ids=["blackhole", "hold", "drop"]
)
def test_a_login_stalls_for_ever(simulation: Simulation, journal: Journal, do: str, known: list[str]) -> None:
    add(simulation, ALICE, do)
    client = SaslClient(simulation)
    assert client.plain() is None
    simulation.advance(60_000)
    assert len(client.client.answers) == 1
    assert client.closed is None
    assert [login[0] for login in logins(journal)] == known


def test_a_held_login_goes_on_when_it_is_released(simulation: Simulation) -> None:
    fault = add(simulation, ALICE, "hold")
    client = SaslClient(simulation)
    client.plain()
    assert fault.held == 1
    simulation.cluster.faults.release(fault)
    simulation.advance(0)
    assert client.principal == "User:alice"
    assert client.answers()


def test_a_client_that_leaves_a_held_login_is_not_authenticated(simulation: Simulation, journal: Journal) -> None:
    fault = add(simulation, ALICE, "hold")
    client = SaslClient(simulation)
    client.plain()
    client.client.disconnect()
    simulation.cluster.faults.release(fault)
    simulation.advance(0)
    assert logins(journal) == []


def test_a_paused_broker_does_not_go_on_with_a_login(simulation: Simulation) -> None:
    add(simulation, ALICE, {"delay": 10})
    client = SaslClient(simulation)
    client.plain()
    simulation.pause(1)
    simulation.advance(1_000)
    assert len(client.client.answers) == 1
    simulation.resume(1)
    assert client.principal == "User:alice"


def test_a_login_that_pauses_its_broker_goes_on_when_it_is_resumed(simulation: Simulation) -> None:
    add(simulation, ALICE, "pause")
    client = SaslClient(simulation)
    client.plain()
    simulation.advance(1_000)
    assert client.principal == "User:ANONYMOUS"
    simulation.resume(1)
    assert client.principal == "User:alice"


@pytest.mark.parametrize("at", ["request_read", "before_work", "before_answer", "after_answer"])
def test_a_login_is_disconnected(simulation: Simulation, at: str) -> None:
    add(simulation, ALICE | {"at": at}, {"disconnect": "reset"})
    client = SaslClient(simulation)
    client.plain()
    assert len(client.client.answers) == (2 if at == "after_answer" else 1)
    assert client.closed == "fault f1: disconnect how=reset"


def test_the_bytes_of_a_response_to_a_login_are_changed(simulation: Simulation) -> None:
    add(simulation, {"api": "SaslHandshake"}, "duplicate")
    client = SaslClient(simulation)
    client.handshake("PLAIN")
    (_, first), (_, second) = client.client.answers
    assert first == second
    assert client.authenticate(b"\0alice\0secret").error_code == 0


def test_a_response_to_a_login_is_cut(simulation: Simulation) -> None:
    whole = SaslClient(simulation)
    whole.handshake("PLAIN")
    frame_bytes = len(whole.client.answers[-1][1]) + 4
    add(simulation, {"api": "SaslHandshake"}, {"cut": frame_bytes})
    client = SaslClient(simulation)
    assert client.handshake("PLAIN") is not None
    assert client.closed == "a fault has cut its answer"


@pytest.mark.parametrize(
    ("at", "do", "received"),
    [
        ("before_answer", "drop", 0),
        ("within_answer", {"cut": 0}, 0),
        ("before_answer", {"disconnect": "reset"}, 0),
        ("within_answer", "duplicate", 2),
        ("within_answer", {"coalesce": {"answers": 2, "within_ms": 9}}, 1),
        ("before_answer", {"delay": 50}, 1),
    ],
    ids=str,
)
def test_a_fault_acts_on_the_response_of_a_refusal(
    simulation: Simulation, journal: Journal, at: str, do: Any, received: int
) -> None:
    fault = add(simulation, ALICE | {"at": at}, do)
    client = SaslClient(simulation)
    client.plain(password="wrong")
    waited_ms = FAILURE_DELAY_MS + (50 if do == {"delay": 50} else 0)
    simulation.advance(waited_ms - 1)
    was_closed = client.closed
    simulation.advance(1)
    assert (was_closed, client.closed is None) == (None, False)
    assert len(client.client.answers[1:]) == received
    assert fault.hits == 1
    assert logins(journal) == [("", "SASL_AUTHENTICATION_FAILED", WRONG_PASSWORD)]


def test_a_refusal_that_is_cut_may_leave_the_connection_open(simulation: Simulation) -> None:
    add(simulation, ALICE, {"cut": {"bytes": 0, "then": "stay"}})
    client = SaslClient(simulation)
    client.plain(password="wrong")
    simulation.advance(60_000)
    assert client.closed is None


def test_faults_before_and_after_the_work_act_on_one_refusal(simulation: Simulation) -> None:
    refused = add(simulation, ALICE, "SASL_AUTHENTICATION_FAILED")
    dropped = add(simulation, ALICE, "drop")
    client = SaslClient(simulation)
    client.plain()
    simulation.advance(FAILURE_DELAY_MS)
    assert (refused.hits, dropped.hits) == (1, 1)
    assert len(client.client.answers) == 1
    assert client.closed == f"failed authentication: {WRONG_PASSWORD} (fault f1)"


def test_an_error_after_the_work_changes_the_response_alone(simulation: Simulation, journal: Journal) -> None:
    add(simulation, ALICE | {"at": "before_answer"}, "UNKNOWN_SERVER_ERROR")
    client = SaslClient(simulation)
    assert client.plain().error_code == UNKNOWN_SERVER_ERROR
    assert logins(journal) == [("User:alice", "NONE", "")]
    assert client.answers()


def test_versions_are_refused_before_the_login_and_the_client_goes_on(simulation: Simulation) -> None:
    add(simulation, {"api": "ApiVersions"}, "UNKNOWN_SERVER_ERROR")
    client = SaslClient(simulation)
    values = {"client_software_name": "x", "client_software_version": "1"}
    assert client.ask(18, 3, **values).error_code == UNKNOWN_SERVER_ERROR
    assert client.ask(18, 3, **values).error_code == 0
    assert client.plain().error_code == 0


def test_a_fault_for_all_apis_does_not_act_on_a_login(simulation: Simulation) -> None:
    fault = add(simulation, None, "disconnect", "every_time")
    client = SaslClient(simulation)
    assert client.plain().error_code == 0
    assert fault.matches == 0
    assert not client.answers()
    assert client.closed == "fault f1: disconnect"


def test_a_renewed_login_is_refused(simulation: Simulation, journal: Journal) -> None:
    client = SaslClient(simulation)
    client.plain()
    add(simulation, ALICE, "SASL_AUTHENTICATION_FAILED")
    simulation.cluster.admin.expire_sessions("alice", simulation.now)
    client.plain()
    assert refusal(simulation, client)[0] == SASL_AUTHENTICATION_FAILED
    assert client.closed is not None
    assert [event.is_again for event in journal if isinstance(event, Login)] == [False, True]


def test_a_login_with_faults_is_no_request_of_the_journal(simulation: Simulation, journal: Journal) -> None:
    add(simulation, ALICE, {"delay": 1})
    before = [event.request for event in journal if isinstance(event, Request)]
    client = SaslClient(simulation)
    client.plain()
    simulation.advance(1)
    [fired] = [event for event in journal if isinstance(event, FaultFired)]
    assert (fired.fault, fired.request, fired.connection) == ("f1", 0, client.client.connection.number)
    assert [event.request for event in journal if isinstance(event, Request)] == before
    client.answers()
    answered = [event for event in journal if isinstance(event, Answer)]
    assert [answer.request for answer in answered] == [*before, before[-1] + 1]
    assert answered[-1].reason == ""


def test_a_predicate_sees_the_request_of_a_login(simulation: Simulation) -> None:
    when = {"api": "SaslHandshake", "predicate": lambda context: context.request.mechanism == "PLAIN"}
    add(simulation, when, "disconnect")
    assert SaslClient(simulation).scram("carol", "word").error_code == 0
    client = SaslClient(simulation)
    client.handshake("PLAIN")
    assert client.closed == "fault f1: disconnect"


# Faults by principal.


def test_a_fault_by_principal_acts_on_the_requests_of_one_user(simulation: Simulation) -> None:
    fault = add(simulation, {"api": "Produce", "principal": "User:alice"}, "TOPIC_AUTHORIZATION_FAILED", "every_time")
    alice, bob, nobody = SaslClient(simulation), SaslClient(simulation), simulation.connect()
    alice.plain()
    bob.plain("bob", "word")
    errors = []
    for client in (alice.client, bob.client, nobody):
        client.send(produce("t"))
        errors.append(b"\0\x1d" in client.answers[-1][1])
    assert errors == [True, False, False]
    assert (fault.matches, fault.hits) == (1, 1)


@pytest.mark.parametrize(
    ("when", "hits"),
    [
        ({"principal": "User:ANONYMOUS"}, [2]),
        ({"principal": ["User:alice", "User:bob"]}, [0, 1]),
        ({"principal": "User:carol"}, []),
        ({"mechanism": "PLAIN"}, [0, 1]),
        ({"mechanism": "SCRAM-SHA-256"}, []),
        ({"principal": "User:bob", "mechanism": "PLAIN"}, [1]),
    ],
    ids=str,
)
def test_a_client_is_selected_by_what_it_logged_in_with(
    simulation: Simulation, when: dict[str, Any], hits: list[int]
) -> None:
    alice, bob, nobody = SaslClient(simulation), SaslClient(simulation), simulation.connect()
    alice.plain()
    bob.plain("bob", "word")
    add(simulation, when, "disconnect", "every_time")
    clients = [alice.client, bob.client, nobody]
    for client in clients:
        client.send(produce("t"))
    assert [number for number, client in enumerate(clients) if client.closed] == hits


def test_a_predicate_sees_the_principal(simulation: Simulation) -> None:
    add(simulation, {"predicate": lambda login: login.principal == "User:alice"}, "disconnect")
    alice, bob = SaslClient(simulation), SaslClient(simulation)
    alice.plain()
    bob.plain("bob", "word")
    assert bob.answers()
    assert not alice.answers()


# The end of sessions, as an action.


def test_a_session_ends_with_the_request_that_matched(simulation: Simulation) -> None:
    alice, bob = SaslClient(simulation), SaslClient(simulation)
    alice.plain()
    bob.plain("bob", "word")
    fault = add(simulation, {"principal": "User:alice"}, "expire_sessions")
    assert bob.answers()
    assert not alice.answers()
    assert alice.closed == "the session of the client has expired"
    assert (fault.hits, fault.problems) == (1, [])
    assert simulation.cluster.faults._under_way == {}
    assert bob.answers()


def test_a_session_ends_after_the_response(simulation: Simulation) -> None:
    alice = SaslClient(simulation)
    alice.plain()
    add(simulation, {"at": "after_answer"}, {"expire_sessions": "alice"})
    assert alice.answers()
    assert alice.plain().error_code == 0  # a client that renews its session goes on
    assert alice.answers()


def test_without_a_session_there_is_nothing_to_end(simulation: Simulation) -> None:
    fault = add(simulation, {"api": "Produce"}, "expire_sessions")
    client = simulation.connect()
    client.send(produce("t"))
    assert client.closed is None
    assert fault.problems == ["could not do 'expire_sessions': no client has a session of SASL as 'ANONYMOUS'"]


# Any exchange with any faults.

DONE: list[Any] = [
    {"delay": 3}, "drop", "disconnect", {"disconnect": "reset"}, "duplicate", {"cut": 3},
    {"drip": {"bytes": 7, "every_ms": 2}},
    {"throttle": 5}, "UNKNOWN_SERVER_ERROR", "ILLEGAL_SASL_STATE", "SASL_AUTHENTICATION_FAILED", "expire_sessions",
    {"coalesce": {"answers": 2, "within_ms": 9}}, {"wrong_correlation_id": 1}, "blackhole", "hold", "pause",
]  # fmt: skip
TIMES: list[Any] = ["once", 2, {"every": 2}]
LOGIN = ["handshake", "right token"]
APIS = ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "Metadata"]
SENT: dict[str, tuple[int, int, dict[str, Any]]] = {
    "versions": (18, 3, {"client_software_name": "x", "client_software_version": "1"}),
    "old versions": (18, 0, {}),
    "handshake": (17, 1, {"mechanism": "PLAIN"}),
    "old handshake": (17, 0, {"mechanism": "PLAIN"}),
    "scram": (17, 1, {"mechanism": "SCRAM-SHA-256"}),
    "unknown mechanism": (17, 1, {"mechanism": "X"}),
    "right token": (36, 2, {"auth_bytes": b"\0alice\0secret"}),
    "wrong token": (36, 0, {"auth_bytes": b"\0alice\0wrong"}),
    "other request": (3, 9, {"topics": None}),
}


@st.composite
def login_faults(draw: st.DrawFn) -> Fault:
    """Draw a fault that is not refused for what it is."""
    when: dict[str, Any] = {"api": draw(st.sampled_from(APIS)), "at": draw(st.sampled_from(POINTS[1:]))}
    if draw(st.booleans()) and when["api"] != "SaslHandshake":
        when["principal"] = "User:alice"
    try:
        return Fault(when, draw(st.sampled_from(DONE)), draw(st.sampled_from(TIMES)), force=True)
    except ValueError:
        reject()


@given(st.lists(login_faults(), max_size=4), st.lists(st.sampled_from(list(SENT)), max_size=8), st.booleans())
@example(
    [Fault({"api": "Metadata"}, [{"delay": 3}, "expire_sessions"])],
    ["handshake", "right token", "other request"],
    False,
)
def test_any_login_with_any_faults_leaves_a_sound_broker(
    faults: list[Fault], sent: list[str], is_pipelined: bool
) -> None:
    simulation = Simulation(brokers=2, config=CONFIG)
    simulation.cluster.now = simulation.now
    armed = [simulation.cluster.faults.add(fault) for fault in faults]
    connection = simulation.cluster.open_connection(1, "me:1", simulation.now, "10.0.0.1", LISTENER)
    effects = []
    frames = [request(*SENT[name]) for name in sent]
    for data in [b"".join(frames)] if is_pipelined else frames:
        simulation.cluster.receive(connection, data, simulation.now)
        for _ in range(30):
            simulation.elapsed_ms += 10
            simulation.cluster.advance_to(simulation.now)
            effects += simulation.cluster.take_effects()
    for fault in armed:
        simulation.cluster.faults.remove(fault)
    if simulation.cluster.lives.state_of(1) == "paused":
        simulation.cluster.lives.resume_broker(1, simulation.now)
    simulation.elapsed_ms += 1_000
    simulation.cluster.advance_to(simulation.now)
    effects += simulation.cluster.take_effects()
    simulation.cluster.check_invariants()
    for effect in effects:
        if isinstance(effect, InternalError):
            raise AssertionError(effect.what) from effect.error
    assert connection.principal.name in ("ANONYMOUS", "alice")
    assert connection.principal.name == "ANONYMOUS" or "right token" in sent
    assert SaslClient(simulation).plain().error_code == 0
