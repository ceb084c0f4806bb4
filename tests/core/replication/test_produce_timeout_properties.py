"""Any mix of connections, acks, timeouts and followers: every answer is the one that a small oracle names, and it comes
at exactly that millisecond.

The oracle knows three rules and nothing of the broker: a connection has one request at a time in hand; a record is
replicated `lag` after its append (never, if frozen); acks=all is answered when that is so, or when the timeout is over.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from support.requests import Produced, produce
from support.simulation import Simulation

NONE, TIMED_OUT = 0, 7


class Sent(NamedTuple):
    at_ms: int
    connection: int
    partition: int
    acks: int
    timeout_ms: int


BEHAVIOURS = st.one_of(
    st.just(("instant", 0)), st.just(("frozen", None)), st.integers(0, 400).map(lambda lag: (f"lagging:{lag}", lag))
)
REQUESTS = st.lists(
    st.builds(
        Sent,
        at_ms=st.integers(0, 900),
        connection=st.integers(0, 3),
        partition=st.integers(0, 2),
        acks=st.sampled_from([-1, -1, -1, 0, 1]),
        timeout_ms=st.one_of(st.integers(0, 600), st.sampled_from([-5, 0, 100, 200])),
    ),
    max_size=25,
)


def expected(requests: list[Sent], lags: list[int | None]) -> dict[int, list[tuple[int, int, int]]]:
    """Connection -> [(milliseconds, correlation id, error)] in order."""
    answers: dict[int, list[tuple[int, int, int]]] = {}
    free_at: dict[int, int] = {}
    for correlation_id, sent in enumerate(requests):
        handled = max(sent.at_ms, free_at.get(sent.connection, 0))
        error, wait = NONE, 0
        if sent.acks == -1:
            lag, timeout = lags[sent.partition], max(sent.timeout_ms, 0)
            error, wait = (NONE, lag) if lag is not None and lag <= timeout > 0 else (TIMED_OUT, timeout)
        free_at[sent.connection] = handled + wait
        if sent.acks != 0:
            answers.setdefault(sent.connection, []).append((handled + wait, correlation_id, error))
    return answers


@given(REQUESTS, st.tuples(BEHAVIOURS, BEHAVIOURS, BEHAVIOURS))
def test_every_answer_is_right_and_on_time(
    requests: list[Sent], behaviours: tuple[tuple[str, int | None], ...]
) -> None:
    requests = sorted(requests)
    simulation = Simulation()
    # All three partitions are led by broker 1.
    simulation.cluster.members.config.check()
    for index, (behaviour, _) in enumerate(behaviours):
        simulation.topic(f"t{index}")
        simulation.followers(behaviour, f"t{index}")
    clients = [simulation.connect() for _ in range(4)]
    for correlation_id, sent in enumerate(requests):
        simulation.advance(sent.at_ms - simulation.elapsed_ms)
        clients[sent.connection].send(
            produce(f"t{sent.partition}", acks=sent.acks, timeout_ms=sent.timeout_ms, correlation_id=correlation_id)
        )
    simulation.advance(25 * 600 + 1_000)

    got: dict[int, list[tuple[int, int, int]]] = {}
    offsets: dict[str, list[int]] = {}
    for number, client in enumerate(clients):
        for at_ms, frame in client.answers:
            answer = Produced(frame)
            ((error, base_offset),) = answer.partitions.values()
            got.setdefault(number, []).append((at_ms, answer.correlation_id, error))
            offsets.setdefault(f"t{requests[answer.correlation_id].partition}", []).append(base_offset)
    assert got == expected(requests, [lag for _, lag in behaviours])
    for taken in offsets.values():
        assert len(set(taken)) == len(taken)
        assert min(taken) >= 0
    for broker in simulation.cluster.brokers.values():
        assert broker.replicas.produce_purgatory.num_delayed() == 0
