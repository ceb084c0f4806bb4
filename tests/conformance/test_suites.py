"""The runner of the clients' own suites (conformance/suites/): what it makes of what a test did."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.request import urlopen

import pytest
from support.watchdog import LIMIT_S, wait_until

from conformance.suites import __main__ as program
from conformance.suites import page, sides
from conformance.suites.go import GoSuite
from conformance.suites.kfake import kfake
from conformance.suites.reasons import reason
from conformance.suites.results import Result, Results, only_there
from conformance.suites.sides import fakebroker
from conformance.suites.suite import FAILED, LATE, PASSED, SKIPPED, NotRun, Outcome, Side, Suite, run_bounded, tool
from conformance.suites.table import SUITES
from conformance.targets import kafka_box

SECURED = {"SSL": "a:1,b:2", "SASL_PLAINTEXT": "a:1,b:2"}
SIDE = Side("nobody", "1", [("a", 1), ("b", 2)], secured=SECURED)
TESTS = {"good": "pass", "bad": "raise SystemExit(1)", "slow": "import time; time.sleep(60)"}


class TinySuite(Suite):
    """Tests that are programs of one line. Those that `asks` names exist for it alone."""

    def __init__(self) -> None:
        super().__init__("tiny", "1", "tiny 1")

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)

    def tests(self, folder: Path) -> list[str]:
        return list(TESTS)

    def command(self, folder: Path, test: str) -> Sequence[str]:
        return [sys.executable, "-c", TESTS[test]]

    def run(self, folder: Path, test: str, side: Side) -> Outcome:
        self.limit_s = 0.2 if test == "slow" else LIMIT_S
        return super().run(folder, test, side)

    def settings(self, side: Side) -> Mapping[str, str]:
        return {"SERVERS": side.servers}

    def judge(self, status: int, output: str) -> str:
        return FAILED if status else PASSED


def test_a_test_passes_fails_or_takes_too_long(tmp_path: Path) -> None:
    suite = TinySuite()
    assert [suite.run(tmp_path, test, SIDE).what for test in TESTS] == [PASSED, FAILED, LATE]


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_whatever_a_test_starts_ends_with_it(tmp_path: Path) -> None:
    sleeping = [sys.executable, "-c", TESTS["slow"]]
    child = f"import subprocess; print(subprocess.Popen({sleeping!r}).pid)"
    status, output = run_bounded([sys.executable, "-c", child], tmp_path, os.environ, LIMIT_S)
    assert status == 0
    wait_until(lambda: has_ended(int(output)), "the end of what the test has started")


def test_a_tool_that_fails_or_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotRun, match="`no-such-tool`: No such file or directory"):
        tool(["no-such-tool"], tmp_path)
    with pytest.raises(NotRun, match="what is wrong"):
        tool([sys.executable, "-c", "raise SystemExit('what is wrong')"], tmp_path)
    with pytest.raises(NotRun, match="took more than 0 s"):
        tool([sys.executable, "-c", TESTS["slow"]], tmp_path, limit_s=0.2)
    assert tool([sys.executable, "-c", "import os; print(os.environ['A'])"], tmp_path, variables={"A": "5"}) == "5\n"


def test_results_are_there_again(tmp_path: Path) -> None:
    suite = TinySuite()
    results = Results(tmp_path, suite, "ours")
    results.keep("a/b c", Outcome(FAILED, 1.26, "said"), ["JoinGroup"])
    again = Results(tmp_path, suite, "ours")
    assert again.by_test == {"a/b c": Result(FAILED, 1.3, ("JoinGroup",))}
    assert again.log("a/b c").read_text() == "said"
    again.forget()
    assert Results(tmp_path, suite, "ours").by_test == {}


def test_what_passes_there_alone() -> None:
    ours = {"a": Result(PASSED, 0), "b": Result(FAILED, 0), "c": Result(SKIPPED, 0), "d": Result(FAILED, 0)}
    kafka = {name: Result(PASSED, 0) for name in "abce"} | {"d": Result(FAILED, 0)}
    assert only_there(ours, kafka, PASSED) == ["b", "c"]


@pytest.mark.parametrize(
    ("result", "output", "words"),
    [
        (
            Result(FAILED, 1, ("JoinGroup", "SyncGroup")),
            "error",
            "the test needs JoinGroup, SyncGroup, which the broker does not serve",
        ),
        (Result(FAILED, 1), "cannot connect to the Docker daemon", "the test needs Docker"),
        (
            Result(FAILED, 1),
            "E  Kafka broker does not support the 'EndTxnRequest' Kafka protocol.",
            "the test needs EndTxn, which the broker does not serve",
        ),
        (Result(LATE, 1), "E   assert 1 == 2\n", "the test exceeds its time limit: E   assert 1 == 2"),
        (Result(FAILED, 1), "", "failed"),
    ],
)
def test_why_it_did_not_pass(result: Result, output: str, words: str) -> None:
    assert reason(result, output) == words


def test_why_it_did_not_pass_by_its_name() -> None:
    shared = reason(Result(SKIPPED, 1), "", "kgo TestShareGroup")
    assert shared == "the test needs share groups, which fakebroker does not serve yet"
    assert reason(Result(LATE, 1), "error", "kafka-go TestConn").startswith("a deleted topic may stay in the metadata")


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_suite_is_told_where_the_brokers_are(suite: Suite) -> None:
    settings = " ".join(suite.settings(SIDE).values())
    starts_its_own = suite.name == "kafka-python-secured"
    assert suite.name == "kadm" or suite.port is not None or starts_its_own or "a:1" in settings
    assert suite.judge(1, "x\n") == FAILED
    assert suite.judge(0, "1 passed\n") == PASSED


def test_skipped_tests_are_told_apart() -> None:
    outputs = {"kgo": "=== RUN\n--- SKIP: TestX (0.00s)\nPASS\n", "kafka-python": "SKIPPED x\n1 skipped in 0.1s\n"}
    for suite in SUITES:
        if suite.name in outputs:
            assert suite.judge(0, outputs[suite.name]) == SKIPPED


def test_what_runs_tells_what_it_does_not_serve() -> None:
    """A client requests an unknown API: the side names it."""
    with fakebroker((0, 5, 7), {"num.partitions": "4"}) as running:
        assert len(running.side.bootstrap) == 3
        with socket.create_connection(running.side.bootstrap[0], timeout=LIMIT_S) as client:
            client.sendall(bytes.fromhex("0000000a03e7000000000001ffff"))
            assert client.recv(1) == b""
        assert running.refused() == ["UNKNOWN"]
        assert running.refused() == []


def test_a_suite_with_its_address_inside_finds_a_broker_there(free_port: int) -> None:
    with fakebroker((1,), {}, free_port) as running:
        assert running.side.servers == f"localhost:{free_port}"
    with pytest.raises(NotRun, match="kfake is not put on a port"), kfake((1,), {}, free_port):
        pass


def test_kafka_in_a_box_has_the_ports_that_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_box, "fetch_kafka", lambda: tmp_path)
    box = kafka_box.KafkaBox((1, 2), {}, port=9092)
    try:
        assert box.endpoints == {1: ("127.0.0.1", 9092), 2: ("127.0.0.1", 9093)}
    finally:
        box.stop()


@pytest.fixture
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_what_kfake_made_of_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = TinySuite()
    for side, what in (("ours", FAILED), ("kafka", PASSED), ("kfake", LATE)):
        Results(tmp_path, suite, side).keep("good", Outcome(what, 1.0, "an error of the test"), [])
    monkeypatch.setattr(page, "SUITES", (suite,))
    monkeypatch.setattr(page, "PAGE", tmp_path / "suites.md")
    page.write_page(tmp_path)
    assert "- tiny `good`: an error of the test. On kfake: timed out." in (tmp_path / "suites.md").read_text()


def test_a_suite_that_ran_here_alone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = TinySuite()
    for test, what in (("good", PASSED), ("bad", FAILED), ("slow", SKIPPED)):
        Results(tmp_path, suite, "ours").keep(test, Outcome(what, 1.0, "an error of the test"), [])
    monkeypatch.setattr(page, "SUITES", (suite,))
    monkeypatch.setattr(page, "PAGE", tmp_path / "suites.md")
    page.write_page(tmp_path)
    text = (tmp_path / "suites.md").read_text()
    assert "| tiny | `tiny 1` | 3 | not run | 1 | | | | 1 on fakebroker | |" in text
    assert "was not run on Apache Kafka\n\n- tiny `bad`: an error of the test." in text


def test_the_page_has_the_text_of_its_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again without any results, the page stays as it is: only rows and tests of suites come from results."""
    kept = page.PAGE.read_text()
    written = tmp_path / "suites.md"
    written.write_text(kept)
    monkeypatch.setattr(page, "PAGE", written)
    page.write_page(tmp_path)
    assert written.read_text() == kept


