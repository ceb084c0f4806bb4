"""Runs sessions for `tests.fuzz`, one process of the source or of the compiled copy: a line of JSON in, one out.

{"sessions": [first, last + 1]}    {"sockets": [first, last + 1]}    {"plan": "..."}
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

import fakebroker

from . import over_sockets
from .pool import Pool, load
from .session import Outcome, Plan, plan, run


def told(outcome: Outcome, number: int = -1) -> dict[str, Any]:
    return {
        "number": number,
        "digest": outcome.digest,
        "frames": outcome.frames,
        "answers": outcome.answers,
        "closed": outcome.closed,
        "problem": outcome.problem,
        "text": outcome.text,
        "covered": [[key, version, count] for (key, version), count in outcome.covered.items()],
    }


def answer(asked: dict[str, Any], pool: Pool, seed: int) -> list[dict[str, Any]]:
    if "plan" in asked:
        return [told(run(Plan.of_text(asked["plan"])))]
    numbers = range(*(asked.get("sessions") or asked["sockets"]))
    if "sockets" in asked:
        outcomes = over_sockets.run([plan(pool, seed, number) for number in numbers])
        return [told(outcome, number) for number, outcome in zip(numbers, outcomes, strict=True)]
    return [told(run(plan(pool, seed, number)), number) for number in numbers]


def main(path: str, seed: str) -> None:
    pool = load(Path(path))
    gc.freeze()
    print(json.dumps({"compiled": fakebroker.COMPILED}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), pool, int(seed))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
