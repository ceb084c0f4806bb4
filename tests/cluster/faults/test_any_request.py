"""Any request to any API, with a fault of any of its pairs: it is answered or closed, and nothing of ours fails."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.any_request import frames
from support.faulty import FaultyCluster

from fakebroker.core.faults.check import can_answer
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.points import POINTS
from fakebroker.core.faults.table import api_names, table

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
    """An error of that API where it can be, for all of a request or for some of it; or an action that ends it."""
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