def test_the_page_has_the_known_reasons_of_tests() -> None:
    reasons = re.findall(
        r"^- ([\w-]+) `([^`]+)`: (.+?)\.(?: On kfake: [\w ]+\.)?$", page.PAGE.read_text(), re.MULTILINE
    )
    assert reasons
    for suite, test, words in reasons:
        known = reason(Result(FAILED, 1), "", f"{suite} {test}")
        by_output = re.fullmatch(r"the test needs (Docker|SASL|[\w ,]+, which the broker does not serve)", words)
        assert words == known or (known == FAILED and by_output), f"{suite} {test}"


def test_both_sides_are_run_and_the_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = TinySuite()
    for side, what in (("ours", FAILED), ("kafka", PASSED)):
        Results(tmp_path, suite, side).keep("good", Outcome(what, 1.0, "an error of the test"), [])
    monkeypatch.setattr(page, "SUITES", (suite,))
    monkeypatch.setattr(page, "PAGE", tmp_path / "suites.md")
    page.write_page(tmp_path)
    text = (tmp_path / "suites.md").read_text()
    assert "| tiny | `tiny 1` | 1 | 1 | 0 | 1 | 0 | 0 | 0 | |" in text
    assert "- tiny `good`: an error of the test" in text

    monkeypatch.setattr(program, "SIDES", {"ours": fakebroker, "kafka": fakebroker})
    short = program._suite(suite, tmp_path, ["ours"], "*", time.monotonic() + 60, again=False, resume=False)
    assert short == 0
    assert "3 tests; passed on fakebroker 1" in capsys.readouterr().out


