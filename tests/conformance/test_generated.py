"""Generated traffic without Kafka: what may be sent, and that a planted difference is found, shrunk and kept."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import doses
from support.virtual_target import VirtualTarget

from conformance import frames
from conformance.generated.found import FOLDER, keep, load, load_all
from conformance.generated.harmless import ALLOWED, missing_bytes, refusal
from conformance.generated.search import GeneratedResult, run_generated, signature
from conformance.generated.strategies import streams
from conformance.generated.streams import BOX, KINDS, STAND_IN, Group, Stream, as_case, kept_case
from conformance.scenario import ReadLog, Send, Topic, placeholder
from conformance.suite import Sides
from conformance.targets.boxes import BOXES
from conformance.transcripts.compare import Finding
from fakebroker.cluster.cluster import Cluster
from fakebroker.protocol.errors import ProtocolError
from fakebroker.protocol.framing import FrameDecoder

GOOD = frames.produce(STAND_IN, frames.batch(b"v"))
CREATE = frames.create_topics([{"name": "new", "num_partitions": 1}])
FORBIDDEN = [key for key in range(100) if key not in ALLOWED]


def broker_reads(data: bytes) -> Iterator[bytes]:
    """The frames that our broker cuts these bytes into."""
    decoder = FrameDecoder(104_857_600)
    decoder.feed(data)
    try:
        while (frame := decoder.next_frame()) is not None:
            yield frame
    except ProtocolError:
        return


# What is made.


@given(streams())
def test_whatever_is_made_may_be_sent(stream: Stream) -> None:
    assert stream.kind in KINDS
    for group in stream.groups:
        data = b"".join(group.frames)
        assert refusal(data) is None
        for frame in broker_reads(data):
            key = struct.unpack(">h", frame[:2])[0] if len(frame) >= 4 else None
            assert key is None or key in ALLOWED or key < 0 or key >= 300
    assert sum(len(group.frames) for group in stream.groups) <= 12  # 8 requests, and what completes damaged frames


@given(streams())
def test_a_stream_goes_to_its_topic_only_and_keeps_its_length(stream: Stream) -> None:
    case = as_case(stream, "generated/x", "gen-abcdef01")
    sent = [step.frames for step in case.steps if isinstance(step, Send)]
    assert [[len(part) for part in parts] for parts in sent] == [[len(p) for p in g.frames] for g in stream.groups]
    everything = b"".join(part for parts in sent for part in parts)
    assert STAND_IN.encode() not in everything
    assert placeholder(STAND_IN).bytes not in everything
    assert case.steps[-2:] == (ReadLog("gen-abcdef01", 0), ReadLog("gen-abcdef01", 1))


# What may be sent.


@pytest.mark.parametrize("key", FORBIDDEN)
def test_requests_that_change_the_cluster_are_refused(key: int) -> None:
    frame = struct.pack(">ihhih", 10, key, 0, 1, -1)
    assert refusal(frame) is not None
    assert refusal(GOOD + frame) is not None


def test_a_damaged_length_cannot_bring_a_forbidden_request_to_light() -> None:
    hidden = GOOD[:4] + GOOD[4:30] + CREATE
    data = struct.pack(">i", len(hidden) - 4) + hidden[4:]
    assert refusal(data) is None  # as long as the length covers it, it is a bad Produce request
    assert refusal(struct.pack(">i", 26) + data[4:]) is not None


@given(st.integers(0, len(GOOD + CREATE) - 1), st.binary(min_size=1, max_size=4))
def test_no_damage_lets_a_forbidden_request_through(at: int, new: bytes) -> None:
    data = (GOOD[:-8] + CREATE + GOOD)[:at] + new + (GOOD[:-8] + CREATE + GOOD)[at + len(new) :]
    if refusal(data) is None:
        keys = [struct.unpack(">h", frame[:2])[0] for frame in broker_reads(data) if len(frame) >= 4]
        assert 19 not in keys


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (frames.produce(STAND_IN, None), "null records"),
        (frames.fetch(STAND_IN, max_wait_ms=60_000), "wait"),
        (frames.metadata(None), "all topics"),
        (frames.init_producer_id(transactional_id="tx"), "transactional id"),
        (frames.produce(STAND_IN, frames.batch(attributes=0x10), transactional_id="tx"), "coordinator"),
        (GOOD[:6] + struct.pack(">h", 14) + GOOD[8:], "Kafka's only"),
        (GOOD[:-1], "more bytes"),
    ],
)
def test_what_hangs_or_is_not_served_is_refused(frame: bytes, reason: str) -> None:
    assert reason in str(refusal(frame))


@pytest.mark.parametrize(
    ("data", "missing"),
    [
        (b"", 0),
        (GOOD, 0),
        (GOOD[:-5], 5),
        (GOOD + b"\0\0", 2),
        (GOOD + b"\0\0\0\x07", 7),
        (b"\xff" * 9, 0),  # a negative length closes the connection
        (b"\x7f\xff\xff\xffabc", 0),
    ],
)
def test_what_a_broker_waits_for(data: bytes, missing: int) -> None:
    assert missing_bytes(data) == missing


# What is found.


class SmallBatchesOnly(VirtualTarget):
    """A broker with a planted fault: a topic without settings takes no batch of more than 120 bytes."""

    def create_topics(self, topics: Sequence[Topic]) -> None:
        super().create_topics([t if t.configs else replace(t, configs={"max.message.bytes": "120"}) for t in topics])


class Virtual(Sides):
    """Two of ours in virtual time."""

    def __init__(self, second: type[VirtualTarget]) -> None:
        self.kafka = {BOX: VirtualTarget(BOXES[BOX])}  # type: ignore[assignment]
        self.ours = {BOX: second(BOXES[BOX])}  # type: ignore[assignment]


@pytest.fixture
def no_invariants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the invariants: they are checked elsewhere, and with a thousand partitions they take most of the time."""
    monkeypatch.setattr(Cluster, "check_invariants", lambda cluster: None)


