"""A case survives being written and read, and a refresh shows what changed and nothing else."""

from __future__ import annotations

from pathlib import Path

from conformance.cases import all_cases
from conformance.scenario import Case, ReadLog, Send, Settle, Topic
from conformance.transcripts.golden import Golden, load, load_all, refresh

CASE = Case("g/one", "why", (Send((b"\0\0\0\4abcd", b"x" * 5000)), Settle(), ReadLog("t")), (Topic("t"),))


def golden(error: str, port: int = 1, after_ms: float = 1.5) -> Golden:
    answer = {"correlation_id": 1, "after_ms": after_ms, "says": {"error_code": error, "port": port}}
    return Golden(CASE, [{"settle": "a", "answers": [answer], "end": "open"}], "4.4.0")


def test_every_case_survives_the_file(tmp_path: Path) -> None:
    cases = all_cases()
    refresh((Golden(case, [{"end": "open"}], "4.4.0") for case in cases), tmp_path)
    read = [each for path in tmp_path.glob("*.json") for each in load(path)]
    assert {each.case.name: each.case for each in read} == {case.name: case for case in cases}


def test_a_refresh_tells_what_changed(tmp_path: Path) -> None:
    assert refresh([golden("NONE(0)")], tmp_path) == ["g/one"]
    first = (tmp_path / "g.json").read_text()

    assert refresh([golden("NONE(0)", port=2, after_ms=9.0)], tmp_path) == []
    assert (tmp_path / "g.json").read_text() == first
    assert refresh([golden("REQUEST_TIMED_OUT(7)")], tmp_path) == ["g/one"]
    assert "REQUEST_TIMED_OUT" in (tmp_path / "g.json").read_text()


def test_what_is_random_in_kafka_is_no_change(tmp_path: Path) -> None:
    def fetched(session_id: int) -> Golden:
        says = {"error_code": "NONE(0)", "session_id": session_id}
        return Golden(CASE, [{"settle": "a", "answers": [{"correlation_id": 1, "says": says}], "end": "open"}], "4.4.0")

    refresh([fetched(1)], tmp_path)
    assert refresh([fetched(2)], tmp_path) == []
    assert load(tmp_path / "g.json")[0].kafka[0]["answers"][0]["says"]["session_id"] == 1


def test_a_group_that_is_gone_is_removed(tmp_path: Path) -> None:
    refresh([golden("NONE(0)")], tmp_path)
    refresh([], tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_kept_cases_are_the_cases_of_today() -> None:
    """A case that was changed or added needs `make conformance`, which asks Kafka."""
    assert {each.case.name: each.case for each in load_all()} == {case.name: case for case in all_cases()}