def test_the_methods_of_a_go_suite_are_tests(tmp_path: Path) -> None:
    suite = GoSuite("g", "v1", "m", "m/p", lambda side: {}, methods="TestIntegration", files={"where.json": "{}"})
    sources = "func (its *IntegrationTestSuite) TestA() {\n}\nfunc (its *IntegrationTestSuite) helper() {}\nfunc TestB("
    (tmp_path / "x_test.go").write_text(sources)
    (tmp_path / "package-folder").write_text(str(tmp_path))
    (tmp_path / "suite.test").touch()
    suite.prepare(tmp_path)
    assert suite.where(tmp_path) == tmp_path
    assert (tmp_path / "where.json").read_text() == "{}"
    assert suite.tests(tmp_path) == ["TestIntegration/TestA"]
    assert suite.command(tmp_path, "TestIntegration/TestA")[-1] == "^TestIntegration$/^TestA$"
    assert suite.judge(0, "--- PASS: TestIntegration\n    --- SKIP: TestIntegration/TestA (0.0s)\n") == SKIPPED
    assert suite.judge(0, "--- PASS: TestIntegration\n    --- PASS: TestIntegration/TestA (0.0s)\n") == PASSED


def test_a_suite_behind_toxiproxy_has_its_proxies_and_its_racks() -> None:
    """Five would be on fixed ports; here they are free ones."""
    with fakebroker((1, 2), {}, racks={1: "a", 2: "b"}, is_proxied=True) as running:
        with urlopen(f"{running.side.toxiproxy}/proxies", timeout=LIMIT_S) as answer:
            proxies = json.load(answer)
        listening = [proxies[name]["listen"] for name in ("kafka1", "kafka2")]
        assert listening == [f"{host}:{port}" for host, port in running.side.bootstrap]


def test_kafka_behind_toxiproxy_has_the_same_proxies(free_port: int) -> None:
    """The brokers run already; those of a box get the proxies as advertised addresses."""
    with sides._proxies([("127.0.0.1", 1)], free_port) as url, urlopen(f"{url}/proxies", timeout=LIMIT_S) as answer:
        (proxy,) = json.load(answer).values()
    assert (proxy["name"], proxy["listen"], proxy["upstream"]) == ("kafka1", f"127.0.0.1:{free_port}", "127.0.0.1:1")


def test_some_files_of_a_package_have_the_tests(tmp_path: Path) -> None:
    suite = GoSuite("g", "v1", "m", "m/p", lambda side: {}, sources="functional_*test.go")
    (tmp_path / "functional_a_test.go").write_text("func TestA(t *testing.T) {\n}\nfunc TestMain(m *testing.M) {\n")
    (tmp_path / "functional_test.go").write_text("func TestB(t *testing.T) {\n}\nfunc helper() {\n")
    (tmp_path / "x_test.go").write_text("func TestC(t *testing.T) {\n")
    (tmp_path / "package-folder").write_text(str(tmp_path))
    assert suite.tests(tmp_path) == ["TestA", "TestB"]
