"""Sources of the journal: options, waits, and a check that no event is lost unnoticed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from support.controlled import Controlled

from fakebroker_load.control import ask_control
from fakebroker_load.journal import taps
from fakebroker_load.journal.lines import ConnectionClosed, LeaderChanged
from fakebroker_load.journal.taps import ControlTap, FileTap, JournalError, JournalGap

A, B, C = (b'{"event":"connection_closed","connection":%d}\n' % number for number in (1, 2, 3))


def kinds(tap: taps.Tap) -> list[str]:
    return [str(to_builtins(event)["event"]) for _, event in tap.take()]


def closed(tap: taps.Tap) -> list[tuple[int, int]]:
    return [(at, event.connection) for at, event in tap.take() if isinstance(event, ConnectionClosed)]


def add(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def test_a_file_is_read_from_its_end_on_and_by_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taps, "_READ_BYTES", 4)
    path = tmp_path / "journal"
    add(path, A, B[:5])  # the broker is in the middle of a line
    tap = FileTap(path)
    assert kinds(tap) == []
    add(path, B[5:], C[:3])
    assert closed(tap) == [(len(A), 2)]
    add(path, C[3:], b'{"event":"of tomorrow","connection":"x"}\n', A)
    end = path.stat().st_size
    assert closed(tap) == [(len(A + B), 3), (end - len(A), 1)]
    assert tap.at == tap.end() == end
    assert tap.waiting() == 0


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([b'{"event":"dropped","mono_ms":1,"wall_ms":2,"events":17}\n'], "the broker left 17 events out"),
        ([A, b"nonsense\n"], r"a line of it is no event \(.*malformed.*\): nonsense"),
        ([b'{"event":"connection_opened","connection":1,"peer":"\xc3"}\n'], "a line of it is no event .*(?i:utf-8)"),
        ([b"[]\n"], "a line of it is no event"),
        ([b'{"mono_ms":1}\n'], "missing required field `event`"),
        ([b'{"event":"connection_closed"}\n'], "missing required field `connection`"),
    ],
)
def test_a_file_with_a_gap(tmp_path: Path, lines: list[bytes], why: str) -> None:
    path = tmp_path / "journal"
    path.touch()
    tap = FileTap(path)
    add(path, *lines)
    with pytest.raises(JournalGap, match=why):
        kinds(tap)


def test_a_file_that_is_another_one_by_now(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    add(path, A, B)
    tap = FileTap(path)
    path.write_bytes(A)
    with pytest.raises(JournalGap, match="shorter"):
        kinds(tap)
    path.unlink()
    with pytest.raises(JournalGap, match="cannot be read any more"):
        kinds(tap)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"--journal .*: No such file"):
        FileTap(tmp_path / "nothing")


class Ring:
    """The control's pages of a journal that keeps `kept` events."""

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.total = 0
        self.after: list[str] = []

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> dict[str, Any]:
        query = dict(part.split("=") for part in path.partition("?")[2].split("&"))
        first = max(int(query.get("after", 0)), self.total - self.kept)
        numbers = list(range(first, self.total))[: int(query["limit"])]
        closed = {"event": "connection_closed", "connection": 1}
        return {"events": [{"seq": number, **closed} for number in numbers], "total": self.total}


def test_the_control_gives_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taps, "PAGE", 3)
    ring = Ring(10)
    ring.total = 5
    tap = ControlTap(ring.ask, "u")
    for more in (0, 2, 3, 7):
        ring.total += more
        assert tap.waiting() == more
        assert [number for number, _ in tap.take()] == list(range(ring.total - more, ring.total))


def test_a_page_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taps, "PAGE", 3)
    ring = Ring(10)
    tap = ControlTap(ring.ask, "u")
    ring.total = 7
    assert [[number for number, _ in tap.take(1)] for _ in range(4)] == [[0, 1, 2], [3, 4, 5], [6], []]


def test_the_control_has_dropped_some(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Ring(10)
    tap = ControlTap(ring.ask, "u")
    ring.total = 12
    with pytest.raises(JournalGap, match="2 events were gone"):
        kinds(tap)


def test_a_cluster_that_was_reset() -> None:
    ring = Ring(10)
    ring.total = 5
    tap = ControlTap(ring.ask, "u")
    ring.total = 3
    with pytest.raises(JournalGap, match="reset"):
        kinds(tap)


def test_an_event_of_the_control_that_lacks_a_field() -> None:
    ring = Ring(10)
    tap = ControlTap(lambda *arguments: ring.ask(*arguments) | {"events": [{"seq": 0, "event": "request"}]}, "u")
    ring.total = 1
    with pytest.raises(JournalGap, match="missing required field `mono_ms`"):
        kinds(tap)


def test_a_control_that_is_there() -> None:
    with Controlled() as controlled:
        controlled.kafka.create_topic("before")
        tap = ControlTap(partial(ask_control, controlled.control.url, None), controlled.control.url)
        controlled.kafka.create_topic("t")
        led = [event for _, event in tap.take() if isinstance(event, LeaderChanged)]
        assert [event.topic for event in led] == ["t"]
        assert kinds(tap) == []
