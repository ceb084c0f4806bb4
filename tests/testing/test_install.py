"""The check of a fresh install reads the example's output."""

from __future__ import annotations

from release.install import EXPECTED, ROOT, answered


def test_the_readme_shows_what_the_check_expects() -> None:
    assert answered((ROOT / "README.md").read_text()) == EXPECTED


def test_another_error_code_is_seen() -> None:
    text = "healthy:                    NONE                offset 0     16 ms\nfrozen:   NONE   offset -1   1 ms\n"
    assert answered(text) == [("healthy", "NONE", "0"), ("frozen", "NONE", "-1")]
