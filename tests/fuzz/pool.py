"""The initial frames of mutations: good frames of every API and version, and batches good and odd, drawn once by
Hypothesis.

Hypothesis draws some five hundred messages a second, so a run draws a pool and mutates that, fifty times as fast.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from support.any_request import FIRST_TOPIC_ID, requests, served
from support.requests import produce

from conformance.generated.strategies import batches
from fakebroker.protocol.messages import encode_request

EACH, BATCHES = 24, 400  # of an API and version; of all
_SENTINEL = b"\xa5records here\xa5"


@dataclass(frozen=True)
class Pool:
    frames: list[bytes]
    batches: list[bytes]
    produces: list[tuple[bytes, bytes, bool]]  # what stands before a batch's length and behind it; is it a varint

    def save(self, path: Path) -> None:
        produces = [(head.hex(), tail.hex(), flexible) for head, tail, flexible in self.produces]
        parts = [[frame.hex() for frame in self.frames], [batch.hex() for batch in self.batches], produces]
        path.write_text(json.dumps(parts))


def load(path: Path) -> Pool:
    frames, batches_hex, produces = json.loads(path.read_text())
    return Pool(
        [bytes.fromhex(frame) for frame in frames],
        [bytes.fromhex(batch) for batch in batches_hex],
        [(bytes.fromhex(head), bytes.fromhex(tail), flexible) for head, tail, flexible in produces],
    )


def draw(number: int, each: int = EACH, batch_count: int = BATCHES) -> Pool:
    """The pool of that number: the same every time."""
    frames = []
    for api, version in served():
        frames += [encode_request(made, 1, "fuzz") for made in _drawn(requests(api.key, version), number, each)]
    return Pool(frames, _drawn(batches(), number, batch_count), _produces())


def _drawn(strategy: st.SearchStrategy[Any], number: int, count: int) -> list[Any]:
    values: list[Any] = []

    @seed(number)
    @settings(
        max_examples=count,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(made: Any) -> None:
        values.append(made)

    collect()
    return values


def _produces() -> list[tuple[bytes, bytes, bool]]:
    """Produce requests of every version, to be filled with a batch."""
    parts = []
    for api, version in served():
        if api.key != 0:
            continue
        for acks in (-1, 1, 0):
            for partition in (0, 1):
                topic = FIRST_TOPIC_ID if version >= 13 else "t"
                frame = produce(topic, partition, acks=acks, timeout_ms=50, records=_SENTINEL, version=version)
                head, _, tail = frame[4:].partition(_SENTINEL)
                flexible = version >= 9
                parts.append((head[:-1] if flexible else head[:-4], tail, flexible))
    return parts
