"""The types of run.json: each value of another JSON type is reported, and none raises another exception."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from load_results import entry_of, result_folder

from fakebroker_load.results.folder import RUN_FILE
from fakebroker_load.results.run_file import complaint_of
from fakebroker_load.scenario.reading import bundled, load_scenario

OTHERS: tuple[Any, ...] = (None, True, 7, -7, 1.5, "", "x", [], {}, [None], {"x": 1}, [[]], 10**30, "\ud800")
MAY_BE_NULL = {
    *("due_ms", "arrivals", "written", "source", "life_ms", "throttled", "bytes_per_s", "machine_late_ms", "clocks"),
    *("error_us", "leaders", "journal", "from", "why_not", "clock_us"),
}
MAY_LACK = {
    *("command", "machine_late_ms", "clocks", "leaders", "journal"),
    *("from", "rows", "why_not", "clock_us"),
    *("127.0.0.1:9092", "orders"),
}
# By Kafka's names, or as the control takes them: any JSON.
FREE = {"settings", "configs", "followers", "assignments", "actions"}
Path_ = tuple[str | int, ...]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return json.loads((result_folder(tmp_path_factory.mktemp("results"), "one") / RUN_FILE).read_text())


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from places(below, (*path, key))


def at(value: Any, path: Path_) -> Any:
    for key in path:
        value = value[key]
    return value


def with_value(told: Any, path: Path_, value: Any) -> Any:
    if not path:
        return value
    copy: Any = dict(told) if isinstance(told, dict) else list(told)
    copy[path[0]] = with_value(told[path[0]], path[1:], value)
    return copy


def kind_of(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


def test_another_json_type_is_complained_of_wherever_it_stands(told: Any) -> None:
    assert complaint_of(json.dumps(told).encode()) is None
    seen = 0
    for path in places(told):
        old, last = at(told, path), path[-1] if path else ""
        for other in OTHERS:
            complaint = complaint_of(json.dumps(with_value(told, path, other)).encode())
            assert complaint is None or "\n" not in complaint
            is_other = kind_of(other) != kind_of(old) and not FREE & {*path[2:3], *path[4:5]}
            may_be = last in MAY_BE_NULL and (other is None or old is None)
            may_be |= last in ("cores", "usable_cores") and isinstance(other, str)
            if is_other and not may_be:
                assert complaint is not None, (path, other)
                seen += 1
    assert seen > 500


@pytest.mark.parametrize("name", bundled())
def test_a_run_of_each_bundled_scenario_is_right(name: str) -> None:
    assert complaint_of(json.dumps([entry_of("one", load_scenario(name))]).encode()) is None


def test_a_field_that_lacks_is_complained_of_wherever_it_stands(told: Any) -> None:
    seen = 0
    for path in places(told):
        if path and isinstance(path[-1], str) and path[-1] not in MAY_LACK:
            around = dict(at(told, path[:-1]))
            del around[path[-1]]
            assert complaint_of(json.dumps(with_value(told, path[:-1], around)).encode()) is not None, path
            seen += 1
    assert seen > 50


def test_a_field_that_a_scenario_does_not_have_is_complained_of(told: Any) -> None:
    (entry,) = told
    other = entry | {"scenario": entry["scenario"] | {"mood": "good"}}
    assert complaint_of(json.dumps([other]).encode()) == "the scenario 'small' has other fields"


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b"[NaN]", b"[1e999]", b"\xef\xbb\xbf[]"],
    ids=["empty", "no run", "null", "cut off", "no UTF-8", "deep", "NaN", "infinite", "BOM"],
)
def test_what_is_no_run_json_is_complained_of(text: bytes) -> None:
    assert complaint_of(text)


def test_two_runs_of_one_name_and_groups_of_another_plan(told: Any) -> None:
    (entry,) = told
    assert complaint_of(json.dumps([entry, entry]).encode()) == "it tells of 2 runs, of 1 scenarios"
    other = entry | {"planned": {"h": 6}}
    assert complaint_of(json.dumps([other]).encode()) == "`planned` of 'small' names other groups than its scenario"
