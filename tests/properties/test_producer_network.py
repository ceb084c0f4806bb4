"""Arbitrary events of the network: each request ends at most once, and no connection ends before a timeout."""

from __future__ import annotations

from collections import Counter, defaultdict

from hypothesis import given
from hypothesis import strategies as st

from conformance.producer.network_sequences import network_sequence
from conformance.producer.ours import play

_PRODUCE = 0


@given(st.sampled_from(["2.0", "4.3"]), st.integers(0, 2**32))
def test_every_request_ends_once_and_none_before_its_time(generation: str, seed: int) -> None:
    sequence = network_sequence(generation, seed)
    limit_ms = sequence["config"]["request_timeout_ms"]
    now_ms = 0
    sent: set[int] = set()
    sent_ms: dict[str, list[int]] = defaultdict(list)  # of each connection
    ended: Counter[int] = Counter()
    for command, answer in zip(sequence["commands"], play(sequence), strict=True):
        for event in answer["events"]:
            if "send" in event:
                sent_ms[event["send"]].append(now_ms)
            if event.get("api") == _PRODUCE:
                assert event["correlation"] not in sent
                sent.add(event["correlation"])
        if command["do"] == "tick" or (command["do"] == "poll" and answer["told"][-1] >= 0):
            now_ms += command["ms"]
        for outcome in answer["told"]:
            if isinstance(outcome, dict) and outcome["api"] == _PRODUCE:
                ended[outcome["correlation"]] += 1
                assert outcome["mismatch"] != (outcome["correlation"] in sent)
                if outcome["timed_out"]:
                    assert now_ms - min(sent_ms[outcome["node"]]) > limit_ms
        for event in answer["events"]:
            if "close" in event:
                sent_ms[event["close"]].clear()
    assert all(times == 1 for times in ended.values())
