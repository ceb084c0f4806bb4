"""A mistyped argument is reported in a sentence, before anything runs."""

from __future__ import annotations

import pytest

from benchmarks.producers.__main__ import main


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--producers", "0"], "--producers: 0 is not above 0"),
        (["--brokers", "-1"], "--brokers: -1 is not above 0"),
        (["--hours", "nan"], "--hours: nan is not above 0"),
        (["--every-ms", "0"], "--every-ms: 0 is not above 0"),
        (["--journal", "/nowhere/at/all"], "there is no folder for /nowhere/at/all"),
    ],
)
def test_a_slip_is_told(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
