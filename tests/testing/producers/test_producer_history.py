"""Each rule about what producers were told, by a history that keeps it and by a slip that breaks it; and any history at
all against the rules said once more, plainly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.journal.events import Append
from fakebroker.core.journal.fingerprints import fingerprint
from fakebroker.core.journal.journal import Journal
from fakebroker.protocol.record_batch import Record
from fakebroker.testing.producers.calls import CallOutcome, ProducerCall
from fakebroker.testing.producers.findings import DUPLICATE, LOST, REORDERED
from fakebroker.testing.producers.judge import MISPLACED, WRITTEN, JudgedLog, JudgedRecord, ProducerHistory, ReadRecord

Found = list[tuple[str, int]]


class Told(NamedTuple):
    """The result of a call."""

    value: bytes
    how: str = "ok"  # ok, placeless, failed, unknown, open
    at: int = -1
    client: str = "me"
    partition: int = 0


def history(*calls: Told) -> ProducerHistory:
    made = ProducerHistory()
    for planned in calls:
        call = made.invokes(planned.client, "t", planned.value)
        match planned.how:
            case "ok":
                call.ok(planned.partition, planned.at)
            case "placeless":
                call.ok()
            case "failed":
                call.failed("NOT_ENOUGH_REPLICAS")
            case "unknown":
                call.failed("REQUEST_TIMED_OUT")
    return made


def read(*partitions: str, first: int = 0) -> list[ReadRecord]:
    """One record for each letter; a point is an offset without one."""
    return [
        ReadRecord("t", partition, offset, letter.encode())
        for partition, letters in enumerate(partitions)
        for offset, letter in enumerate(letters, first)
        if letter != "."
    ]


def found(made: ProducerHistory, records: Iterable[ReadRecord]) -> Found:
    return [(finding.kind, finding.offset) for finding in made.check_read(records)]


HONEST = [
    ([Told(b"a", at=0), Told(b"b", at=1)], "ab"),
    ([Told(b"a", "failed"), Told(b"b", at=0)], "b"),
    ([Told(b"a", "unknown"), Told(b"b", at=0)], "b"),
    ([Told(b"a", "unknown"), Told(b"b", at=1)], "ab"),
    ([Told(b"a", "open"), Told(b"b", at=1)], "ab"),
    ([Told(b"a", "placeless")], "a"),
    ([Told(b"a", "failed"), Told(b"b", at=0), Told(b"a", at=1)], "ba"),  # the application has tried again
    ([Told(b"a", "unknown"), Told(b"b", at=0), Told(b"a", at=1)], "ba"),
    ([Told(b"a", at=0), Told(b"b", at=2)], "axb"),  # of another producer
    ([Told(b"b", at=1, client="other"), Told(b"a", at=0)], "ab"),  # two clients have no order
    ([Told(b"b", "failed"), Told(b"b", "unknown")], "b"),
]
SLIPS: list[tuple[list[Told], str, Found]] = [
    ([Told(b"a", at=0), Told(b"b", at=1)], "a", [(LOST, 1)]),
    ([Told(b"a", at=0), Told(b"b", at=0)], "a", [(LOST, 0)]),  # kafka-clients 2.1: a sequence used again
    ([Told(b"a", "placeless"), Told(b"b", at=0)], "b", [(LOST, -1)]),
    ([Told(b"a", at=1)], "a", [(MISPLACED, 1)]),
    ([Told(b"a", "failed")], "a", [(WRITTEN, 0)]),
    ([Told(b"a", "failed"), Told(b"a", "failed")], "a", [(WRITTEN, 0)]),
    ([Told(b"a", "failed")], "aa", [(WRITTEN, 0), (DUPLICATE, 1)]),
    ([Told(b"a", at=1)], "aa", [(DUPLICATE, 1)]),
    ([Told(b"a", "unknown")], "aa", [(DUPLICATE, 1)]),
    ([Told(b"a", at=1), Told(b"b", at=0)], "ba", [(REORDERED, 1)]),
    ([Told(b"a", "unknown"), Told(b"b", at=0)], "ba", [(REORDERED, 1)]),
    ([Told(b"a", at=2), Told(b"b", at=1), Told(b"c", at=0)], "cba", [(REORDERED, 1), (REORDERED, 2)]),
]


@pytest.mark.parametrize(("calls", "log"), HONEST)
def test_an_honest_history_is_silent(calls: list[Told], log: str) -> None:
    assert found(history(*calls), read(log)) == []


@pytest.mark.parametrize(("calls", "log", "findings"), SLIPS)
def test_a_slip_is_found(calls: list[Told], log: str, findings: Found) -> None:
    assert found(history(*calls), read(log)) == findings


SENTENCES = {
    LOST: "lost: t-0 offset 1: b'b': client 'me' was told that it stands here, and nothing does",
    MISPLACED: "misplaced: t-0 offset 1: b'a': client 'me' was told that it stands here, and it stands at offset 0 of "
    "partition 0",
    WRITTEN: "written: t-0 offset 0: b'a': client 'me' was told that it is not written (NOT_ENOUGH_REPLICAS), and it "
    "stands here",
    DUPLICATE: "duplicate: t-0 offset 1: b'a': it stands at offset 0 as well; client 'me' was asked for it once",
    REORDERED: "reordered: t-0 offset 1: b'a': client 'me' was asked for it before b'b', which stands at offset 0",
}


@pytest.mark.parametrize("kind", SENTENCES)
def test_what_is_said(kind: str) -> None:
    calls, log, _ = next(slip for slip in SLIPS if slip[2][0][0] == kind)
    assert str(history(*calls).check_read(read(log))[0]) == SENTENCES[kind]


def test_other_sentences() -> None:
    made = history(Told(b"a", at=0), Told(b"b", at=0), Told(b"c", "placeless"), Told(b"a", at=0, partition=1))
    assert [str(finding).partition(" was ")[2] for finding in made.check_read(read("a", "a"))] == [
        "told that it is written, and it is not",
        "told that it stands here, and another record does",
        "asked for it 2 times",
    ]
    assert "at offset 0 of partition 0 as well" in made.check_read(read("a", "a"))[-1].sentence


def test_what_retention_deleted_is_not_lost() -> None:
    assert found(history(Told(b"a", at=0), Told(b"b", "placeless"), Told(b"c", at=2)), read("c", first=2)) == []


def test_only_what_is_asked_for() -> None:
    made = history(Told(b"a", at=1))
    assert made.check_read(read("a"), {LOST}) == []
    with pytest.raises(ValueError, match="no kind 'gap' of finding; there are: lost, misplaced, written, duplicate, "):
        made.check_read([], {"gap"})


def test_keys_and_headers_make_another_record() -> None:
    made = ProducerHistory()
    made.invokes("me", "t", b"v", b"k", [("h", None)]).ok(0, 0)
    made.invokes("me", "t", b"v", b"k").ok(0, 1)
    made.invokes("me", "t", b"v").ok(0, 2)
    rest = [ReadRecord("t", 0, 1, b"v", b"k"), ReadRecord("t", 0, 2, b"v")]
    assert found(made, [ReadRecord("t", 0, 0, b"v", b"k", (("h", None),)), *rest]) == []
    assert found(made, [ReadRecord("t", 0, 0, b"v", b"k", (("h", b""),)), *rest]) == [(LOST, 0)]


def test_a_topic_that_was_made_anew_has_two_lives() -> None:
    lives = [{("t", 0): JudgedLog(dict(enumerate(map(standing, letters))))} for letters in ("ab", "ca")]
    calls = [Told(b"a", at=0), Told(b"b", at=1), Told(b"c", at=0), Told(b"a", at=1)]
    assert history(*calls).check_logs(lives) == []
    assert [finding.kind for finding in history(*calls).check_logs(lives[1:])] == [LOST, LOST]
    assert [finding.kind for finding in history(*calls[:3]).check_logs(lives)] == [REORDERED]


def test_what_was_aborted_is_compared_with_nothing() -> None:
    log = {0: standing("a", False), 1: standing("b"), 2: standing("a")}
    made = history(Told(b"a", at=0), Told(b"b", at=1), Told(b"a", at=2), Told(b"c", "failed"))
    assert made.check_logs([{("t", 0): JudgedLog(log | {3: standing("c", False)})}]) == []


def test_a_batch_that_the_journal_does_not_look_at() -> None:
    journal = [Append(0, 0, 7, 1, "t", 0, "NONE", 0, 9_999, False, 0, -1, -1, -1, ())]
    with pytest.raises(ValueError, match="no fingerprints of the records of request 7, which has put more into t-0"):
        history(Told(b"a", at=0)).check(journal)
    assert ProducerHistory().check(journal) == []
    assert history(Told(b"a", "failed")).check(Journal()) == []


def standing(letter: str, is_compared: bool = True) -> JudgedRecord:
    return JudgedRecord(fingerprint(Record(None, letter.encode())), is_compared)


def plain(calls: list[Told], logs: list[str]) -> set[tuple[str, int, int, str]]:
    """The rules said once more, record by record: (kind, partition, offset, letter)."""
    places = [
        (partition, offset, letter)
        for partition, log in enumerate(logs)
        for offset, letter in enumerate(log)
        if letter != "."
    ]
    findings = set()
    for letter in {chr(call.value[0]) for call in calls}:
        mine = [call for call in calls if call.value == letter.encode()]
        copies = [(partition, offset) for partition, offset, letter_ in places if letter_ == letter]
        acknowledged = {(call.partition, call.at) for call in mine if call.how == "ok"}
        for place in acknowledged - set(copies):
            findings.add((MISPLACED if set(copies) - acknowledged else LOST, *place, letter))
        if not copies and any(call.how == "placeless" for call in mine):
            findings.add((LOST, -1, -1, letter))
        if copies and all(call.how == "failed" for call in mine):
            findings.add((WRITTEN, *copies[0], letter))
        findings |= {(DUPLICATE, *copy, letter) for copy in copies[1:]}
    for partition, log in enumerate(logs):
        for (before, x), (after, y) in combinations(enumerate(log), 2):
            if log.index(x) != before or log.index(y) != after:
                continue
            pairs = [
                [(number, call.client) for number, call in enumerate(calls) if call.value == value.encode()]
                for value in (x, y)
            ]
            tried = [[candidate for candidate in pair if calls[candidate[0]].how != "failed"] for pair in pairs]
            one_client = len({client for pair in tried for _, client in pair}) == 1
            if all(tried) and one_client and all(b < a for (a, _), (b, _) in product(*tried)):
                findings.add((REORDERED, partition, after, y))
    return findings


letters = st.sampled_from("abcd")
logs = st.lists(st.text("abcdx", max_size=5), min_size=2, max_size=2)
outcomes = st.sampled_from(["ok", "ok", "ok", "placeless", "failed", "unknown", "open"])
tellings = st.builds(
    Told,
    letters.map(str.encode),
    outcomes,
    st.integers(0, 4),
    st.sampled_from(["me", "me", "other"]),
    st.integers(0, 1),
)


@given(st.lists(tellings, max_size=7), logs)
def test_any_history_is_judged_by_the_rules(calls: list[Told], logs: list[str]) -> None:
    said = history(*calls).check_read(read(*logs))
    assert {
        (finding.kind, finding.partition, finding.offset, finding.sentence.split(": ")[1][2]) for finding in said
    } == plain(calls, logs)


class Written(NamedTuple):
    """A record that a producer sends, and what happens to it."""

    partition: int
    client: str
    fate: str  # acknowledged, refused, unknown and there, unknown and not there


def play(steps: list[Written]) -> tuple[list[Told], list[str]]:
    """Return the results and logs of an honest broker and honest clients: each record is another letter."""
    logs, calls = ["", ""], []
    for number, step in enumerate(steps):
        letter = chr(ord("A") + number)
        offset = len(logs[step.partition])
        if step.fate in ("ok", "there"):
            logs[step.partition] += letter
        how = {"ok": "ok", "failed": "failed"}.get(step.fate, "unknown")
        calls.append(Told(letter.encode(), how, offset if how == "ok" else -1, step.client, step.partition))
    return calls, logs


steps = st.lists(
    st.builds(
        Written,
        st.integers(0, 1),
        st.sampled_from(["me", "other"]),
        st.sampled_from(["ok", "ok", "failed", "there", "not there"]),
    ),
    min_size=1,
    max_size=20,
)


@given(steps)
def test_honest_clients_and_brokers_are_never_accused(steps: list[Written]) -> None:
    calls, logs = play(steps)
    assert found(history(*calls), read(*logs)) == []


def lose(calls: list[Told], logs: list[str], at: int) -> tuple[list[str], str]:
    call = calls[at]
    log = logs[call.partition]
    logs[call.partition] = log[: call.at] + "x" + log[call.at + 1 :]
    return logs, LOST


def write_what_was_refused(calls: list[Told], logs: list[str], at: int) -> tuple[list[str], str]:
    logs[calls[at].partition] += calls[at].value.decode()
    return logs, WRITTEN


def double(calls: list[Told], logs: list[str], at: int) -> tuple[list[str], str]:
    logs[calls[at].partition] += calls[at].value.decode()
    return logs, DUPLICATE


def reorder(calls: list[Told], logs: list[str], at: int) -> tuple[list[str], str]:
    """Insert a missing record late."""
    logs[calls[at].partition] += calls[at].value.decode()
    return logs, REORDERED


SLIP: dict[str, Callable[[list[Told], list[str], int], tuple[list[str], str]]] = {
    "ok": lose,
    "failed": write_what_was_refused,
    "there": double,
    "not there": reorder,
}


@given(steps, st.data())
def test_one_slip_is_found_alone(steps: list[Written], data: st.DataObject) -> None:
    calls, logs = play(steps)
    at = data.draw(st.integers(0, len(steps) - 1))
    call, step = calls[at], steps[at]
    changed, kind = SLIP[step.fate](calls, list(logs), at)
    said = history(*calls).check_read(read(*changed))
    is_last = not any(
        step_.partition == step.partition and step_.client == step.client and step_.fate in ("ok", "there")
        for step_ in steps[at + 1 :]
    )
    if kind == REORDERED and is_last:
        assert said == []
    else:
        assert [finding.kind for finding in said] == [kind]
        assert call.value.decode() in said[0].sentence


def test_calls_are_numbered_in_their_order() -> None:
    made = history(Told(b"a", "open"), Told(b"b", at=0))
    assert [(call.number, call.outcome) for call in made.calls] == [(1, CallOutcome.OPEN), (2, CallOutcome.OK)]
    assert all(isinstance(call, ProducerCall) for call in made.calls)
