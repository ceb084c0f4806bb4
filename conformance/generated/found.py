"""Streams in which generated traffic once found a difference, kept as cases in `conformance/generated/found/*.json`.

`python -m conformance generated --keep` writes them. The name of a file is that of its case.
"""

from __future__ import annotations

import json
from pathlib import Path

from conformance.generated.streams import Group, Stream, kept_case
from conformance.scenario import Case
from conformance.targets.wire import requests_in
from fakebroker.protocol.messages import api_name

FOLDER = Path(__file__).parent / "found"


def keep(stream: Stream, differed_in: str, folder: Path = FOLDER) -> Path:
    """Write a stream, and in what it differed; the file."""
    folder.mkdir(exist_ok=True)
    path = folder / (kept_case(stream, "").name.removeprefix("found/") + ".json")
    groups = [
        {"conn": group.conn, "frames": [{"says": _said(frame), "hex": frame.hex()} for frame in group.frames]}
        for group in stream.groups
    ]
    row = {"differed_in": differed_in, "kind": stream.kind, "groups": groups}
    path.write_text(json.dumps(row, indent=1) + "\n")
    return path


def load(path: Path) -> Case:
    """The case of a file."""
    row = json.loads(path.read_text())
    groups = [Group(each["conn"], tuple(bytes.fromhex(f["hex"]) for f in each["frames"])) for each in row["groups"]]
    return kept_case(Stream(row["kind"], tuple(groups)), f"generated traffic once differed in {row['differed_in']}")


def load_all() -> list[Case]:
    return [load(path) for path in sorted(FOLDER.glob("*.json"))]


def _said(frame: bytes) -> str:
    found, _ = requests_in(frame)
    return ", ".join(f"{api_name(sent.api_key)} v{sent.version}" for sent in found.values()) or "no request"
