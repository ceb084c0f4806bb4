"""Every pair of a point and an error, of every API: taken or refused, and the state after it.

The oracle knows nothing of the table and of the engine. The errors that a point allows come from docs/errors.md, which
is tested against Kafka's responses (tests/conformance/errors). The logs of a run without faults tell whether an API
appends, and the state afterwards. An error before the work leaves the state as it was, an error after it leaves the
state that the work makes. A repeated request gets the response that fits this state.
"""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import doses
from support.staged import CHANGES, Stage

from conformance.errors.page import AFTER_WORK, ANYTIME, BEFORE_WORK, read
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import POINTS
from fakebroker.protocol.error_code import ErrorCode, error_from_name

ORIGINS = read()
APIS = sorted({origin.api for origin in ORIGINS})
ERRORS = sorted({origin.error for origin in ORIGINS} | {"MEMBER_ID_REQUIRED", "THROTTLING_QUOTA_EXCEEDED"})
PLACES = {(origin.api, origin.error, origin.place) for origin in ORIGINS}
BEFORE = ("request_read", "before_work")
AFTER_A_WRITE = ("after_append", "after_watermark")
ANYWHERE = "UNKNOWN_SERVER_ERROR"
# What appends to a log; held by a test, since to find it out for the names of the tests would cost a second a process.
APPENDING = frozenset(
    [
        "AddOffsetsToTxn",
        "AddPartitionsToTxn",
        "ConsumerGroupHeartbeat",
        "DeleteGroups",
        "EndTxn",
        "InitProducerId",
        "JoinGroup",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetDelete",
        "Produce",
        "SyncGroup",
        "TxnOffsetCommit",
        "WriteTxnMarkers",
    ]
)


class Run(NamedTuple):
    """A run without faults: the states before the request, after it and after a repetition, and both responses."""

    before: dict[str, str]
    once: dict[str, str]
    twice: dict[str, str]
    first: bytes
    second: bytes

    @property
    def appends(self) -> bool:
        logs = [name for name in self.once if not name.isdecimal()]
        return any(_end(self.before[name]) != _end(self.once[name]) for name in logs if name in self.before)


def _end(log: str) -> str:
    return log.split(",")[0].split()[-1]


@cache
def run(api: str) -> Run:
    stage = Stage()
    frame = CHANGES[api](stage)
    before = stage.state()
    first = stage.raw(frame)
    once = stage.state()
    second = stage.raw(frame)
    return Run(before, once, stage.state(), first, second)


def can_be(api: str, at: str, error: str) -> bool:
    """Return True if the oracle allows the error at this point."""
    if at in AFTER_A_WRITE and api not in APPENDING:
        return False
    if at == "after_append" and error == "NOT_ENOUGH_REPLICAS_AFTER_APPEND":
        return False
    if at == "after_watermark" and error == "REQUEST_TIMED_OUT":
        return False
    if at in ("connect", "within_answer", "after_answer"):
        return False
    if error == ANYWHERE or (api, error, ANYTIME) in PLACES:
        return True
    return (api, error, BEFORE_WORK if at in BEFORE else AFTER_WORK) in PLACES


@pytest.mark.parametrize("api", doses.nightly_but(APIS[::3], APIS))
def test_a_pair_is_taken_if_kafka_has_it(api: str) -> None:
    for error in ERRORS:
        for at in POINTS:
            try:
                Fault({"api": api, "at": at}, error)
            except ValueError:
                taken = False
            else:
                taken = True
            assert taken == can_be(api, at, error), (api, at, error)


def pairs(api: str) -> list[tuple[str, str]]:
    return [(at, error) for at in POINTS for error in ERRORS if can_be(api, at, error)]


def check(api: str, at: str, error: str) -> None:
    expected = run(api)
    is_done = at not in BEFORE
    stage = Stage()
    frame = CHANGES[api](stage)
    armed = stage.kafka.add({"api": api, "at": at}, error)
    assert stage.state() == expected.before
    response = stage.ask(frame)
    assert armed.hits == 1
    assert f": {int(error_from_name(error))}>" in repr(response), response
    assert stage.state() == (expected.once if is_done else expected.before)
    assert stage.raw(frame) == (expected.second if is_done else expected.first)
    assert stage.state() == (expected.twice if is_done else expected.once)


@pytest.mark.parametrize("api", CHANGES)
def test_the_request_changes_something(api: str) -> None:
    assert run(api).before != run(api).once
    assert run(api).appends == (api in APPENDING)


DONE = [(api, at, error) for api in CHANGES for at, error in pairs(api) if at not in BEFORE]
# Every day each API is tried at each point with one of the errors. The rule that is checked is the same for all errors.
IN_TURN = [
    of_pair[index % len(of_pair)]
    for index, (_, group) in enumerate(groupby(DONE, key=lambda pair: pair[:2]))
    for of_pair in [list(group)]
]


@pytest.mark.parametrize(("api", "at", "error"), doses.nightly_but(IN_TURN, DONE))
def test_what_is_done_stays(api: str, at: str, error: str) -> None:
    check(api, at, error)


@given(st.data())
def test_any_pair_of_any_api(data: st.DataObject) -> None:
    api = data.draw(st.sampled_from(sorted(CHANGES)))
    check(api, *data.draw(st.sampled_from(pairs(api))))


def test_the_errors_are_kafkas() -> None:
    assert all(error_from_name(error) is not ErrorCode.none for error in ERRORS)
