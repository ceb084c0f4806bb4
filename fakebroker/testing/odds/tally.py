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
from functools import partial
from typing import NamedTuple

from fakebroker.producer.client.sending import Sending
from fakebroker.producer.errors import ProducerError
from fakebroker.producer.journal.listener import Listener
from fakebroker.producer.producer_batch import RecordMetadata
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import kafka_name

_OPEN, _ACKNOWLEDGED, _FAILED = range(3)


class Counts(NamedTuple):
    lost: int
    duplicated: int
    reordered: int
    written: int


class Tally(Listener):
    """A listener of a producer that sends to one topic. `places` has, by number, the reported partition and offset and
    the time; None if not wanted."""

    def __init__(self, keeps_places: bool = False) -> None:
        super().__init__()
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

    def record_sent(self, sending: Sending) -> None:
        number = len(self.told)
        assert sending.value == b"%d" % number, "records are sent in the order of their numbers"
        self.told.append(_OPEN)
        self.open += 1
        sending.callback = partial(self._ended, number)

    def record_refused(self, sending: Sending, error: ProducerError, is_thrown: bool) -> None:
        if is_thrown:
            self._ended(int(sending.value or b""), None, error)

    def _ended(self, number: int, metadata: RecordMetadata | None, error: ProducerError | None) -> None:
        assert self.told[number] == _OPEN, f"record {number} ends for the second time"
        self.open -= 1
        if error is None:
            assert metadata is not None
            self.told[number] = _ACKNOWLEDGED
            if self.places is not None:
                self.places[number] = metadata.partition.partition, metadata.offset, self.now_ms
        else:
            self.told[number] = _FAILED
            self.errors[kafka_name(error.code) if isinstance(error, BrokerError) else error.kafka_name] += 1

    def lost(self, logs: Iterable[Sequence[int]]) -> list[int]:
        """Return the numbers of the lost records."""
        there = {number for log in logs for number in log}
        return [number for number, told in enumerate(self.told) if told == _ACKNOWLEDGED and number not in there]

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
