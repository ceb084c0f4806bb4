"""Commits that have passed here, and the changes since."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ci import history


class Repository:
    def __init__(self, folder: Path) -> None:
        self.root = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull}
        command = ["git", *words]
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, name: str, text: str) -> str:
        (self.root / name).write_text(text)
        self.git("add", name)
        self.git("commit", "-q", "-m", name)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_the_base_is_the_newest_ancestor_that_passed_and_not_the_commit_itself(
    repository: Repository, tmp_path: Path
) -> None:
    file = tmp_path / "cache" / "ci-green"
    repository.commit("a", "1")
    assert history.base(repository.root, file) is None
    assert history.record(repository.root, file)
    first = history.head(repository.root)
    assert history.base(repository.root, file) is None
    repository.commit("b", "1")
    repository.commit("c", "1")
    assert history.base(repository.root, file) == first
    assert history.record(repository.root, file)
    assert history.base(repository.root, file) == first
    assert history.green(file) == {first, history.head(repository.root)}


def test_a_checkout_with_uncommitted_changes_is_not_recorded(repository: Repository, tmp_path: Path) -> None:
    file = tmp_path / "ci-green"
    repository.commit("a", "1")
    (repository.root / "a").write_text("2")
    assert not history.record(repository.root, file)
    assert not file.exists()


def test_changes_are_those_of_commits_of_the_work_tree_and_new_files(repository: Repository) -> None:
    first = repository.commit("a", "1")
    repository.commit("b", "1")
    repository.commit("c", "1")
    repository.git("rm", "-q", "--cached", "b")
    (repository.root / "a").write_text("2")
    (repository.root / "new").write_text("1")
    assert history.changed_since(repository.root, first) == ["a", "b", "c", "new"]


def test_outside_of_a_repository_nothing_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert history.base(tmp_path, tmp_path / "ci-green") is None
