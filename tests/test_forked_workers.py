"""`pytest --workers N` reports what a single process does, whatever happens to a worker (support/workers.py)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from support.forked import Forks
from support.watchdog import LIMIT_S, wait_until

TESTS = Path(__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
OPTIONS = ("-m", "pytest", "-p", "support.workers")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path, forks: Forks) -> Run:
    """Return a function that runs files of tests, of which it is given the text, with two workers."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n spark: s\n one_process: o\n")

    def run(files: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text("import os, pathlib, signal\nimport pytest\n" + text)
        return forks.run(*OPTIONS, "--workers", "2", *options, cwd=tmp_path, env=ENVIRONMENT)

    return run


PASSES = "@pytest.mark.parametrize('n', range(8))\ndef test_passes(n): pass\n"
PRINTS_ITS_PROCESS = """
@pytest.mark.parametrize('n', range(8))
def test_it(n):
    pathlib.Path(f'{os.getpid()}-{__name__}-{n}').touch()
"""


def test_tests_of_spark_and_of_some_files_go_to_one_process_and_others_to_all(run: Run, tmp_path: Path) -> None:
    marked = {"a": "spark", "b": "spark", "d": "one_process", "e": "one_process"}
    files = {f"test_{name}": f"pytestmark = pytest.mark.{marker}\n" for name, marker in marked.items()}
    done = run({name: text + PRINTS_ITS_PROCESS for name, text in (files | {"test_c": ""}).items()})

    assert "40 passed" in done.stdout, done.stdout + done.stderr
    ran = [path.name.split("-") for path in tmp_path.glob("*-test_*")]
    assert len(ran) == 40
    for together in (("test_a", "test_b"), ("test_d",), ("test_e",)):
        assert len({process for process, file, _ in ran if file in together}) == 1
    assert len({process for process, _, _ in ran}) == 2


def test_one_worker_runs_them_in_their_order(run: Run) -> None:
    wanted = ["[7]", "[5]", "[6]", "[4]", "[3]", "[2]", "[1]", "[0]"]
    order = f"def pytest_collection_modifyitems(items): items.sort(key=lambda item: {wanted}.index(item.name[-3:]))\n"
    done = run({"conftest": order, "test_it": PASSES}, "--workers", "1", "-v")
    ran = [line.split()[0] for line in done.stdout.splitlines() if " PASSED" in line]
    assert [name.removeprefix("test_it.py::test_passes") for name in ran] == wanted


DEATHS = {
    "exits": ("os._exit(3)", "status 3"),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", "signal SIGKILL"),
    "hangs": ("signal.pause()  # for ever", "status 1"),
}


@pytest.mark.parametrize(
    "marker", ["", "pytestmark = pytest.mark.spark\n"], ids=["alone", "among tests of one process"]
)
@pytest.mark.parametrize(("death", "told"), DEATHS.values(), ids=list(DEATHS))
def test_a_worker_that_dies_fails_its_test_and_all_others_run(run: Run, death: str, told: str, marker: str) -> None:
    limit = ("-p", "support.hangs", "-o", "hang_limit_s=1") if "pause" in death else ()
    done = run({"test_it": f"{marker}{PASSES}def test_dies(): {death}\n{PASSES.replace('passes', 'too')}"}, *limit)

    assert done.returncode == 1
    assert "1 failed, 16 passed" in done.stdout, done.stdout + done.stderr
    assert f"ended with {told} while it ran test_it.py::test_dies" in done.stdout
    assert ("Timeout (0:00:01)!" in done.stderr) is bool(limit)
    assert ("in test_dies" in done.stderr) is bool(limit)


FAILS = """
import warnings

@pytest.fixture
def broken():
    raise ValueError("while it is set up")

@pytest.fixture
def breaks():
    yield
    raise ValueError("while it is torn down")

def test_fails(tmp_path):
    print("this was printed")
    os.system("echo this was echoed")
    assert 1 + 1 == 3

def test_warns(): warnings.warn("this was warned of")
def test_set_up(broken): pass
def test_torn_down(breaks): pass
def test_skipped(): pytest.skip("this was the reason")

@pytest.mark.xfail
def test_expected(): assert False
"""


def test_what_happened_is_told(run: Run, tmp_path: Path) -> None:
    done = run({"test_it": FAILS}, "-rs", "--junit-xml=told.xml", "-v")

    assert done.returncode == 1
    assert "1 failed, 2 passed, 1 skipped, 1 xfailed, 1 warning, 2 errors" in done.stdout, done.stdout + done.stderr
    expected = ["assert (1 + 1) == 3", "this was printed\nthis was echoed", "this was warned of", "this was the reason"]
    expected += ["ValueError: while it is set up", "ValueError: while it is torn down"]
    expected += ["test_it.py::test_fails FAILED", "ERROR at teardown of test_torn_down", "[100%]"]
    assert [text for text in expected if text not in done.stdout] == []
    assert done.stderr == ""
    (suite,) = ElementTree.parse(tmp_path / "told.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["6", "1", "2", "2"]


@pytest.mark.parametrize(
    ("text", "options", "status", "told"),
    [
        pytest.param(PASSES, (), 0, "8 passed", id="passed"),
        pytest.param(PASSES, ("-k", "3 or 4"), 0, "2 passed, 6 deselected", id="some are chosen"),
        pytest.param(PASSES, ("-k", "none"), 5, "8 deselected", id="none are chosen"),
        pytest.param(PASSES, ("--collect-only", "-q"), 0, "8 tests collected", id="only collected"),
        pytest.param("1 / 0\n", (), 2, "ZeroDivisionError", id="not collected"),
        pytest.param("def test_it(): pytest.exit('enough')\n", (), 1, "gw0 ended with status 1", id="left"),
    ],
)
def test_the_exit_status_is_that_of_one_process(
    run: Run, text: str, options: tuple[str, ...], status: int, told: str
) -> None:
    done = run({"test_it": text}, *options)
    assert (done.returncode, told in done.stdout) == (status, True), done.stdout + done.stderr


def test_it_stops_after_the_first_failure_and_runs_the_last_failures(run: Run, tmp_path: Path) -> None:
    fails = "def test_fails(): assert pathlib.Path('mended').exists()\n"
    files = {"test_it": f"{fails}{PASSES.replace('8', '1000')}"}

    done = run(files, "-x")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    assert "1 failed" in done.stdout
    assert "1001 passed" not in done.stdout

    (tmp_path / "mended").touch()
    again = run(files, "--lf")
    assert (again.returncode, "1 passed" in again.stdout) == (0, True), again.stdout


LIVES = """
import atexit

def told(what):
    with open(f"{os.getpid()}.told", "a") as file:
        print(what, file=file)

@pytest.fixture(scope="session")
def whole():
    atexit.register(told, "exit")
    told("session begins")
    yield
    told("session ends")

@pytest.fixture(scope="module")
def part(whole):
    told("module begins")
    yield
    told("module ends")

@pytest.mark.parametrize("n", range(8))
def test_it(part, n, tmp_path):
    (tmp_path / "own").mkdir()
    told("test")
"""


def test_each_worker_sets_up_fixtures_once_and_tears_them_down(run: Run, tmp_path: Path) -> None:
    done = run({"test_it": LIVES})
    assert "8 passed" in done.stdout, done.stdout + done.stderr
    lines_of = [path.read_text().splitlines() for path in tmp_path.glob("*.told")]
    assert sum(lines.count("test") for lines in lines_of) == 8
    for lines in lines_of:
        tests = ["test"] * lines.count("test")
        assert lines == ["session begins", "module begins", *tests, "module ends", "session ends", "exit"]


def test_what_workers_count_is_added_up(run: Run) -> None:
    counts = "from collections import Counter\nfrom support import workers\nCOUNTS = Counter()\n"
    conftest = f"{counts}workers.SUMMED.append(COUNTS)\ndef pytest_unconfigure(): print('counted', COUNTS['tests'])\n"
    tests = PASSES.replace("pass\n", "__import__('conftest').COUNTS.update(tests=n)\n")
    done = run({"conftest": conftest, "test_it": tests})
    assert "counted 28" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(("ended_by", "status"), [(signal.SIGINT, 2), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_end_with_the_main_process(ended_by: signal.Signals, status: int, tmp_path: Path) -> None:
    text = "import os, pathlib, time\ndef test_waits():\n    pathlib.Path(f'{os.getpid()}.pid').touch()\n"
    text += "    while not pathlib.Path('may_end').exists(): time.sleep(0.01)\n"
    (tmp_path / "test_it.py").write_text(text + text[text.index("def") :].replace("waits", "too"))
    command = [sys.executable, *OPTIONS, "--workers", "2", "-p", "no:cacheprovider"]
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.DEVNULL) as main:
        wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2, "both workers run a test")
        workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
        main.send_signal(ended_by)
        (tmp_path / "may_end").touch()
        assert main.wait(LIMIT_S) == status
    wait_until(lambda: not any(map(_is_running, workers)), "the end of the workers")


def test_programs_of_tests_can_be_interrupted() -> None:
    """A script that runs the tests in the background, as a CI may, has SIGINT ignored."""
    look = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", look], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "True\n"


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
