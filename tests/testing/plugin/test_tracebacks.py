"""A failure that we tell ends at the user's line; a bug of ours keeps its frames."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

TOLD = """
    import pytest
    from fakebroker import FakeCluster

    def test_expects(kafka_broker):
        kafka_broker.journal.produce(topic="odrers").expect("NONE")  # the user's

    def test_refused(kafka_broker):
        kafka_broker.create_topic("t", partitions="many")  # the user's

    def test_refused_by_the_broker(kafka_broker):
        kafka_broker.create_topic("t")
        kafka_broker.create_topic("t")  # the user's

    def test_waits(kafka_broker):
        with kafka_broker.hold(api="Produce") as held:
            held.wait(timeout=0)  # the user's

    def test_freezes(kafka_broker):
        kafka_broker.followers.freeze("nothing")  # the user's

    def test_has_no_such_option():
        FakeCluster(brokers=0)  # the user's

    def test_breaks_a_fault(kafka_broker):
        kafka_broker.faults.add(when={"api": "Prodcue"}, do="disconnect")  # the user's
"""

BUG = """
    def test_it(kafka_broker, monkeypatch):
        def broken(*arguments, **named):
            return {}["a bug"]

        from fakebroker.server import journal_in_hand

        broken.__globals__["__name__"] = "fakebroker.made_up"
        monkeypatch.setattr(journal_in_hand, "view_produce", broken)
        kafka_broker.journal.produce()
"""


def test_what_is_told_ends_at_the_users_line(run: Run) -> None:
    result = run(TOLD)

    result.assert_outcomes(failed=7)
    failures = "\n".join(result.outlines).split("short test summary")[0]
    assert failures.count("# the user's") == 7
    assert "fakebroker/" not in failures
    result.stdout.fnmatch_lines(["E  *the journal has no Produce request"])


def test_full_trace_shows_all_frames(run: Run) -> None:
    result = run(TOLD, "--full-trace", "-k", "test_expects")

    result.stdout.fnmatch_lines(["*fakebroker/core/journal/view.py*AssertionError"])


def test_a_bug_keeps_its_frames(run: Run) -> None:
    result = run(BUG)

    result.stdout.fnmatch_lines(["*fakebroker/server/journal_in_hand.py:*", "E  *KeyError: 'a bug'"])
