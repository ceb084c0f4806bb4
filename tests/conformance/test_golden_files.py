"""Golden files lose nothing, a refresh shows what changed and nothing else, and a case that has changed is noticed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import kept

from conformance.scenario import At, Case, ReadLog, Send, Settle, Topic
from conformance.targets.wire import Sent
from conformance.transcripts.golden import FOLDER, Golden, digest, golden, load, load_all, refresh, stale
from conformance.transcripts.packed import packed, unpacked
from conformance.transcripts.recording import Answer, Heard, Isr, Log, Recording
from conformance.transcripts.words import batches_in, words
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_response, response_type

CASE = Case("g/one", "why", (Send((b"\0\0\0\4abcd", b"x" * 5000)), Settle(), ReadLog("t")), (Topic("t"),))


def response(to: Sent, correlation_id: int = 1, **values: Any) -> Answer:
    frame = encode_response(build(response_type(to.api_key, to.version), values), correlation_id)[4:]
    return Answer(to, frame, after_ms=1.5)


def metadata(error: int = 0, port: int = 1, correlation_id: int = 1) -> Answer:
    topic = {"error_code": ErrorCode(error), "name": "t", "is_internal": False, "partitions": ()}
    broker = {"node_id": 1, "host": "h", "port": port, "rack": None}
    return response(Sent(3, 1), correlation_id, brokers=(broker,), controller_id=1, topics=(topic,))


def answered(*answers: Answer, case: Case = CASE) -> Golden:
    return golden(case, (Heard("settle", "a", answers, "open"),), "4.4.0")


def text(folder: Path) -> str:
    return (folder / "g.txt").read_text()


# Files.


def test_what_is_kept_survives_being_read_and_written(tmp_path: Path) -> None:
    answers = kept.answers()
    assert sorted(refresh(answers, tmp_path)) == sorted(golden.case for golden in answers)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {path.name: path.read_text() for path in FOLDER.glob("*.txt")}


sents = st.none() | st.builds(Sent, st.sampled_from([0, 3, 18, 300, -1]), st.integers(-1, 20))
frames = st.binary(max_size=100) | st.builds(
    lambda byte, count: bytes([byte]) * count, st.integers(0, 255), st.integers(0, 99)
)
numbers = st.integers(-1, 1 << 62)
entries = (
    st.builds(
        Heard,
        st.sampled_from(["settle", "listen"]),
        st.sampled_from("ab"),
        st.lists(st.builds(Answer, sents, frames), max_size=3).map(tuple),
        st.sampled_from(["open", "closed", "silent"]),
    )
    | st.builds(Isr, st.just("t-0"), st.lists(st.integers(1, 9), max_size=3).map(tuple))
    | st.builds(
        Log, st.just("t-0"), st.integers(-1, 99), numbers, numbers, numbers, st.lists(frames, max_size=3).map(tuple)
    )
)


@given(st.lists(entries, max_size=4).map(tuple))
def test_any_recording_survives_the_file(tmp_path_factory: pytest.TempPathFactory, recording: Recording) -> None:
    folder = tmp_path_factory.mktemp("golden")
    refresh([golden(CASE, recording, "4.4.0")], folder)
    assert load_all(folder) == [Golden("g/one", digest(CASE), recording, "4.4.0")]


@given(frames)
def test_bytes_survive_as_text(data: bytes) -> None:
    assert unpacked(packed(data)) == data
    assert " " not in packed(data)


def test_bytes_in_a_row_are_counted() -> None:
    assert packed(b"\1" + b"x" * 1000 + b"\xff") == "01(78*1000)ff"
    assert packed(b"x" * 31) == "78" * 31


@pytest.mark.parametrize("line", ["settled a open", " batch 00", " answer a Produce v9 0", "case", " log t-0 error=x"])
def test_a_line_that_cannot_be_read_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text(f"kafka 4.4.0\ncase g/one 0\n settle a open\n{line}\n")
    with pytest.raises(ValueError, match=r"^g\.txt, line 4: "):
        load(path)


# A refresh.


def test_a_refresh_tells_what_changed(tmp_path: Path) -> None:
    assert refresh([answered(metadata())], tmp_path) == ["g/one"]
    first = text(tmp_path)
    assert "1.5" not in first  # no times

    assert refresh([answered(metadata(port=2))], tmp_path) == []
    assert text(tmp_path) == first
    assert refresh([answered(metadata(error=3))], tmp_path) == ["g/one"]
    assert words(load_all(tmp_path)[0].kafka)[0]["answers"][0]["says"]["topics"][0]["error_code"] == (
        "UNKNOWN_TOPIC_OR_PARTITION(3)"
    )


def test_only_the_changed_lines_of_a_case_are_written(tmp_path: Path) -> None:
    refresh([answered(metadata(), metadata(correlation_id=2))], tmp_path)
    first = text(tmp_path).splitlines()
    refresh([answered(metadata(port=2), metadata(error=3, port=2, correlation_id=2))], tmp_path)
    second = text(tmp_path).splitlines()
    assert [before != now for before, now in zip(first, second, strict=True)] == [False, False, False, True, False]


@pytest.mark.parametrize(
    "other",
    [
        answered(metadata(), metadata()),
        answered(),
        replace(answered(), kafka=(Heard("settle", "a", (replace(metadata(), after_ms=None),), "closed"),)),
        replace(answered(), kafka=(Isr("t-0", (1,)),)),
    ],
    ids=["an answer more", "an answer less", "another end", "another entry"],
)
def test_whatever_else_changes_is_told(other: Golden, tmp_path: Path) -> None:
    refresh([answered(metadata())], tmp_path)
    assert refresh([other], tmp_path) == ["g/one"]
    assert load_all(tmp_path) == [
        golden(CASE, tuple(_timeless(entry) for entry in other.kafka), "4.4.0"),
    ]


def _timeless(entry: Any) -> Any:
    if isinstance(entry, Heard):
        return replace(entry, answers=tuple(replace(answer, after_ms=None) for answer in entry.answers))
    return entry


def test_bytes_that_our_decoder_passes_over_are_a_change(tmp_path: Path) -> None:
    answer = metadata()
    refresh([answered(answer)], tmp_path)
    longer = replace(answer, frame=answer.frame + b"\0")
    assert words(answered(longer).kafka) == words(answered(answer).kafka)
    assert refresh([answered(longer)], tmp_path) == ["g/one"]
    [entry] = load_all(tmp_path)[0].kafka
    assert isinstance(entry, Heard)
    assert entry.answers[0].frame == longer.frame


def test_what_is_random_in_kafka_is_no_change(tmp_path: Path) -> None:
    def told(epoch: int) -> Golden:
        return answered(
            response(
                Sent(18, 3),
                error_code=ErrorCode.none,
                api_keys=(),
                throttle_time=timedelta(0),
                supported_features=(),
                finalized_features_epoch=epoch,
                finalized_features=(),
                zk_migration_ready=False,
            )
        )

    refresh([told(1)], tmp_path)
    assert refresh([told(2)], tmp_path) == []
    assert words(load_all(tmp_path)[0].kafka)[0]["answers"][0]["says"]["finalized_features_epoch"] == 1


def test_a_group_that_is_gone_is_removed(tmp_path: Path) -> None:
    refresh([answered()], tmp_path)
    (tmp_path / "README.md").write_text("not ours")
    refresh([], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


# Cases that have changed.


def test_kafka_was_asked_what_the_cases_ask() -> None:
    """A case that was changed or added needs `make conformance`, which asks Kafka."""
    assert stale(kept.cases(), kept.answers()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": (Send((b"\0\0\0\4abce", b"x" * 5000)), *CASE.steps[1:])},
        {"steps": (Send((b"\0\0\0\4abcd", b"x" * 4999)), *CASE.steps[1:])},
        {"steps": (Send((b"\0\0\0\4abcd", b"x" * 5000), conn="b"), *CASE.steps[1:])},
        {"steps": CASE.steps[:-1]},
        {"topics": (Topic("t", partitions=2),)},
        {"topics": (Topic("t", configs={"retention.ms": "1"}),)},
        {"box": "three"},
        {"timed": (At(1, 500),)},
    ],
    ids=str,
)
def test_a_case_that_asks_something_else_is_stale(changes: dict[str, Any]) -> None:
    other = replace(CASE, **changes)
    assert digest(other) != digest(CASE)
    assert stale([other], [answered()]) == [
        "g/one: its requests have changed since Kafka's responses were recorded (`make conformance` records again)"
    ]


def test_what_is_new_or_gone_is_stale_and_words_are_not() -> None:
    assert stale([replace(CASE, why="other words")], [answered()]) == []
    assert stale([CASE], []) == ["g/one: there is no response of Kafka (`make conformance` records again)"]
    assert stale([], [answered()]) == ["g/one: this case does not exist any more (`make conformance` records again)"]


def test_what_is_no_batch_ends_the_batches() -> None:
    assert batches_in(bytes(100)) == []  # a length that is less than a header must not go on for ever
