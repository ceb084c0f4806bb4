"""The harness around the client programs: plans, logs, reports, comparison, and what is said of what cannot be run."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka.record import MemoryRecordsBuilder

from conformance import client_builds
from conformance.client_builds import CLIENTS, Client, Folder, NotRun, build
from conformance.client_log import LoggedRecord, decode
from conformance.client_plan import CODECS, FROZEN, JOBS, MIXED, THAWED, Job, Record, plan
from conformance.client_process import Broken, ClientProcess
from conformance.client_reports import ClientReport, Difference, JobReport, compare, job_report, rows
from conformance.client_runs import run_clients
from conformance.differences import Rule
from conformance.scenario import Topic
from fakebroker import FakeCluster

RECORD = Record(0, b"key", b"value", (("name", b"1"),), 1_000)
TIMEOUT_MS = 600
JOB = Job("job", records=(RECORD,))


def logged(offset: int = 0, **changes: Any) -> LoggedRecord:
    sent = replace(RECORD, partition=-1)
    return LoggedRecord(offset, replace(sent, **changes), "none", broker_time=False, sequence=None)


def report(client: str = "client", **jobs: JobReport) -> dict[str, ClientReport]:
    return {client: ClientReport(client, "1.0", jobs=jobs)}


GOOD = JobReport(None, [(0, 0)], {0: [logged()]}, [])


# plans


def test_a_plan_is_one_line_of_json_and_loses_nothing() -> None:
    line = json.dumps(plan("host:1", JOBS, "prefix"))
    assert "\n" not in line
    read = json.loads(line)
    assert read["bootstrap"] == "host:1"
    for job, described in zip(JOBS, read["jobs"], strict=True):
        assert described["topic"] == f"prefix-{job.name}"
        values = [None if each["value"] is None else base64.b64decode(each["value"]) for each in described["records"]]
        assert values == [record.value for record in job.records]


def test_the_jobs_are_every_way_to_acknowledge_times_every_codec_and_every_stage() -> None:
    assert len({job.name for job in JOBS}) == len(JOBS)
    ways = {(job.acks, job.idempotent, job.codec) for job in JOBS if job.partitions == 2 and not job.configs}
    ways_wanted = {(acks, idempotent, codec) for acks, idempotent in ((0, False), (1, False), (-1, False), (-1, True))
                   for codec in CODECS}  # fmt: skip
    assert ways_wanted <= ways
    assert {job.stage for job in JOBS} == {MIXED, FROZEN, THAWED}


# logs


@pytest.mark.parametrize(("codec", "compression_type"), [("none", 0), ("gzip", 1)])
def test_a_batch_that_another_library_wrote_is_read_record_by_record(codec: str, compression_type: int) -> None:
    builder = MemoryRecordsBuilder(magic=2, compression_type=compression_type, batch_size=1 << 16)
    builder.append(timestamp=5, key=None, value=b"a" * 500, headers=[])
    builder.append(timestamp=4, key=b"k", value=None, headers=[("h", b"1"), ("h", b"")])
    builder.close()
    assert decode(bytes(builder.buffer())) == [
        LoggedRecord(0, Record(-1, None, b"a" * 500, (), 5), codec, broker_time=False, sequence=None),
        LoggedRecord(1, Record(-1, b"k", None, (("h", b"1"), ("h", b"")), 4), codec, broker_time=False, sequence=None),
    ]


def test_a_batch_with_a_wrong_crc_is_an_error() -> None:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 16)
    builder.append(timestamp=5, key=None, value=b"a", headers=[])
    builder.close()
    data = bytearray(builder.buffer())
    data[-2] ^= 1
    with pytest.raises(ValueError, match="the batch at offset 0 has a wrong CRC"):
        decode(bytes(data))


# reports


def test_what_a_program_says_becomes_places_and_errors() -> None:
    job = replace(JOB, records=(RECORD, RECORD, RECORD))
    told = {"results": [{"partition": 0, "offset": 0}, {"error": "NAME"}, {"partition": None, "offset": None}]}
    assert job_report(job, told, {0: [logged()]}) == JobReport(
        None, [(0, 0), "NAME", (None, None)], {0: [logged()]}, []
    )


def test_an_unsupported_job_has_its_reason() -> None:
    assert job_report(JOB, {"unsupported": "no"}, {}) == JobReport("no", [], {}, [])


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ({}, "record 0 is not at 0:0"),
        ({0: [logged(1)]}, "record 0 is not at 0:0"),
        ({0: [logged(), logged()]}, "record 0 is not at 0:0"),
        ({0: [logged(value=b"other")]}, "record 0 was sent as"),
        ({0: [logged(headers=())]}, "record 0 was sent as"),
        ({0: [logged(timestamp_ms=2)]}, "record 0 was sent as"),
    ],
)
def test_an_acknowledged_record_that_is_not_where_it_is_said_to_be_is_told(
    log: dict[int, list[LoggedRecord]], said: str
) -> None:
    [misplaced] = job_report(JOB, {"results": [{"partition": 0, "offset": 0}]}, log).misplaced
    assert misplaced.startswith(said)


def test_the_time_of_the_broker_is_no_misplacement() -> None:
    log = {0: [logged(timestamp_ms=77)._replace(broker_time=True)]}
    assert job_report(JOB, {"results": [{"partition": 0, "offset": 0}]}, log).misplaced == []


def test_what_acks_0_says_of_offsets_is_not_believed() -> None:
    assert job_report(replace(JOB, acks=0), {"results": [{"partition": 0, "offset": 9}]}, {}).misplaced == []


# comparison


def test_equal_reports_have_no_difference() -> None:
    assert compare(report(job=GOOD), report(job=GOOD)) == []


@pytest.mark.parametrize(
    ("changed", "where", "ours"),
    [
        (replace(GOOD, results=["ERROR"]), "result of record 0", "ERROR"),
        (replace(GOOD, results=[]), "result of record 0", "nothing"),
        (replace(GOOD, results=[(0, 1)]), "result of record 0", "(0, 1)"),
        (replace(GOOD, unsupported="no"), "unsupported", "no"),
        (replace(GOOD, misplaced=["lost"]), "misplaced 0", "lost"),
        (replace(GOOD, log={0: [logged()._replace(codec="gzip")]}), "log of partition 0: codec", "['gzip']"),
        (replace(GOOD, log={0: [logged()._replace(sequence=3)]}), "log of partition 0: sequence", "[3]"),
        (replace(GOOD, log={0: [logged(value=None)]}), "log of partition 0: value", "[None]"),
        (replace(GOOD, log={0: [logged(timestamp_ms=9)]}), "log of partition 0: timestamp", "[9]"),
        (replace(GOOD, log={0: [logged(4)]}), "log of partition 0: offset", "[4]"),
    ],
)
def test_each_thing_that_differs_is_told(changed: JobReport, where: str, ours: str) -> None:
    [found] = compare(report(job=GOOD), report(job=changed))
    assert (found.client, found.job, found.where, found.ours, found.reason) == ("client", "job", where, ours, None)


def test_a_record_more_in_the_log_is_told() -> None:
    more = replace(GOOD, log={0: [logged(), logged(1)]})
    assert "log of partition 0: offset" in {each.where for each in compare(report(job=GOOD), report(job=more))}


def test_the_time_of_the_brokers_clock_is_not_compared_but_whose_it_is() -> None:
    logs = [replace(GOOD, log={0: [logged(timestamp_ms=ms)._replace(broker_time=True)]}) for ms in (1, 2)]
    assert compare(report(job=logs[0]), report(job=logs[1])) == []
    [found] = compare(report(job=logs[0]), report(job=GOOD))
    assert found.where == "log of partition 0: timestamp"


def test_a_client_that_runs_on_one_side_only_is_different() -> None:
    not_run = {"client": ClientReport("client", not_run="`go` is not installed")}
    assert compare(not_run, not_run) == []
    assert "not_run" in {each.where for each in compare(report(job=GOOD), not_run)}
    assert compare(report(job=GOOD), {}) != []


def test_a_broken_program_is_never_the_same_even_if_it_broke_on_both_sides() -> None:
    broken = {"client": ClientReport("client", "1.0", broken="it ended")}
    for kafka, ours in ((report(), broken), (broken, report()), (broken, broken)):
        assert [(each.where, each.reason) for each in compare(kafka, ours)] == [("broken", None)]
        assert [row["outcome"] for row in rows(kafka, ours)] == ["different"]


def test_a_job_that_only_one_side_reports_is_different() -> None:
    assert compare(report(job=GOOD), report()) == [Difference("client", "job", "report", "a report", "nothing")]


def test_what_is_explained_is_told_with_its_reason_and_only_that() -> None:
    explained = [Rule("because", "*: codec", case="client/j*", holds=lambda kafka, ours: ours == ["gzip"])]
    changed = replace(GOOD, log={0: [logged()._replace(codec="gzip", sequence=1)]})
    found = compare(report(job=GOOD), report(job=changed), explained)
    assert {each.where: each.reason for each in found} == {
        "log of partition 0: codec": "because",
        "log of partition 0: sequence": None,
    }
    lz4 = replace(GOOD, log={0: [logged()._replace(codec="lz4")]})
    assert [each.reason for each in compare(report(job=GOOD), report(job=lz4), explained)] == [None, None]


def test_a_rule_for_nothing_is_told_if_the_client_was_run() -> None:
    explained = [Rule("because", "*: codec", case="client/j*")]
    [found] = compare(report(job=GOOD), report(job=GOOD), explained)
    assert (found.where, found.kafka, found.reason) == ("*: codec", "is no longer different", None)
    assert compare(report(), report(), explained) == []


def test_rows_say_of_each_job_what_came_of_it() -> None:
    lz4 = replace(GOOD, log={0: [logged()._replace(codec="lz4")]})
    unsupported = JobReport("no such thing", [], {}, [])
    kafka = report("librdkafka", a=GOOD, b=GOOD, c=unsupported, **{"x-lz4": lz4})
    ours = report("librdkafka", a=GOOD, b=replace(GOOD, results=["E"]), c=unsupported, **{"x-lz4": GOOD})
    kafka["franz-go"] = ours["franz-go"] = ClientReport("franz-go", not_run="`go` is not installed")
    found = {(row["client"], row["job"]): (row["outcome"], row["why"]) for row in rows(kafka, ours)}
    assert found.pop(("librdkafka", "x-lz4"))[0] == "explained"
    assert found == {
        ("librdkafka", "a"): ("same", ""),
        ("librdkafka", "b"): ("different", "result of record 0: Kafka (0, 0), ours E"),
        ("librdkafka", "c"): ("unsupported", "no such thing"),
        ("franz-go", ""): ("not run", "`go` is not installed"),
    }


# builds


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "sources" / "folder"
    folder.mkdir(parents=True)
    (folder / "program").write_text("1")
    monkeypatch.setattr(client_builds, "SOURCES", tmp_path / "sources")
    return folder


APPEND = "open('built', 'a').write('x')"


def test_a_folder_is_built_in_the_cache_once_for_each_state_of_its_files(sources: Path, tmp_path: Path) -> None:
    folder = Folder("folder", (), ((sys.executable, "-c", APPEND),))
    for _ in range(2):
        built = build(folder, tmp_path / "cache")
    assert (built / "program").read_text() == "1"
    assert (built / "built").read_text() == "x"
    (sources / "program").write_text("2")
    build(folder, tmp_path / "cache")
    assert (built / "program").read_text() == "2"
    assert (built / "built").read_text() == "xx"
    assert [path.name for path in sources.iterdir()] == ["program"]


def test_a_missing_tool_is_a_reason_not_to_run(sources: Path, tmp_path: Path) -> None:
    with pytest.raises(NotRun, match=r"^`no-such-tool` is not installed$"):
        build(Folder("folder", ("no-such-tool",), ()), tmp_path / "cache")


def test_a_build_that_fails_is_a_reason_not_to_run_and_is_tried_again(sources: Path, tmp_path: Path) -> None:
    code = "import sys; sys.exit('going\\nerror: the registry cannot be reached')"
    for _ in range(2):
        with pytest.raises(NotRun, match="failed: error: the registry cannot be reached"):
            build(Folder("folder", (), ((sys.executable, "-c", code),)), tmp_path / "cache")


def test_every_folder_of_programs_belongs_to_a_client() -> None:
    folders = {path.name for path in client_builds.SOURCES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {client.folder.name for client in CLIENTS}


# programs


def program(code: str, limit_s: float = 30) -> ClientProcess:
    return ClientProcess([sys.executable, "-c", code], Path.cwd(), {"jobs": []}, limit_s)


def test_a_program_pauses_goes_on_and_reports() -> None:
    report = '{"version": "1", "jobs": []}'
    with program(f"input(); print('paused', flush=True); input(); print('''{report}''')") as process:
        assert process.await_pause()
        process.go_on()
        assert process.report() == {"version": "1", "jobs": []}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; input(); sys.exit('a\\nno broker')", "it ended with status 1: no broker"),
        ("input()", "it ended with status 0"),
        ("input(); print('hello')", "instead of its report it said 'hello'"),
        ("input(); print('[]')", "instead of its report it said '\\[\\]'"),
    ],
)
def test_a_program_without_a_report_is_broken(code: str, said: str) -> None:
    with program(code) as process, pytest.raises(Broken, match=f"^{said}$"):
        process.report()


def test_a_program_that_does_not_pause_is_broken() -> None:
    with program("input(); print('{}')") as process, pytest.raises(Broken, match=r"instead of pausing it said '\{\}'"):
        process.await_pause()


def test_a_program_that_hangs_is_killed() -> None:
    hanging = program("import time; time.sleep(60)", limit_s=0.2)
    with hanging as process, pytest.raises(Broken, match=r"^it was killed after 0\.2 s$"):
        process.report()


# everything together, with the clients that the tests have anyway


class Ours:
    """A target as `run_clients` wants it."""

    def __init__(self, kafka: FakeCluster, *, freezes: bool = True) -> None:
        self._kafka = kafka
        self._freezes = freezes
        self.bootstrap_servers = kafka.bootstrap_servers

    def create_topics(self, topics: Sequence[Topic], /) -> None:
        for topic in topics:
            self._kafka.create_topic(topic.name, topic.partitions, topic.replicas, topic.configs)
            for partition in range(topic.partitions if topic.replicas > 1 else 0):
                self._kafka.move_leader(topic.name, partition, 1)

    def freeze(self, broker: int, /) -> None:
        if self._freezes:
            self._kafka.followers.freeze(broker=broker)

    def thaw(self, broker: int, /) -> None:
        self._kafka.followers.resume(broker=broker)


def python(module: str) -> Client:
    command = (sys.executable, "-m", f"conformance.clients.python.{module}")
    return Client(module, Folder("python", (), ()), command)


def run(jobs: list[str], clients: list[Client], tmp_path: Path, *, freezes: bool = True) -> dict[str, ClientReport]:
    config = {"auto.create.topics.enable": False, "auto.leader.rebalance.enable": False}
    with FakeCluster(brokers=3, config=config) as kafka:
        chosen = [replace(job, timeout_ms=TIMEOUT_MS) for job in JOBS if job.name in jobs]
        assert len(chosen) == len(jobs)
        return run_clients(Ours(kafka, freezes=freezes), tmp_path, clients=clients, jobs=chosen)


@pytest.mark.clients
def test_real_programs_are_run_and_their_logs_read(tmp_path: Path) -> None:
    jobs = ["idempotent-gzip", "acks-0-none", "too-large", "frozen", "thawed-idempotent"]
    clients = [python("confluent_kafka_client"), python("aiokafka_client")]
    missing = Client("missing", Folder("go", ("no-such-tool",), ()), ())
    found = run(jobs, [*clients, missing], tmp_path)
    assert found["missing"] == ClientReport("missing", not_run="`no-such-tool` is not installed")

    of = found["confluent_kafka_client"].jobs
    assert found["confluent_kafka_client"].broken is None
    assert [len(log) for log in of["acks-0-none"].log.values()] == [10, 10]
    good = of["idempotent-gzip"]
    assert good.results == [(i % 2, i // 2) for i in range(20)]
    assert good.misplaced == []
    for log in good.log.values():
        assert [(each.offset, each.sequence, each.codec) for each in log] == [(i, i, "gzip") for i in range(10)]
    assert "MSG_SIZE_TOO_LARGE" in of["too-large"].results
    assert of["frozen"].results == [(0, 0), "REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT"]
    assert len(of["frozen"].log[0]) == 3  # what timed out is in the log
    assert of["thawed-idempotent"].results == [(0, 0), (0, 1), (0, 2)]
    assert len(of["thawed-idempotent"].log[0]) == 3  # it was retried, and is there once
    assert found["aiokafka_client"].jobs["frozen"].results[1:] == ["RequestTimedOutError"] * 2


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ([], "it told of 0 of 20 records of the job acks-1-none"),
        (
            [{"name": "acks-1-none", "results": [{"partition": 0, "offset": 0}]}],
            "it told of 1 of 20 records of the job acks-1-none",
        ),
    ],
)
def test_a_program_that_leaves_something_out_is_broken(jobs: list[object], said: str, tmp_path: Path) -> None:
    code = f"input(); print({json.dumps(json.dumps({'version': '1', 'jobs': jobs}))})"
    client = Client("silent", Folder("python", (), ()), (sys.executable, "-c", code))
    assert run(["acks-1-none"], [client], tmp_path)["silent"].broken == said


@pytest.mark.clients
def test_a_broker_that_does_not_wait_for_its_followers_is_found_out(tmp_path: Path) -> None:
    clients = [python("confluent_kafka_client")]
    honest, hasty = (run(["frozen"], clients, tmp_path, freezes=freezes) for freezes in (True, False))
    assert [(each.job, each.where, each.kafka, each.ours) for each in compare(honest, hasty, ())] == [
        ("frozen", "result of record 1", "REQUEST_TIMED_OUT", "(0, 1)"),
        ("frozen", "result of record 2", "REQUEST_TIMED_OUT", "(0, 2)"),
    ]
