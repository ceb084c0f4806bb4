"""What is kept of both sides, where they differ, and the page that is made of it."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.clients.exactly_once import page
from conformance.clients.exactly_once.chain import Outcome
from conformance.clients.exactly_once.kept import KAFKA, OURS, Kept, differences
from conformance.clients.exactly_once.kinds import Result
from conformance.clients.exactly_once.proxy import Proxy

RIGHT = Outcome("0 before EndTxn: it is killed", seen=[1, 1], written=[2, 2], consumed=2, errors=["silence"])


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept.json")
    kept.put(OURS, "librdkafka", 2, "marks wait", Result([RIGHT, Outcome("torn", seen=[1, 0])], {"when": "then"}))
    kept.put(KAFKA, "librdkafka", 2, "marks wait", Result(broken="how"))
    found = Kept(tmp_path / "kept.json").get(OURS, "librdkafka", 2, "marks wait")
    assert found is not None
    assert [each.name for each in found.wrong] == ["torn"]
    assert (found.outcomes[0].written, found.notes) == ([2, 2], {"when": "then"})
    assert kept.get(OURS, "librdkafka", 1, "marks wait") is None


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (replace(RIGHT, met=False), "met"),
        (replace(RIGHT, seen=[1, 2]), "read_committed"),
        (replace(RIGHT, written=[2, 1]), "read_uncommitted"),
        (replace(RIGHT, consumed=1), "consumed"),
        (replace(RIGHT, errors=[]), "told"),
    ],
)
def test_each_difference_is_told_with_its_point(other: Outcome, what: str) -> None:
    assert list(differences("aiokafka", "k", Result([RIGHT]), Result([RIGHT]))) == []
    [found] = differences("aiokafka", "k", Result([RIGHT]), Result([other]))
    assert (found.where, found.what, found.reason) == (RIGHT.name, what, None)


def test_what_was_seen_on_the_way_and_what_broke_is_compared_as_well() -> None:
    [note] = differences("aiokafka", "k", Result(notes={"w": "a"}), Result(notes={"w": "b"}))
    assert str(note) == "k: w: a on fakebroker, b on Apache Kafka"
    [broken] = differences("aiokafka", "k", Result(broken="how"), Result([RIGHT]))
    assert (broken.what, broken.ours, broken.kafka) == ("broken", "how", "no")


def test_the_page_has_a_line_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    kept = Kept(tmp_path / "kept.json")
    for side in (OURS, KAFKA):
        kept.put(side, "aiokafka", 2, "marks wait", Result([RIGHT], {"w": side}))
    kept.put(OURS, "aiokafka", 1, "programs die", Result([RIGHT]))
    page.write_page(kept, ["aiokafka"])
    written = (tmp_path / "page.md").read_text()
    assert "- aiokafka, version 1: workers come and go, brokers go" in written
    assert "| aiokafka | 2 | marks wait | 1, 1 | 1, 1 | 1, 1 | 0, 0 | 1 | 1 |" in written
    assert "| aiokafka | 1 | programs die | 1, – | 1, – | 1, – | 0, – | – | – |" in written
    assert "w: fakebroker here, Apache Kafka on Kafka" in written


def test_the_proxy_resets_connections_to_a_dead_broker() -> None:
    """A connection that is closed in order some clients take for a broker that speaks another protocol."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{unused.getsockname()[1]}"
        with Proxy(dead) as proxy:
            host, _, port = proxy.bootstrap_servers.rpartition(":")
            # the reset may come before connect has returned: then it is connect that tells it
            with pytest.raises(ConnectionResetError), socket.create_connection((host, int(port)), 10) as client:
                client.recv(1)
