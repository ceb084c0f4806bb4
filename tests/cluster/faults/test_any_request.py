"""Any request to any API, with a fault of any pair of point and error: it gets a response or is closed, without an
internal error."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from support.any_request import frames
from support.faulty import FaultyCluster

from fakebroker.core.faults.check import can_answer
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import POINTS
from fakebroker.core.faults.table import api_names, table
from fakebroker.protocol.error_code import ErrorCode

VALUES = {
    "topic": "t",
    "partition": 0,
    "group": "g",
    "member": "m",
    "transactional_id": "x",
    "resource": "t",
}


@st.composite
def faults_of(draw: st.DrawFn, api: str) -> Fault:
    """Draw an error that the API can have, for all or a part of a request, or an action that ends the connection."""
    rules = table()[api]
    pairs = [(at, error) for at in POINTS for error in sorted(rules.before) if can_answer(rules, error, at)]
    at, error = draw(st.sampled_from(pairs))
    said = (
        draw(st.sets(st.sampled_from([name for name in rules.selectors if name in VALUES]))) if rules.selectors else ()
    )
    selected = {} if at == "request_read" else {name: VALUES[name] for name in said}
    return Fault({"api": api, "at": at, **selected}, error, "every_time")


@given(frames(), st.data())
def test_nothing_of_ours_fails(frame: bytes, data: st.DataObject) -> None:
    api = api_names()[int.from_bytes(frame[4:6], "big")]
    kafka = FaultyCluster(partitions=1)
    for _ in range(data.draw(st.integers(1, 3))):
        kafka.cluster.faults.add(data.draw(faults_of(api)))
    client = kafka.connect()
    client.send(frame)
    kafka.advance(100)


def test_an_error_of_a_response_with_times_of_minus_one() -> None:
    kafka = FaultyCluster(partitions=1)
    kafka.cluster.faults.add(Fault({"api": "CreateDelegationToken", "at": "before_answer"}, "UNKNOWN_SERVER_ERROR"))
    answer = kafka.connect().ask(38, 3, max_lifetime=timedelta(days=1))
    assert answer.error_code == ErrorCode.unknown_server_error
