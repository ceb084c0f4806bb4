"""Kafka's rate over a list of (time, value): no ring of samples, the whole list each time."""

from __future__ import annotations

from hypothesis import strategies as st

steps = st.one_of(st.integers(0, 40), st.integers(0, 1_500), st.integers(0, 14_000), st.sampled_from([999, 1000, 1001]))
event_lists = st.lists(st.tuples(steps, st.integers(0, 10**9).map(float)), min_size=1, max_size=60)


def model(events: list[tuple[int, float]], samples: int, window_ms: int) -> tuple[float, int]:
    """Return rate and window at the last event, from the whole list: the sample of each event, and the samples that
    count."""
    groups: list[list[tuple[int, float]]] = []
    for event in events:
        if not groups or event[0] - groups[-1][0][0] >= window_ms:
            groups.append([])
        groups[-1].append(event)
    now_ms = events[-1][0]
    counted = [group for group in groups[-(samples + 1) :] if now_ms - group[-1][0] < samples * window_ms]
    elapsed_ms = now_ms - counted[0][0][0]
    assumed_ms = max(samples - 1 - elapsed_ms // window_ms, 0) * window_ms
    size_ms = max(elapsed_ms + assumed_ms, 1)
    return sum(value for group in counted for _, value in group) / (size_ms / 1000), size_ms
