"""The tally of a producer's records: what it sent and the results, compared with the logs at the end.

Theory   Records are numbered in the order of `send`; the number is the value.
           lost         the producer reported success, but no log has the record
           duplicated   the logs have it more than once
           reordered    its first copy is behind a record of the same partition that was sent later
           failed       the producer reported an error; `written`: but a log has it

         With acks=0 a record counts as written once it was sent, as there is no response. The judge of histories
         (testing/producers/judge.py) reports the same as sentences; tests compare the two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.journal.events import ProducerEvent, RecordCalledBack, RecordRefused, RecordSent
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import kafka_name

_OPEN, _ACKNOWLEDGED, _FAILED = range(3)


class Counts(NamedTuple):
    lost: int
    duplicated: int
    reordered: int
    written: int


class Tally:
    """A listener of a producer that sends to one topic: give `hear` to its `listen`, for `kinds`. `places` has, by
    number, the reported partition and offset and the time; None if not wanted."""

    kinds: Final = (RecordSent, RecordCalledBack, RecordRefused)

    def __init__(self, keeps_places: bool = False) -> None:
        self.told = bytearray()  # by number
        self.open = 0
        self.errors: Counter[str] = Counter()
        self.places: dict[int, tuple[int, int, int]] | None = {} if keeps_places else None

    @property
    def sent(self) -> int:
        return len(self.told)

    @property
    def acknowledged(self) -> int:
        return self.told.count(_ACKNOWLEDGED)

    @property
    def failed(self) -> int:
        return self.told.count(_FAILED)

    def hear(self, event: ProducerEvent, subject: object) -> None:
        if isinstance(event, RecordSent):
            assert isinstance(subject, Sending)
            assert subject.value == b"%d" % len(self.told), "records are sent in the order of their numbers"
            assert event.record == len(self.told) + 1, "the producer has sent records before"
            self.told.append(_OPEN)
            self.open += 1
        elif isinstance(event, RecordCalledBack) or (isinstance(event, RecordRefused) and event.is_thrown):
            self._ended(event, subject)

    def _ended(self, event: RecordCalledBack | RecordRefused, error: object) -> None:
        number = event.record - 1
        assert self.told[number] == _OPEN, f"record {number} ends for the second time"
        self.open -= 1
        if isinstance(error, ProducerError):
            self.told[number] = _FAILED
            self.errors[kafka_name(error.code) if isinstance(error, BrokerError) else error.kafka_name] += 1
            return
        assert isinstance(event, RecordCalledBack), "a refusal has an error"
        self.told[number] = _ACKNOWLEDGED
        if self.places is not None:
            self.places[number] = event.partition, event.offset, event.mono_ms

    def lost(self, logs: Iterable[Sequence[int]]) -> list[int]:
        """Return the numbers of the lost records."""
        there = {number for log in logs for number in log}
        return [number for number, outcome in enumerate(self.told) if outcome == _ACKNOWLEDGED and number not in there]

    def count(self, logs: Sequence[Sequence[int]]) -> Counts:
        """Count by the logs of all partitions, given as the numbers of their records."""
        copies: Counter[int] = Counter()
        reordered = 0
        for log in logs:
            latest = -1
            for number in log:
                copies[number] += 1
                reordered += copies[number] == 1 and number < latest
                latest = max(latest, number)
        return Counts(
            len(self.lost(logs)),
            sum(count > 1 for count in copies.values()),
            reordered,
            sum(self.told[number] == _FAILED for number in copies),
        )
