"""Random mutants, drawn by seed over the rooms of the project."""

from __future__ import annotations

import ast
import math
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mutants.operators import KINDS, Edit, Source, edits
from mutants.places import Scope, places

ROOT = Path(__file__).resolve().parent.parent.parent
ROOMS = {
    "core": "fakebroker/core",
    "cluster": "fakebroker/cluster",
    "network": "fakebroker/network",
    "apis": "fakebroker/apis",
    "producer": "fakebroker/producer",
    "timingwheel": "timingwheel",
}


class Identity(NamedTuple):
    """Names a mutant across changes of the rest of its file: the path, the function or class that it stands in, and the
    lines that it changes, before and after, without their indent."""

    path: str
    within: str
    old: str
    new: str


class RandomMutant(NamedTuple):
    """One slip in one file. `edit` has byte offsets of the text from which it was drawn."""

    room: str
    path: str
    line: int
    edit: Edit
    scope: Scope
    identity: Identity
    told: str

    def applied(self, data: bytes) -> bytes:
        return data[: self.edit.start] + self.edit.new + data[self.edit.end :]


def mutants_of(data: bytes, path: str, room: str = "") -> Iterator[RandomMutant]:
    """Yield every mutant that the operators can make of one file."""
    source = Source(data)
    seen: set[Edit] = set()
    for node, scope in places(ast.parse(data)):
        for edit in edits(node, source):
            if edit not in seen:
                seen.add(edit)
                yield _mutant(source, path, room, edit, scope)


def _mutant(source: Source, path: str, room: str, edit: Edit, scope: Scope) -> RandomMutant:
    data = source.data
    first = data.rfind(b"\n", 0, edit.start) + 1
    last = data.find(b"\n", edit.end)
    last = len(data) if last < 0 else last
    before, after = data[first : edit.start].decode(), data[edit.end : last].decode()
    old, new = data[edit.start : edit.end].decode(), edit.new.decode()
    identity = Identity(path, scope.within, *(_stripped(before + middle + after) for middle in (old, new)))
    description = _one_line(f"{before}[{old} -> {new}]{after}")
    return RandomMutant(room, path, source.line(edit.start), edit, scope, identity, description)


def _stripped(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def draw(count: int, seed: int, rooms: Sequence[str] = tuple(ROOMS), root: Path = ROOT) -> list[RandomMutant]:
    """Draw `count` mutants. A room gets a share by the square root of its size, so that a small one is judged too;
    within a room each kind of slip is as likely as another. The same seed draws the same from the same code."""
    candidates_ = {room: candidates(room, root) for room in rooms}
    drawn = []
    for room, share in shares(count, {room: len(mutants) for room, mutants in candidates_.items()}).items():
        drawn += _drawn(candidates_[room], share, random.Random(f"{seed} {room}"))
    return drawn


def candidates(room: str, root: Path = ROOT) -> list[RandomMutant]:
    """Return all mutants of a room."""
    files = sorted((root / ROOMS[room]).rglob("*.py"))
    return [m for file in files for m in mutants_of(file.read_bytes(), file.relative_to(root).as_posix(), room)]


def shares(count: int, sizes: dict[str, int]) -> dict[str, int]:
    """Divide `count` by the square roots of the sizes; the sum is exact."""
    weights = {room: math.sqrt(size) for room, size in sizes.items()}
    total = sum(weights.values()) or 1
    exact = {room: count * weight / total for room, weight in weights.items()}
    given = {room: int(share) for room, share in exact.items()}
    by_rest = sorted(exact, key=lambda room: given[room] - exact[room])
    for room in by_rest[: count - sum(given.values())]:
        given[room] += 1
    return given


def _drawn(found: Sequence[RandomMutant], count: int, chance: random.Random) -> list[RandomMutant]:
    by_kind: dict[str, list[RandomMutant]] = {kind: [] for kind in KINDS}
    for mutant in found:
        by_kind[mutant.edit.kind].append(mutant)
    drawn: list[RandomMutant] = []
    while len(drawn) < count and (kinds := [kind for kind in KINDS if by_kind[kind]]):
        left = by_kind[chance.choice(kinds)]
        drawn.append(left.pop(chance.randrange(len(left))))
    return drawn
