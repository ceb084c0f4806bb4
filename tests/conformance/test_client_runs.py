"""The client programs as processes: how they are built, what is said of what cannot be run, and all of it together."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.clients import builds
from conformance.clients.builds import CLIENTS, Client, Folder, NotRun, build
from conformance.clients.plan import JOBS
from conformance.clients.process import Broken, ClientProcess
from conformance.clients.reports import ClientReport, compare
from conformance.clients.runs import run_clients
from conformance.scenario import Topic
from fakebroker import FakeCluster

TIMEOUT_MS = 1_000  # also of what is sent before the pause, on a busy machine


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "sources" / "folder"
    folder.mkdir(parents=True)
    (folder / "program").write_text("1")
    monkeypatch.setattr(builds, "SOURCES", tmp_path / "sources")
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
    folders = {path.name for path in builds.SOURCES.iterdir() if path.is_dir()} - {"__pycache__", "exactly_once"}
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

    def catch_up(self, broker: int, /) -> None:
        pass


def python(module: str) -> Client:
    command = (sys.executable, "-m", f"conformance.clients.python.{module}")
    return Client(module, Folder("python", (), ()), command)


def run(jobs: list[str], clients: list[Client], tmp_path: Path, *, freezes: bool = True) -> dict[str, ClientReport]:
    config = {"auto.create.topics.enable": False, "auto.leader.rebalance.enable": False}
    with FakeCluster(brokers=3, config=config) as kafka:
        chosen = [replace(job, timeout_ms=TIMEOUT_MS) for job in JOBS if job.name in jobs]
        assert len(chosen) == len(jobs)
        return run_clients(Ours(kafka, freezes=freezes), tmp_path, clients=clients, jobs=chosen, plays=())


@pytest.mark.slow
@pytest.mark.clients
def test_real_programs_are_run_and_their_logs_read(tmp_path: Path) -> None:
    jobs = ["idempotent-gzip", "acks-0-none", "too-large", "frozen", "thawed-idempotent"]
    clients = [python("confluent_kafka_client"), python("aiokafka_client")]
    missing = Client("missing", Folder("go", ("no-such-tool",), ()), ())
    reports = run(jobs, [*clients, missing], tmp_path)
    assert reports["missing"] == ClientReport("missing", not_run="`no-such-tool` is not installed")

    of = reports["confluent_kafka_client"].jobs
    assert reports["confluent_kafka_client"].broken is None
    assert [len(log) for log in of["acks-0-none"].log.values()] == [10, 10]
    good = of["idempotent-gzip"]
    assert good.results == [(i % 2, i // 2) for i in range(20)]
    assert good.misplaced == []
    for log in good.log.values():
        assert [(record.offset, record.sequence, record.codec) for record in log] == [(i, i, "gzip") for i in range(10)]
    assert "MSG_SIZE_TOO_LARGE" in of["too-large"].results
    assert of["frozen"].results == [(0, 0), "REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT"]
    assert len(of["frozen"].log[0]) == 3  # what timed out is in the log
    assert of["thawed-idempotent"].results == [(0, 0), (0, 1), (0, 2)]
    assert len(of["thawed-idempotent"].log[0]) == 3  # it was retried, and is there once
    assert reports["aiokafka_client"].jobs["frozen"].results[1:] == ["RequestTimedOutError"] * 2


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
    assert [
        (difference.job, difference.where, difference.kafka, difference.ours)
        for difference in compare(honest, hasty, ())
    ] == [
        ("frozen", "result of record 1", "REQUEST_TIMED_OUT", "(0, 1)"),
        ("frozen", "result of record 2", "REQUEST_TIMED_OUT", "(0, 2)"),
    ]
