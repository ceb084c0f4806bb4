"""The ring, and events as lines of JSON."""

from __future__ import annotations

import json
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.journal import events, group_events, transaction_events
from fakebroker.core.journal.broker_events import BrokerStarted, BrokerStopped
from fakebroker.core.journal.events import Event
from fakebroker.core.journal.journal import Journal, from_lines, to_lines
from fakebroker.core.journal.json_lines import from_json, to_json

KINDS: tuple[type[Event], ...] = get_args(events.Event)


def of_kind(kind: type[Event]) -> st.SearchStrategy[Event]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{name: st.from_type(hint) for name, hint in hints.items()})


any_event = st.sampled_from(KINDS).flatmap(of_kind)


def stopped(number: int) -> Event:
    return BrokerStopped(number, number, number)


def append(records: int) -> Event:
    return events.Append(0, 0, 1, 1, "t", 0, "NONE", 0, records - 1, False, 0, -1, -1, -1, ("f" * 16,) * records)


@given(event=any_event)
def test_an_event_comes_back_from_its_line(event: Event) -> None:
    line = to_json(event)

    assert "\n" not in line
    assert from_json(line) == event
    assert type(from_json(line)) is type(event)


@given(event=any_event)
def test_a_line_is_what_json_makes_of_all_fields(event: Event) -> None:
    fields: dict[str, Any] = event._asdict()
    if isinstance(event, events.Answer):
        fields["partitions"] = [part._asdict() for part in event.partitions]
    name = json.loads(to_json(event))["event"]

    assert to_json(event) == json.dumps({"event": name, **fields}, separators=(",", ":"))


@given(listed=st.lists(any_event, max_size=20))
def test_lines_give_back_the_events(listed: list[Event]) -> None:
    lines = "".join(to_lines(listed)).splitlines(keepends=True)

    assert list(from_lines(lines)) == listed


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_has_both_clocks_first(kind: type[Event]) -> None:
    assert kind._fields[:2] == ("mono_ms", "wall_ms")


def test_a_line_names_the_event_and_then_its_fields() -> None:
    assert to_json(BrokerStarted(5, 6, 2)) == '{"event":"broker_started","mono_ms":5,"wall_ms":6,"broker":2}'


def test_an_answer_tells_its_partitions_by_name() -> None:
    line = to_json(events.Answer(1, 2, 3, 4, "sent", 5, (events.PartitionAnswer("t", 0, "NONE", 7),)))

    assert json.loads(line)["partitions"] == [{"topic": "t", "partition": 0, "error": "NONE", "base_offset": 7}]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "5",
        "{}",
        '{"event":"nothing"}',
        '{"event":"broker_started","mono_ms":5,"wall_ms":6}',
        '{"event":"broker_started","mono_ms":5,"wall_ms":6,"broker":2,"more":1}',
        '{"event":"answer","mono_ms":1,"wall_ms":2,"request":3,"connection":4,"outcome":"sent","size":5,"partitions":[5]}',
    ],
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="this is not an event of a journal"):
        from_json(line)


def test_what_does_not_fit_is_dropped_oldest_first_and_counted() -> None:
    journal = Journal(3)
    for number in range(5):
        journal.append(stopped(number))

    assert list(journal) == [stopped(2), stopped(3), stopped(4)]
    assert (len(journal), journal.dropped) == (3, 2)


