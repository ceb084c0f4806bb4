"""The states of a connection against Kafka's own table, KafkaChannel.ChannelMuteState."""

from __future__ import annotations

import pytest

from fakebroker.network.connection import EVENTS, STATES, TRANSITIONS, ChannelMuteState, Connection, Event

# Kafka's table as the source has it; "-" raises IllegalStateException there.
KAFKA_EVENTS = ("REQUEST_RECEIVED", "RESPONSE_SENT", "THROTTLE_STARTED", "THROTTLE_ENDED")
KAFKA = {
    "NOT_MUTED": ("-", "-", "-", "-"),
    "MUTED": ("MUTED_AND_RESPONSE_PENDING", "-", "-", "-"),
    "MUTED_AND_RESPONSE_PENDING": ("-", "MUTED", "MUTED_AND_THROTTLED_AND_RESPONSE_PENDING", "-"),
    "MUTED_AND_THROTTLED": ("-", "-", "-", "MUTED"),
    "MUTED_AND_THROTTLED_AND_RESPONSE_PENDING": ("-", "MUTED_AND_THROTTLED", "-", "MUTED_AND_RESPONSE_PENDING"),
}
OURS = {
    ChannelMuteState.READY: "NOT_MUTED",
    ChannelMuteState.BUSY: "MUTED_AND_RESPONSE_PENDING",
    ChannelMuteState.THROTTLED: "MUTED_AND_THROTTLED",
    ChannelMuteState.BUSY_THROTTLED: "MUTED_AND_THROTTLED_AND_RESPONSE_PENDING",
}


def mute(state: str) -> str:
    return "MUTED" if state == "NOT_MUTED" else state


def maybe_unmute(state: str) -> str:
    return "NOT_MUTED" if state == "MUTED" else state


def kafka_after(state: str, event: Event) -> str | None:
    """Return Kafka's state of the channel after one of our events, by Kafka's table; None if that is illegal."""
    if event is Event.REQUEST:
        # Only a channel that is not muted is read.
        return KAFKA[mute(state)][0] if state == "NOT_MUTED" else None
    column = {Event.RESPONDED: 1, Event.THROTTLE_STARTED: 2, Event.THROTTLE_ENDED: 3}[event]
    after = KAFKA[state][column]
    return None if after == "-" else maybe_unmute(after)


@pytest.mark.parametrize(
    "event", [Event.REQUEST, Event.RESPONDED, Event.THROTTLE_STARTED, Event.THROTTLE_ENDED], ids=repr
)
@pytest.mark.parametrize("state", list(OURS), ids=repr)
def test_every_pair_is_what_kafka_does(state: ChannelMuteState, event: Event) -> None:
    after = TRANSITIONS.get((state, event))
    assert (None if after is None else OURS[after]) == kafka_after(OURS[state], event)


def connection_in(state: ChannelMuteState) -> Connection:
    connection = Connection(1, "peer", "10.0.0.1", 100)
    connection.state = state
    return connection


@pytest.mark.parametrize("event", EVENTS, ids=repr)
@pytest.mark.parametrize("state", STATES, ids=repr)
def test_an_illegal_pair_is_loud_and_changes_nothing(state: ChannelMuteState, event: Event) -> None:
    connection = connection_in(state)
    if (state, event) in TRANSITIONS:
        connection.on(event)
        assert connection.state is TRANSITIONS[state, event]
        return
    with pytest.raises(AssertionError, match=rf"{event} in {state} on the connection from peer"):
        connection.on(event)
    assert connection.state is state


def test_a_connection_waits_to_be_admitted_and_every_state_can_be_closed_once() -> None:
    assert Connection(1, "peer", "", 100).state is ChannelMuteState.WAITING
    assert {state for state, event in TRANSITIONS if event is Event.CLOSE} == set(STATES) - {ChannelMuteState.CLOSED}
    assert not any(state is ChannelMuteState.CLOSED for state, _ in TRANSITIONS)
    assert [state for state, event in TRANSITIONS if event is Event.ADMITTED] == [ChannelMuteState.WAITING]


@pytest.mark.parametrize("state", STATES, ids=repr)
def test_only_a_ready_connection_whose_answer_is_written_is_handled(state: ChannelMuteState) -> None:
    connection = connection_in(state)
    assert connection.can_handle == (state is ChannelMuteState.READY)
    connection.write_blocked = True
    assert not connection.can_handle
