"""The common clock by which the events of several journals are ordered.

Theory   In a simulation, and for processes of one machine, all journals have the same monotonic clock. On two machines
         monotonic clocks are unrelated, and wall clocks differ by an unknown amount. But a request is sent before it is
         handled, and a response is sent before it is received. So each exchange bounds the difference of the producer's
         wall clock. The clock is shifted by the smallest amount that makes all of its exchanges possible, or not at
         all. All brokers are one process with one clock.
Units    milliseconds.
Errors   ValueError if the clocks contradict the order of requests and responses, and no shift can correct it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from fakebroker.core.journal import events as broker_events
from fakebroker.producer.journal.events import AnswerReceived, ProducerEvent, RequestSent

# Brokers round the monotonic time of an event up, producers round it down.
_ROUNDING_MS: Final = 1


class TimedExchange(NamedTuple):
    """A request at both ends. The response may be missing at either."""

    sent: RequestSent
    handled: broker_events.Request
    answered: broker_events.Answer | None
    received: AnswerReceived | None


class Clocks:
    """The clocks of all producers. `shifts` has the correction of each; with monotonic clocks at most a millisecond,
    for rounding."""

    def __init__(self, by_wall_clock: bool, exchanges: Iterable[TimedExchange]) -> None:
        self._by_wall_clock = by_wall_clock
        self.shifts: dict[str, int] = {}
        bounds: dict[str, tuple[_Bound, _Bound]] = {}
        for exchange in exchanges:
            name = exchange.sent.producer
            least, most = bounds.get(name, (_Bound(None, exchange), _Bound(None, exchange)))
            # The producer's time plus its shift is the brokers' time.
            before_ms = self._ms(exchange.handled) - self._ms(exchange.sent)
            if most.ms is None or before_ms < most.ms:
                most = _Bound(before_ms, exchange)
            if exchange.answered is not None and exchange.received is not None:
                after_ms = self._ms(exchange.answered) - self._ms(exchange.received)
                if least.ms is None or after_ms > least.ms:
                    least = _Bound(after_ms, exchange)
            bounds[name] = least, most
        for name, (least, most) in bounds.items():
            self._align(name, least, most)

    def ms(self, event: ProducerEvent | broker_events.Event) -> int:
        """Return the time of the event, by the brokers' clock."""
        if self.shifts and isinstance(event, ProducerEvent):
            return self._ms(event) + self.shifts.get(event.producer, 0)
        return self._ms(event)

    def _ms(self, event: ProducerEvent | broker_events.Event) -> int:
        return event.wall_ms if self._by_wall_clock else event.mono_ms

    def _align(self, name: str, least: _Bound, most: _Bound) -> None:
        shift_ms = 0
        if least.ms is not None and least.ms > 0:
            shift_ms = least.ms
        elif most.ms is not None and most.ms < 0:
            shift_ms = most.ms
        if not shift_ms:
            return
        if not self._by_wall_clock and abs(shift_ms) > _ROUNDING_MS:
            at = least if shift_ms > 0 else most
            raise ValueError(
                f"{name} and the brokers have different clocks: by them request {at.exchange.sent.correlation_id} was "
                + ("received before it was answered" if shift_ms > 0 else "handled before it was sent")
                + f", by {abs(shift_ms):,} ms; go by wall time (--wall, by_wall_clock)"
            )
        if most.ms is not None and shift_ms > most.ms + _ROUNDING_MS:
            raise ValueError(
                f"the wall clock of {name} or of the brokers was set while they wrote: request "
                f"{most.exchange.sent.correlation_id} says that {name} is ahead by {-most.ms:,} ms or more, request "
                f"{least.exchange.sent.correlation_id} by {-shift_ms:,} ms or less"
            )
        self.shifts[name] = shift_ms


class _Bound(NamedTuple):
    """A bound of a shift, and the exchange that sets it."""

    ms: int | None
    exchange: TimedExchange