def run(second: type[VirtualTarget], count: int, seed: int) -> GeneratedResult:
    seen = []
    result = run_generated(Virtual(second), count, seed, lambda so_far: seen.append(so_far.streams))
    assert seen == list(range(1, count + 1))
    return result


@pytest.mark.slow
@pytest.mark.usefixtures("no_invariants")
def test_two_that_are_the_same_do_not_differ_and_many_answers_are_reached() -> None:
    streams = doses.count(120, 200)
    result = run(VirtualTarget, streams, 7)
    assert result.differences == []
    assert result.streams == streams
    assert result.stored_batches > 30
    assert len({api for api, _ in result.codes}) == len(ALLOWED)
    assert len(result.codes) >= 20
    assert result.ends["closed"] > 0


@pytest.mark.nightly  # every day: test_walks.py finds a planted difference and makes it smaller
@pytest.mark.slow
@pytest.mark.usefixtures("no_invariants")
def test_a_planted_difference_is_found_and_shrunk() -> None:
    result = run(SmallBatchesOnly, 25, 2)
    difference = next(
        candidate for candidate in result.differences if "NONE(0) / MESSAGE_TOO_LARGE(10)" in candidate.signature
    )
    assert difference.stream.kind == "plain"
    [group] = difference.stream.groups
    [frame] = group.frames
    assert len(frame) < 300  # one Produce with one batch that is little more than too large
    assert any(finding.reason is None for finding in difference.outcome.findings)
    assert difference.seen >= 1


@pytest.mark.usefixtures("no_invariants")
def test_a_seed_makes_the_same_streams() -> None:
    first, again, other = (run(VirtualTarget, doses.count(10, 30), seed) for seed in (5, 5, 6))
    assert (first.codes, first.requests, first.ends) == (again.codes, again.requests, again.ends)
    assert first.requests != other.requests


def test_what_a_difference_is_about() -> None:
    path = "[0].answers[3].says.responses[0].partition_responses[1]"
    about = signature(Finding(f"{path}.error_code", "NONE(0)", "INVALID_RECORD(87)", None))
    assert about == ("[].answers[].says.responses[].partition_responses[].error_code: NONE(0) / INVALID_RECORD(87)")
    assert signature(Finding(f"{path}.base_offset", 4, -1, None)).endswith("base_offset: int / int")


# What is kept.


def test_a_find_is_kept_as_a_case(tmp_path: Path) -> None:
    stream = Stream("append-time", (Group("a0", (GOOD, CREATE[:20])), Group("b0", (GOOD,))))
    path = keep(stream, "[].end: open / closed", tmp_path)
    case = load(path)
    assert case.name == f"found/{path.stem}"
    assert case.name.startswith("found/append-time-")
    assert "open / closed" in case.why
    assert case.steps == kept_case(stream, "").steps
    assert case.topics[0].configs == KINDS["append-time"]
    assert path.read_text().startswith(f"differed [].end: open / closed\na0 {GOOD.hex()} ")


def test_a_kept_file_that_was_changed_by_hand_is_refused(tmp_path: Path) -> None:
    path = keep(Stream("plain", (Group("a0", (GOOD,)),)), "x", tmp_path)
    path.write_text(path.read_text().replace("a0 00", "a0 01"))
    with pytest.raises(ValueError, match=r"has the bytes of found/plain-"):
        load(path)
    path.write_text("a0 00\n")
    with pytest.raises(ValueError, match="does not begin with what differed"):
        load(path)


def test_every_kept_case_may_be_sent() -> None:
    for case in load_all():
        for step in case.steps:
            if isinstance(step, Send):
                assert refusal(b"".join(step.frames)) is None, case.name
    assert len(load_all()) == len(list(FOLDER.glob("*.txt")))
