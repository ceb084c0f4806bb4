"""Which of the tests that take long a quick run draws."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.one_in import code_digest, is_drawn

pytest_plugins = ("pytester",)

NAMES = [f"tests/some/test_{number}.py::test_it[{number}]" for number in range(2_000)]


@pytest.mark.parametrize("one_in", [1, 2, 4, 10])
def test_about_so_many_are_drawn(one_in: int) -> None:
    drawn = sum(is_drawn(name, 7, one_in) for name in NAMES)
    assert 0.8 * len(NAMES) / one_in <= drawn <= 1.2 * len(NAMES) / one_in


def test_each_comes_up_with_some_change_of_the_code() -> None:
    drawn = {name for salt in range(60) for name in NAMES if is_drawn(name, salt, 4)}
    assert drawn == set(NAMES)


def test_the_same_code_draws_the_same_and_a_change_draws_others(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("1\n")
    first = code_digest(tmp_path)
    assert code_digest(tmp_path) == first
    (tmp_path / "tests" / "test_a.py").write_text("2\n")
    changed = code_digest(tmp_path)
    (tmp_path / "tests" / "test_a.py").rename(tmp_path / "tests" / "test_b.py")
    assert len({first, changed, code_digest(tmp_path)}) == 3


def test_only_what_takes_long_is_left_out(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKEBROKER_ONE_IN", "1000000")  # none of a few is drawn
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")
    pytester.makeini("[pytest]\nmarkers =\n slow: s\n spark: s\n clients: s\n interpreted: s\n")
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(
        """
        import pytest

        def test_quick(): pass
        @pytest.mark.slow
        def test_slow(): pass
        @pytest.mark.clients
        @pytest.mark.parametrize("n", [1, 2])
        def test_client(n): pass
        """
    )
    found = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    found.assert_outcomes(passed=1, deselected=3)
    assert "one in 1000000 of the tests that take long" in found.stdout.str()
