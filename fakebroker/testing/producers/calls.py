"""A call to a client to write one record, and its result."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from fakebroker.core.journal.fingerprints import fingerprint
from fakebroker.protocol.record_batch import Record
from fakebroker.testing.producers.certainty import is_definite

_SHOWN = 40  # bytes of a value


class CallOutcome(Enum):
    """The knowledge of the client. `UNKNOWN` is Jepsen's `info`: possibly written, now or later."""

    OPEN = "open"  # no result yet, as good as unknown
    OK = "ok"
    FAILED = "failed"  # certainly not written by this call
    UNKNOWN = "unknown"


class ProducerCall:
    """A call, from `ProducerHistory.invokes`. Report its result once; an unknown result may be replaced by a better one
    later.

    `partition` and `offset` are the place that the client reported, -1 if it reported none. `error` is the reason of a
    failure.
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
        self.outcome = CallOutcome.OPEN
        self.partition = self.offset = -1
        self.error = ""

    def ok(self, partition: int = -1, offset: int = -1) -> None:
        """Report success, with the place if the client has one. With acks=0 nothing is acknowledged: report
        `unknown`."""
        if self.outcome is CallOutcome.OK and (self.partition, self.offset) == (partition, offset):
            return
        self._becomes(CallOutcome.OK)
        self.partition, self.offset = partition, offset

    def failed(self, error: str = "", tries: int = 1) -> None:
        """Report a failure, with Kafka's name of the error. `tries` is how often the client may have sent the record.

        For some errors the record is certainly not written (`certainty.CERTAINTY`), if it was sent only once. Otherwise
        it is possibly written, and the outcome is unknown.
        """
        if is_definite(error, tries):
            self.refused(error)
        else:
            self.unknown(error)

    def refused(self, why: str = "") -> None:
        """Report that the record is certainly not written: it was never sent, or the error leaves no doubt."""
        if self.outcome is not CallOutcome.FAILED:
            self._becomes(CallOutcome.FAILED)
            self.error = why

    def unknown(self, why: str = "") -> None:
        """Report that the record is possibly written: a timeout, a lost connection, or an error that may follow an
        append."""
        if self.outcome is CallOutcome.OPEN:
            self.outcome = CallOutcome.UNKNOWN
            self.error = why

    def _becomes(self, outcome: CallOutcome) -> None:
        if self.outcome in (CallOutcome.OK, CallOutcome.FAILED):
            raise ValueError(
                f"{self} is {self.outcome.value} already, and cannot become {outcome.value}: report each call once"
            )
        self.outcome = outcome

    @property
    def may_have_written(self) -> bool:
        return self.outcome is not CallOutcome.FAILED

    @property
    def shown(self) -> str:
        """Return the value, shortened to fit into a sentence."""
        if self.value is None or len(self.value) <= _SHOWN:
            return repr(self.value)
        return f"{self.value[:_SHOWN]!r}... ({len(self.value)} bytes)"

    def __str__(self) -> str:
        return f"call {self.number} of client {self.client!r} ({self.topic}, {self.shown})"
