"""Events of a producer's journal as lines of JSON; no name is also one of the broker's."""

from __future__ import annotations

import pytest

from fakebroker.core.journal.events import Event
from fakebroker.producer.journal import events
from fakebroker.producer.journal.events import ProducerEvent, from_json, from_lines, to_json, to_lines

_EXAMPLES: list[ProducerEvent] = [
    events.RecordSent(1, 2, "p", 1, "t", -1, "key", 3),
    events.BatchSplit(1, 2, "p", 1, "t", 0, ((2, 5), (3, 6))),
    events.ResponseHandled(1, 2, "p", 1, 7, "answered", (("t", 0, "NONE", 5),)),
    events.Disconnected(1, 2, "p", 1, 2, "lost", (3, 4)),
]


def test_a_line_is_the_fields_in_their_order() -> None:
    line = to_json(events.RecordBlocked(5, 6, "p", 1, "memory"))
    assert line == '{"event":"record_blocked","mono_ms":5,"wall_ms":6,"producer":"p","record":1,"waits_for":"memory"}'


def test_what_was_written_is_read_again() -> None:
    assert list(from_lines(to_lines(_EXAMPLES))) == _EXAMPLES


@pytest.mark.parametrize("line", ["", "{}", "[]", '{"event":"append"}', '{"event":"record_blocked","mono_ms":5}', "x"])
def test_what_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="this is not an event of a producer's journal"):
        from_json(line)


def test_no_event_has_the_name_of_one_of_the_brokers() -> None:
    brokers = {kind.__name__ for kind in Event.__args__}
    assert not brokers & {kind.__name__ for kind in ProducerEvent.__args__}
