"""The verdict on one group of a run.

Units    *_us is microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from fakebroker_load.judging.limits import Held
from fakebroker_load.scenario.model import DEFAULT_SEND_DELAY_LIMIT_MS

Percentiles = tuple[int | None, int | None, int | None]  # the 50th, the 99th, the greatest; None without a value
NO_TIMES: Percentiles = (None, None, None)


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    run: str
    group: str
    expected: str  # the error's name, or "no answer"
    requests: int  # planned; of those who read: their number, and that of the records that they are to read
    rows: int  # results found
    confirmed: int
    early: int
    answers: dict[str, int]  # error name, or outcome where there was no answer -> how many
    problems: dict[str, int]  # what was wrong -> how many
    lateness_p50_us: int | None
    lateness_p99_us: int | None
    lateness_max_us: int | None
    send_delay_us: Percentiles = NO_TIMES  # from when a request was intended until it was sent
    from_sent_us: Percentiles = NO_TIMES  # until it was answered
    from_intended_us: Percentiles = NO_TIMES
    late_explained: int = 0  # of the answers that were late by the broker: this machine had work wait for as long
    unreplicated: int = 0  # time-outs in the place of NONE: all the while this machine had work wait, followers perhaps
    load_late_us: int | None = None  # the longest for which the load stood still during a request
    send_delay_limit_ms: int = DEFAULT_SEND_DELAY_LIMIT_MS  # of its 99th percentile
    amiss: tuple[str, ...] = ()  # what the scenario says of the whole group and is not so (judging/groups.py)
    limits: tuple[Held, ...] = ()  # that the scenario sets, kept or not (judging/limits.py)

    @property
    def ok(self) -> bool:
        return self.requests == self.rows == self.confirmed > 0 and not self.sent_late and not self.amiss

    @property
    def sent_late(self) -> bool:
        """The requests were not those that the scenario asks for: what is proved of them is proved of another load."""
        p99 = self.send_delay_us[1]
        return p99 is not None and p99 > self.send_delay_limit_ms * 1000
