"""`python -m release.wheels`: which interpreters are chosen, and what is said of those that are missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from release import wheels
from release.checking import Failed, run
from release.interpreters import Interpreter, Selection, candidates, probe, select
from release.wheels import missing_line, status

BROKEN = "/shims/python3.13"
FOUND = {
    interpreter.path: interpreter
    for interpreter in (
        Interpreter("/usr/bin/python3.11", "3.11.2", True, has_headers=False, compiler="gcc"),
        Interpreter("/pyenv/3.11.7", "3.11.7", True, has_headers=True, compiler="gcc"),
        Interpreter("/pyenv/3.12.1", "3.12.1", True, has_headers=True, compiler="gcc"),
        Interpreter("/free-threaded", "3.14.0", False, has_headers=True, compiler="gcc"),
        Interpreter("/links/to/3.11", "3.11.9", True, has_headers=True, compiler="gcc"),
    )
}
PLACES = {
    "3.11": ["/usr/bin/python3.11", "/pyenv/3.11.7"],
    "3.12": ["/links/to/3.11", "/pyenv/3.12.1"],
    "3.13": [BROKEN],
    "3.14": ["/free-threaded"],
}


def places(version: str) -> Iterator[str]:
    return iter(PLACES[version])


def chosen(*asked: str, has_to_compile: bool = True) -> tuple[list[str], list[str]]:
    selection = select(asked, has_to_compile, places, FOUND.get)
    return [interpreter.path for interpreter in selection.chosen], selection.missing


def test_the_first_interpreter_that_answers_and_can_compile_is_chosen() -> None:
    assert chosen("3.11", "3.12") == (["/pyenv/3.11.7", "/pyenv/3.12.1"], [])
    assert chosen("3.11", has_to_compile=False) == (["/usr/bin/python3.11"], [])


def test_a_version_is_missing_without_an_interpreter_that_fits() -> None:
    assert chosen("3.13", "3.14", "3.12") == (["/pyenv/3.12.1"], ["3.13", "3.14"])


def test_an_interpreter_may_be_given_by_its_path() -> None:
    assert chosen("/links/to/3.11", "/nowhere", "3.11") == (["/links/to/3.11", "/pyenv/3.11.7"], ["/nowhere"])
    assert chosen("/pyenv/3.11.7", "3.11") == (["/pyenv/3.11.7"], [])


def test_interpreters_are_looked_for_on_the_path_and_among_those_of_pyenv(tmp_path: Path) -> None:
    for place in ("bin/python3.12", "pyenv/versions/3.12.1/bin/python", "pyenv/versions/3.12.10/bin/python"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).touch(mode=0o755)
    environment = {"PATH": os.pathsep.join(["", str(tmp_path / "bin")]), "PYENV_ROOT": str(tmp_path / "pyenv")}

    assert [Path(candidate).relative_to(tmp_path).as_posix() for candidate in candidates("3.12", environment)] == [
        "bin/python3.12",
        "pyenv/versions/3.12.10/bin/python",
        "pyenv/versions/3.12.1/bin/python",
    ]
    assert list(candidates("3.11", environment)) == []


def test_an_interpreter_is_asked_what_it_is(tmp_path: Path) -> None:
    interpreter = probe(sys.executable)
    assert interpreter is not None
    assert (interpreter.version, interpreter.minor) == (
        ".".join(map(str, sys.version_info[:3])),
        ".".join(map(str, sys.version_info[:2])),
    )
    assert probe(str(tmp_path / "nothing")) is None
    assert probe("/bin/false") is None


def test_what_is_missing_is_one_line_that_says_where_it_comes_from() -> None:
    line = missing_line(["3.13", "3.14"])
    assert line.startswith("missing: CPython 3.13, 3.14 ")
    assert "pyenv install 3.13 3.14" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("found", "missing", "is_asked", "failed", "expected"),
    [
        (["/pyenv/3.12.1"], [], False, 0, 0),
        (["/pyenv/3.12.1"], ["3.14"], False, 0, 0),
        (["/pyenv/3.12.1"], ["3.14"], True, 0, 1),
        (["/pyenv/3.12.1"], [], False, 1, 1),
        ([], ["3.11", "3.12", "3.13", "3.14"], False, 0, 1),
    ],
)
def test_the_exit_status(found: list[str], missing: list[str], is_asked: bool, failed: int, expected: int) -> None:
    assert status(Selection([FOUND[path] for path in found], missing), is_asked, failed) == expected


def test_a_wheel_that_fails_is_told_and_the_next_one_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def build(interpreter: Interpreter, folder: Path, how: str) -> Path:
        assert how == "all"
        if interpreter.minor == "3.11":
            raise Failed("no compiler")
        wheel = folder / f"fakebroker-{interpreter.minor}.whl"
        wheel.touch()
        return wheel

    monkeypatch.delenv("FAKEBROKER_COMPILE", raising=False)
    monkeypatch.setattr(
        wheels, "select", lambda versions, has_to_compile: select(versions, has_to_compile, places, FOUND.get)
    )
    monkeypatch.setattr(wheels, "build", build)
    monkeypatch.setattr(wheels, "check", lambda wheel, python, is_compiled: f"checked with {python}, {is_compiled}")

    assert wheels.main(["--to", str(tmp_path / "dist")]) == 1
    assert [path.name for path in (tmp_path / "dist").iterdir()] == ["fakebroker-3.12.whl"]
    output = capsys.readouterr().out
    assert "missing: CPython 3.13, 3.14" in output
    assert "3.11.7: FAILED: no compiler\n" in output
    assert "checked with /pyenv/3.12.1, True\n" in output


def test_a_command_that_fails_is_told_with_its_last_lines() -> None:
    program = "print('first'); print('\\n' * 20); raise SystemExit('last words')"
    with pytest.raises(Failed, match=r"(?s)ended with status 1:.*last words") as raised:
        run([sys.executable, "-c", program], dict(os.environ))
    assert "first" not in str(raised.value).partition("status 1:")[2]
