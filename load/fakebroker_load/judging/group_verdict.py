"""The verdict on one group of a run.

Units    *_us is microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fakebroker_load.judging.limits import LimitResult
from fakebroker_load.scenario.model import DEFAULT_SEND_DELAY_LIMIT_MS

Percentiles = tuple[int | None, int | None, int | None]  # the 50th, the 99th, the greatest; None without a value
NO_TIMES: Percentiles = (None, None, None)


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    run: str
    group: str
    expected: str  # the error's name, or "no answer"
    requests: int  # planned; for readers: their number, and that of the records that they should read
    rows: int  # results found
    confirmed: int
    early: int
    answers: dict[str, int]  # by error name, or outcome without a response: count
    problems: dict[str, int]  # by problem: count
    lateness_p50_us: int | None
    lateness_p99_us: int | None
    lateness_max_us: int | None
    send_delay_us: Percentiles = NO_TIMES  # from when a request was intended until it was sent
    from_sent_us: Percentiles = NO_TIMES  # from sent until the response
    from_intended_us: Percentiles = NO_TIMES
    late_explained: int = 0  # of the late responses: for as long as this machine made tasks wait, or overtaken
    unreplicated: int = 0  # of the time-outs instead of NONE: those with tasks waiting half of the time
    overtaken_late: int = 0  # of the late responses: to requests that an action has overtaken (judging/overtaken.py)
    overtaken_wrong: int = 0  # of the wrong responses: the same
    load_late_us: int | None = None  # of the load: its longest standstill during a request
    send_delay_limit_ms: int = DEFAULT_SEND_DELAY_LIMIT_MS  # limit: of the 99th percentile
    amiss: tuple[str, ...] = ()  # expectations of the scenario for the whole group: those not met (judging/groups.py)
    limits: tuple[LimitResult, ...] = ()  # limits of the scenario, kept or not (judging/limits.py)
    wrong_answers: Mapping[str, int] = field(default_factory=dict)  # by what came and what was expected: count
    is_sketched: bool = False  # percentiles are those of a sketch (judging/percentiles.py)

    @property
    def ok(self) -> bool:
        return self.requests == self.rows == self.confirmed > 0 and not self.sent_late and not self.amiss

    @property
    def sent_late(self) -> bool:
        """Return True if the requests were sent too late: the proof is about another load than the scenario asks
        for."""
        p99 = self.send_delay_us[1]
        return p99 is not None and p99 > self.send_delay_limit_ms * 1000
