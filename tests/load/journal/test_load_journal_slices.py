"""A journal in a file, read in pieces of any size: the result is that of reading it whole."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.journal import events
from fakebroker.core.journal.json_lines import to_json
from fakebroker_load.journal.following import Peers, RequestOrder
from fakebroker_load.journal.lines import Rows
from fakebroker_load.journal.slices import connections, cut, first_gap, read_slice
from fakebroker_load.journal.taps import JournalGap, known_event

AT = (5, 6)
FIRST = events.Request(5, 6, 1, 1, 1, "Produce", 9, 77, "me", 5, 100)

connection = st.integers(1, 3)
event = st.one_of(
    st.builds(lambda number, peer: events.ConnectionOpened(*AT, 1, number, f"h:{peer}"), connection, connection),
    st.builds(lambda number: events.ConnectionClosed(*AT, number, 1, ""), connection),
    st.builds(lambda number, text: FIRST._replace(connection=number, client_id=text), connection, st.text(max_size=9)),
    st.just(events.Produce(*AT, 3, -1, 500, None, (("t", 0), ("connection_", 1)))),
    st.just(events.Expired(*AT, 3)),
    st.just(events.TopicCreated(*AT, "connection_opened", "id", ((1,),))),
    st.just(events.Parked(1, 6, 3, "Produce", 50, 51)),
    st.builds(lambda ms: FIRST._replace(mono_ms=ms), st.sampled_from((4, 5, 6, 60, 3))),
).map(lambda event: to_json(event).encode())
damaged = st.one_of(
    st.sampled_from((b"", b"{", b"nonsense", b"\xff\xfe", b'{"event":"connection_closed"}', b'{"event":"request"')),
    st.just(to_json(events.Dropped(*AT, 17)).encode()),
    st.just(to_json(FIRST).encode().replace(b"me", b"\xc3")),  # cut within a letter
    st.just(to_json(events.ConnectionOpened(*AT, 1, 1, "h:1")).encode()[:-9]),
)
lines = st.lists(st.one_of(event, event, event, event, damaged), max_size=12)


def whole(data: bytes, begin: int) -> tuple[list[dict[str, Any]], str | None]:
    """Read line by line until a damaged one: the definition of the result."""
    rows, peers, order, at = Rows("r"), Peers(), RequestOrder(), 0
    gap = None
    try:
        for line in data.split(b"\n")[:-1]:
            event = known_event(line + b"\n")
            if event is not None:
                peer = peers.see(event)
                order.see(at, event)
                if at >= begin:
                    rows.add(at, event, peer)
            at += len(line) + 1
    except JournalGap as error:
        gap = str(error)
    return [row for table in rows.tables() for row in table.to_pylist()], gap


def in_pieces(path: Path, begin: int, size: int, out: Path) -> tuple[list[dict[str, Any]], str | None]:
    pieces = cut(path, 0, path.stat().st_size, size)
    before = [connections(piece) for piece in pieces]
    read = [read_slice(piece, before, "r", begin, out / f"of-{size}" / "x.parquet") for piece in pieces]
    tables = [pq.read_table(file) for file in sorted((out / f"of-{size}").iterdir())]
    assert sum(len(table) for table in tables) == sum(slice_.rows for slice_ in read)
    return (pa.concat_tables(tables).to_pylist() if tables else []), first_gap(read)


@given(lines, st.integers(0, 4))
def test_pieces_of_any_size_come_to_the_same(told: list[bytes], before: int) -> None:
    begin = sum(len(line) + 1 for line in told[:before])
    data = b"".join(line + b"\n" for line in told)
    with TemporaryDirectory() as name:
        path = Path(name) / "journal"
        path.write_bytes(data)
        rows, gap = whole(data, begin)
        sizes = {1, 2, 3, *range(5, len(data) + 2, max(1, len(data) // 9)), len(data) + 9}
        for size in sizes if len(data) < 400 else sizes - {1, 2, 3}:
            rows_found, found_gap = in_pieces(path, begin, size, Path(name))
            assert found_gap == gap
            if gap is None:
                assert sorted(rows_found, key=str) == sorted(rows, key=str)
