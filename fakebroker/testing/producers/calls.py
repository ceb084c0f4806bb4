"""One record that a client was asked to write, and what it was told of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from fakebroker.core.journal.fingerprints import fingerprint
from fakebroker.protocol.record_batch import Record
from fakebroker.testing.producers.certainty import is_definite

_SHOWN = 40  # bytes of a value


class Outcome(Enum):
    """What the client knows. `UNKNOWN` is Jepsen's `info`: possibly written, now or later."""

    OPEN = "open"  # it was told nothing yet: as good as unknown
    OK = "ok"
    FAILED = "failed"  # definitely not written by this call
    UNKNOWN = "unknown"


class Call:
    """From `ProducerHistory.invokes`. Tell it once what has become of it; what is unknown may be told better later.

    `partition` and `offset` are where the client was told that it stands, -1 if it was not. `error` is why not.
    """

    def __init__(
        self,
        number: int,
        client: str,
        topic: str,
        value: bytes | None,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> None:
        self.number = number
        self.client = client
        self.topic = topic
        self.value = value
        self.fingerprint = fingerprint(Record(key, value, tuple(headers)))
        self.outcome = Outcome.OPEN
        self.partition = self.offset = -1
        self.error = ""

    def ok(self, partition: int = -1, offset: int = -1) -> None:
        """It was acknowledged: it stands there, if the client was told where. With acks=0 nothing is acknowledged: that
        is `unknown`."""
        if self.outcome is Outcome.OK and (self.partition, self.offset) == (partition, offset):
            return
        self._becomes(Outcome.OK)
        self.partition, self.offset = partition, offset

    def failed(self, error: str = "", tries: int = 1) -> None:
        """The client gave up, with Kafka's name of an error; `tries`: how often it may have sent it.

        That is definite for some errors (`certainty.CERTAINTY`), if it was sent once. Else the record is possibly
        written, and the outcome unknown.
        """
        if is_definite(error, tries):
            self.refused(error)
        else:
            self.unknown(error)

    def refused(self, why: str = "") -> None:
        """It is definitely not written: it was never sent, or its error leaves no doubt."""
        if self.outcome is not Outcome.FAILED:
            self._becomes(Outcome.FAILED)
            self.error = why

    def unknown(self, why: str = "") -> None:
        """Possibly written: a time-out, a lost connection, an error behind which it may stand in a log."""
        if self.outcome is Outcome.OPEN:
            self.outcome = Outcome.UNKNOWN
            self.error = why

    def _becomes(self, outcome: Outcome) -> None:
        if self.outcome in (Outcome.OK, Outcome.FAILED):
            raise ValueError(f"{self} was told to be {self.outcome.value}, and now {outcome.value}: tell it once")
        self.outcome = outcome

    @property
    def may_have_written(self) -> bool:
        return self.outcome is not Outcome.FAILED

    @property
    def shown(self) -> str:
        """The value, as far as it fits into a sentence."""
        if self.value is None or len(self.value) <= _SHOWN:
            return repr(self.value)
        return f"{self.value[:_SHOWN]!r}... ({len(self.value)} bytes)"

    def __str__(self) -> str:
        return f"call {self.number} of client {self.client!r} ({self.topic}, {self.shown})"
