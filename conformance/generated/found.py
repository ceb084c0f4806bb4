"""Streams in which generated traffic once found a difference, kept as cases in `conformance/generated/found/*.txt`.

    differed [].end: open / closed      in what both sides differed then
    a0 0000001f... 0000002a...          what went out in one write on connection a0, as `packed` bytes

`python -m conformance generated --keep` writes them. The name of a file is that of its case: the kind of its topic, and
a digest of its bytes. `python -m conformance show found/*` tells what they say.
"""

from __future__ import annotations

from pathlib import Path

from conformance.generated.streams import Group, Stream, kept_case
from conformance.scenario import Case
from conformance.transcripts.packed import packed, unpacked

FOLDER = Path(__file__).parent / "found"


def keep(stream: Stream, differed_in: str, folder: Path = FOLDER) -> Path:
    """Write a stream, and in what it differed; the file."""
    folder.mkdir(exist_ok=True)
    path = folder / (kept_case(stream, "").name.removeprefix("found/") + ".txt")
    lines = [f"differed {differed_in}"]
    lines += (" ".join([group.conn, *map(packed, group.frames)]) for group in stream.groups)
    path.write_text("\n".join(lines) + "\n")
    return path


def load(path: Path) -> Case:
    """The case of a file. Raises ValueError for a file that is none, or does not have the bytes that its name tells."""
    differed, *lines = path.read_text().splitlines()
    word, _, differed_in = differed.partition(" ")
    if word != "differed":
        raise ValueError(f"{path.name} does not begin with what differed")
    writes = (line.split() for line in lines)
    groups = tuple(Group(conn, tuple(map(unpacked, frames))) for conn, *frames in writes)
    kind = path.stem.rpartition("-")[0]
    case = kept_case(Stream(kind, groups), f"generated traffic once differed in {differed_in}")
    if case.name != f"found/{path.stem}":
        raise ValueError(f"{path.name} has the bytes of {case.name}")
    return case


def load_all() -> list[Case]:
    return [load(path) for path in sorted(FOLDER.glob("*.txt"))]