LONG: list[Event] = [
    append(6),
    events.Produce(0, 0, 1, -1, 500, None, (("t", 0),) * 6),
    events.Answer(0, 0, 1, 1, "sent", 50, (events.PartitionAnswer("t", 0, "NONE", 0),) * 6),
    events.TopicCreated(0, 0, "t", "id", ((1, 2, 3),) * 6),
    events.PartitionsCreated(0, 0, "t", 3, ((1, 2, 3),) * 6),
    group_events.GenerationBegan(0, 0, "g", 1, "range", "m", ("m",) * 6),
    group_events.OffsetsCommitted(0, 0, "g", "m", 1, (("t", 0, 5),) * 6),
    group_events.OffsetsExpired(0, 0, "g", (("t", 0),) * 6),
    transaction_events.TransitionPrepared(0, 0, "tx", 1, 7, 0, "Empty", "Ongoing", (("t", 0),) * 6, "EndTxn"),
    transaction_events.TransitionCompleted(0, 0, "tx", 1, 7, 0, "Ongoing", (("t", 0),) * 6),
    transaction_events.PartitionsVerified(0, 0, "tx", 1, 7, 0, True, (("t", 0, "NONE"),) * 6),
    transaction_events.MarkersSent(0, 0, "tx", 1, 2, 7, 0, "COMMIT", (("t", 0),) * 6),
    transaction_events.MarkersRetried(0, 0, "tx", 1, (("t", 0),) * 6, "there is no leader"),
    transaction_events.OffsetsPending(0, 0, "g", "m", 1, 7, 0, (("t", 0, 5),) * 6),
    transaction_events.PendingOffsetsEnded(0, 0, 7, 0, "COMMIT", (("g", "t", 0, 5),) * 6),
]


@pytest.mark.parametrize("event", LONG, ids=lambda event: type(event).__name__)
def test_a_long_event_takes_the_room_of_many(event: Event) -> None:
    journal = Journal(9)
    for number in range(5):
        journal.append(stopped(number))
    journal.append(event)

    assert list(journal) == [stopped(2), stopped(3), stopped(4), event]
    assert journal.dropped == 2


def test_every_field_of_any_length_that_a_request_makes_takes_room() -> None:
    """An ISR is as long as there are replicas, which is no number that a client chooses at will; so are replicas."""
    kinds = {
        kind.__name__
        for kind in KINDS
        for name, hint in get_type_hints(kind).items()
        if str(hint).startswith("tuple") and name != "isr" and kind is not events.ReplicasChanged
    }
    assert kinds == {type(event).__name__ for event in LONG}


def test_what_is_larger_than_the_journal_is_dropped_itself() -> None:
    journal = Journal(3)
    journal.append(stopped(1))
    journal.append(append(4))

    assert (list(journal), journal.dropped) == ([], 2)
    journal.append(stopped(2))
    assert list(journal) == [stopped(2)]


def test_a_journal_of_no_size_tells_and_keeps_nothing() -> None:
    heard: list[Event] = []
    journal = Journal(0, heard.append)
    journal.append(stopped(1))

    assert (list(journal), journal.dropped, heard) == ([], 1, [stopped(1)])


def test_the_listener_of_the_journal_receives_each_event_in_order() -> None:
    heard: list[Event] = []
    journal = Journal(2, heard.append)
    for number in range(4):
        journal.append(stopped(number))

    assert heard == [stopped(number) for number in range(4)]


def test_clear_forgets_all() -> None:
    journal = Journal(3)
    for number in range(5):
        journal.append(stopped(number))
    journal.clear()

    assert (list(journal), journal.dropped) == ([], 0)
    for number in range(3):
        journal.append(stopped(number))
    assert (len(journal), journal.dropped) == (3, 0)


@given(
    size=st.integers(0, 20),
    steps=st.lists(st.integers(0, 8) | st.none(), max_size=40),
)
def test_the_ring_is_a_tail_of_what_was_told(size: int, steps: list[int | None]) -> None:
    """Compare the ring with a list of all events. None clears; a number appends a batch of so many records."""
    journal = Journal(size)
    since_clear: list[Event] = []
    for records in steps:
        if records is None:
            journal.clear()
            since_clear = []
        else:
            event: Any = append(records)
            journal.append(event)
            since_clear.append(event)
        kept: list[Any] = journal.events()
        weight = sum(max(1, len(event.records)) for event in kept)
        assert since_clear[len(since_clear) - len(kept) :] == kept
        assert journal.dropped == len(since_clear) - len(kept)
        assert weight <= size
        if journal.dropped and records is not None:
            longer: Any = since_clear[-len(kept) - 1 :]
            assert len(kept) == 0 or sum(max(1, len(event.records)) for event in longer) > size
