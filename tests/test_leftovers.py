"""The check for what tests leave behind finds a thread, a process, a socket and a file, and lets late ones end."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.leftovers import FILES, Leftovers, described, untracked
from support.watchdog import LIMIT_S, join

SHORT_S = 0.05
on_linux = pytest.mark.skipif(not FILES.exists(), reason="only Linux tells")


def test_a_thread_is_found() -> None:
    check, end = Leftovers(SHORT_S), threading.Event()
    thread = threading.Thread(target=end.wait, name="left", daemon=True)
    thread.start()
    leftovers = check.leftovers()
    end.set()
    join(thread)

    assert [described(thing) for thing in leftovers] == ["thread left"]
    assert check.leftovers() == set()


@on_linux
def test_a_socket_is_found() -> None:
    check = Leftovers(SHORT_S)
    with socket.create_server(("127.0.0.1", 0)) as left:
        (thing,) = check.leftovers()
        description = described(thing)
        address = left.getsockname()

    assert description.endswith(f"{address} to nobody")
    assert check.leftovers() == set()


@on_linux
@pytest.mark.parametrize("is_refused", [False, True])
def test_an_unclosed_socket_is_told_unless_its_connection_was_refused(
    is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyproject.toml says why."""
    warnings_: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: warnings_.append(unraisable.exc_type))
    with socket.socket() as bound:  # and does not listen
        bound.bind(("127.0.0.1", 0))
        left = socket.socket()
        if is_refused:
            assert left.connect_ex(bound.getsockname()) == errno.ECONNREFUSED
        else:
            left.bind(("127.0.0.1", 0))
        del left
    assert warnings_ == ([] if is_refused else [ResourceWarning])


@on_linux
def test_a_process_is_found_until_it_is_waited_for() -> None:
    check = Leftovers(SHORT_S)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (running,) = check.leftovers()
        description = described(running)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        (ended,) = check.leftovers()
        told_again = described(ended)

    assert description.startswith(f"process {process.pid}: ")
    assert description.endswith("-c input()")
    assert told_again == f"process {process.pid}: it has ended, and was not waited for"
    assert check.leftovers() == set()


def test_what_is_about_to_end_has_the_time_to() -> None:
    check, end = Leftovers(), threading.Event()
    thread = threading.Thread(target=end.wait, daemon=True)
    thread.start()
    ender = threading.Timer(SHORT_S, end.set)
    ender.daemon = True
    ender.start()

    assert check.leftovers() == set()


def test_a_file_in_the_checkout_is_found_and_those_of_tools_are_not(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    before = untracked(tmp_path)
    (tmp_path / "left.txt").touch()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.pyc").touch()

    assert untracked(tmp_path) - before == {"left.txt"}


def test_a_folder_without_git_has_no_files_to_compare(tmp_path: Path) -> None:
    assert untracked(tmp_path / "none") == set()


CONFTEST = """
from support.leftovers import Leftovers

def pytest_collection_finish(session):
    session.config.pluginmanager.register(Leftovers(0.05))
"""

TEST = """
import threading
import pytest

END = threading.Event()

def begin(name):
    thread = threading.Thread(target=END.wait, name=name, daemon=True)
    thread.start()
    return thread

@pytest.fixture(scope="module")
def kept():
    thread = begin("of a module")
    yield
    END.set()
    thread.join()
    END.clear()

def test_uses(kept):
    pass

def test_leaves(kept):
    begin("of a test")

def test_is_not_blamed_for_the_one_before(kept):
    pass
"""


def test_a_fixture_of_a_module_keeps_what_it_made_and_a_test_does_not(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TEST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert "3 passed, 1 error" in done.stdout
    assert "ERROR at teardown of test_leaves" in done.stdout
    assert "left behind: thread of a test" in done.stdout
