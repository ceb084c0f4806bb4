"""Choose, of many transcripts, the few that show most: each shows what none before it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def most_telling(transcripts: Sequence[Json], count: int) -> list[Json]:
    """Return at most so many transcripts, in their order."""
    seen: set[Any] = set()
    left = {at: _told(transcript) for at, transcript in enumerate(transcripts)}
    kept: list[int] = []
    while left and len(kept) < count:
        best = max(left, key=lambda at: len(left[at] - seen))
        seen |= left.pop(best)
        kept.append(best)
    return [transcripts[at] for at in sorted(kept)]


def _told(transcript: Json) -> set[Any]:
    """Return the commands of a transcript with the state before, and their results."""
    steps = set()
    state: Any = None
    for command, answer in zip(transcript["commands"], transcript["told"], strict=True):
        codes = tuple(
            command.get(name, [0])[0] if command["do"] == "respond" else 0 for name in ("errors", "txn_errors")
        )
        came = tuple(sorted({_name(event) for event in answer["events"]}))
        manager = answer.get("manager", [None] * 8)
        after = (manager[0], manager[3], manager[6])
        steps.add((command["do"], command.get("op"), codes, state, came, after))
        state = after
    return steps


def _name(event: Json) -> str:
    """Return the kind of an event and its result, without what differs by chance."""
    if "send" in event:
        return (
            str(event["asks"][0])
            if "asks" in event
            else f"produce {sorted(map(_of_batch, event.get('states', {}).values()))}"
        )
    return next(
        (f"{kind} {event[kind]}" for kind in ("failed", "refused", "threw", "uncaught", "error") if kind in event), ""
    )


def _of_batch(state: Sequence[Any]) -> tuple[bool, bool]:
    """Return whether the epoch of a batch is a later one, and whether it is the first of its sequence."""
    return state[1] > 0, state[2] == 0
