from __future__ import annotations

import pytest

from fakebroker_load.limits import OTHER_FILES, TooFewFiles, allow_connections

resource = pytest.importorskip("resource")


def limits(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> list[tuple[int, int]]:
    """Pretend these limits; the list gets the new ones."""
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, pair: made.append(pair))
    return made


def test_a_limit_that_is_high_enough_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = limits(monkeypatch, 100 + OTHER_FILES, 100 + OTHER_FILES)
    allow_connections(100)
    assert made == []


@pytest.mark.parametrize("hard", [4_096, resource.RLIM_INFINITY])
def test_the_soft_limit_is_raised_as_far_as_needed(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    made = limits(monkeypatch, 256, hard)
    allow_connections(600)
    assert made == [(600 + OTHER_FILES, hard)]


def test_a_hard_limit_that_is_too_low_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    made = limits(monkeypatch, 256, 512)
    with pytest.raises(TooFewFiles, match=r"^600 connections need 856 open files, and the hard limit here is 512"):
        allow_connections(600)
    assert made == []
